/* SPDX-License-Identifier: Apache-2.0 */
/* Sink capture: every record of a run in one compressed file, to be replayed by source replay. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <iaprof/plugin.h>

#include "capture_sources.h"
#include "common/capture_format.h"

/* A SYNC comes each second, and with --interval more often: what is killed has lost no more than a second. */
#define FLUSH_INTERVAL 500000000ull

struct capture {
	uint64_t level;      /* of zstd */
	const char *sources; /* as in source_files_open() */
	uint64_t times;      /* ns: samples of different slots of this width are told apart; 0: not by time */

	struct iaprof_output *output;
	ZSTD_CCtx *compressor;
	char *records; /* the block that is being filled */
	size_t size;
	uint32_t count;
	void *compressed;
	size_t compressed_capacity;
	struct capture_totals totals;
	uint64_t last_flush; /* time of the SYNC, 0 none yet */
	struct capture_sources embedded;
};

static const struct iaprof_option options[] = {
	{ .name = "level",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct capture, level),
	  .default_value = "3",
	  .minimum = 1,
	  .maximum = 19,
	  .help = "how hard zstd compresses: higher levels make smaller files and need more CPU time" },
	{ .name = "times",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct capture, times),
	  .default_value = "20ms",
	  .maximum = 3600000000000u,
	  .help = "samples that are further apart than this are told apart, for heatmaps of the replay; 0: by their "
		  "stacks only, which makes smaller files" },
	{ .name = "sources",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct capture, sources),
	  .default_value = "no",
	  .help = "source files of GPU code to embed, for pages of the replay; yes: those at their recorded paths that "
		  "all users can read; folders, separated by :: those below them; no: none" },
};

/* A replay may be asked for producers and listings, and the images that tell them are gone by then. */
static int capture_configure(const struct iaprof_host *host, void *instance)
{
	const struct capture *capture = instance;
	host->request(host, IAPROF_REQUEST_PRODUCERS | IAPROF_REQUEST_LISTINGS);
	/* Stacks are addresses, those of the Linux kernel, too. */
	if (IAPROF_HOST_HAS(host, output_private))
		host->output_private(host);
	if (capture->times && IAPROF_HOST_HAS(host, request_times))
		host->request_times(host, capture->times);
	return 0;
}

static int capture_prepare(const struct iaprof_host *host, void *instance)
{
	struct capture *capture = instance;
	capture->compressor = ZSTD_createCCtx();
	capture->records = malloc(CAPTURE_BLOCK_SIZE);
	capture->compressed_capacity = ZSTD_compressBound(CAPTURE_BLOCK_SIZE);
	capture->compressed = malloc(capture->compressed_capacity);
	if (!capture->compressor || !capture->records || !capture->compressed)
		return host->fail(host, ENOMEM, "not enough memory");
	ZSTD_CCtx_setParameter(capture->compressor, ZSTD_c_compressionLevel, (int)capture->level);
	return capture_sources_open(&capture->embedded, host, capture->sources);
}

static int write_block(const struct iaprof_host *host, struct capture *capture, struct capture_block_header *header,
		       const void *payload)
{
	header->number = (uint32_t)capture->totals.blocks;
	capture_block_seal(header, payload);
	int result = host->output_write(host, capture->output, header, sizeof *header);
	return result < 0 ? result : host->output_write(host, capture->output, payload, header->compressed_size);
}

/* Writes the records that wait, if there are any. */
static int flush(const struct iaprof_host *host, struct capture *capture)
{
	if (!capture->count)
		return 0;
	size_t compressed = ZSTD_compress2(capture->compressor, capture->compressed, capture->compressed_capacity,
					   capture->records, capture->size);
	if (ZSTD_isError(compressed))
		return host->fail(host, ENOMEM, "compress: %s", ZSTD_getErrorName(compressed));
	struct capture_block_header header = {
		.kind = CAPTURE_BLOCK_RECORDS,
		.compressed_size = (uint32_t)compressed,
		.size = (uint32_t)capture->size,
		.record_count = capture->count,
	};
	int result = write_block(host, capture, &header, capture->compressed);
	capture->totals.blocks++;
	capture->totals.records += capture->count;
	capture->totals.bytes += capture->size;
	capture->size = 0;
	capture->count = 0;
	return result;
}

/* Opens the output with the first call: outputs belong to the sink's thread, which begins with it. */
static int open_output(const struct iaprof_host *host, struct capture *capture)
{
	if (capture->output)
		return 0;
	capture->output = host->output_open(host, NULL);
	if (!capture->output)
		return -EIO;
	struct capture_file_header header;
	capture_file_header_make(&header);
	return host->output_write(host, capture->output, &header, sizeof header);
}

/* Whether it is time to write what waits, by a SYNC's own time: of a replay the same blocks are written each time. */
static bool is_flush_due(struct capture *capture, uint64_t time)
{
	bool is_due = capture->last_flush && time > capture->last_flush && time - capture->last_flush >= FLUSH_INTERVAL;
	if (is_due || !capture->last_flush)
		capture->last_flush = time;
	return is_due;
}

/* From here on the file is readable under its name up to here, whatever happens. */
static int publish(const struct iaprof_host *host, struct capture *capture)
{
	int result = flush(host, capture);
	if (result < 0)
		return result;
	return IAPROF_HOST_HAS(host, output_publish) ? host->output_publish(host, capture->output)
						     : host->output_flush(host, capture->output);
}

static int append(const struct iaprof_host *host, void *context, const struct iaprof_record *record)
{
	struct capture *capture = context;
	int result = record->size > CAPTURE_BLOCK_SIZE - capture->size ? flush(host, capture) : 0;
	memcpy(capture->records + capture->size, record, record->size);
	capture->size += record->size;
	capture->count++;
	return result;
}

static int capture_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct capture *capture = instance;
	int result = open_output(host, capture);
	bool is_due = false;
	for (const struct iaprof_record *record = NULL; result == 0 && (record = iaprof_batch_next(batch, record));) {
		result = append(host, capture, record);
		if (result == 0 && capture_sources_take(&capture->embedded, record))
			result = host->fail(host, ENOMEM, "not enough memory for the names of source files");
		if (record->type == IAPROF_RECORD_SYNC)
			is_due |= is_flush_due(capture, record->time);
	}
	return result == 0 && is_due ? publish(host, capture) : result;
}

static int capture_finish(const struct iaprof_host *host, void *instance)
{
	struct capture *capture = instance;
	int result = open_output(host, capture);
	if (result == 0)
		result = capture_sources_write(&capture->embedded, host, append, capture);
	if (result == -ENOMEM)
		host->fail(host, ENOMEM, "not enough memory for source files");
	if (result == 0)
		result = flush(host, capture);
	if (result < 0)
		return result;
	struct capture_block_header header = {
		.kind = CAPTURE_BLOCK_END,
		.compressed_size = sizeof capture->totals,
		.size = sizeof capture->totals,
	};
	result = write_block(host, capture, &header, &capture->totals);
	if (result < 0)
		return result;
	return host->output_close(host, capture->output);
}

static void capture_destroy(const struct iaprof_host *host, void *instance)
{
	(void)host;
	struct capture *capture = instance;
	ZSTD_freeCCtx(capture->compressor);
	free(capture->records);
	free(capture->compressed);
	capture_sources_free(&capture->embedded);
}

static const struct iaprof_plugin capture_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof capture_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SINK,
	.option_size = sizeof(struct iaprof_option),
	.flags = IAPROF_PLUGIN_BINARY,
	.name = "capture",
	.version = PLUGIN_VERSION,
	.description = "every record of the run in one file, for source replay",
	.extension = "iaprof",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct capture),
	.configure = capture_configure,
	.destroy = capture_destroy,
	.prepare = capture_prepare,
	.finish = capture_finish,
	.records = capture_records,
};

IAPROF_REGISTER_PLUGIN(capture_plugin)
