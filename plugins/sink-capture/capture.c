/* SPDX-License-Identifier: Apache-2.0 */
/* Sink capture: raw capture of a run in one compressed file, read by source replay. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <iaprof/plugin.h>

#include "capture_sources.h"
#include "capture/capture_format.h"

/* SYNC records arrive at least every second, which bounds the loss of a killed run. */
#define FLUSH_INTERVAL 500000000ull

struct capture {
	uint64_t level;      /* zstd compression level */
	const char *sources; /* as in source_files_open() */
	uint64_t times;      /* ns: samples in different slots of this width stay separate; 0: not by time */

	struct iaprof_output *output;
	ZSTD_CCtx *compressor;
	char *records; /* the block that is being filled */
	size_t size;
	uint32_t count;
	void *compressed;
	size_t compressed_capacity;
	struct capture_totals totals;
	uint64_t last_flush; /* time of the SYNC, 0 if none yet */
	struct capture_sources embedded;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct capture, level, UINT, "level", "3",
		      "zstd compression level; higher levels make smaller files and use more CPU time", .minimum = 1,
		      .maximum = 19),
	IAPROF_OPTION(struct capture, times, DURATION, "times", "20ms",
		      "Time resolution of samples, for heatmaps of the replay; 0 merges all samples of a stack, which "
		      "makes smaller files",
		      .maximum = 3600000000000u),
	IAPROF_OPTION(struct capture, sources, STRING, "sources", "no",
		      "Embed source files of GPU code, for pages of the replay: yes (world-readable files at their "
		      "recorded paths), no, or folders separated by ':'"),
};

/* A replay can request producers, listings and threads, but no longer has the images and the launches. */
static int capture_configure(const struct iaprof_host *host, void *instance)
{
	const struct capture *capture = instance;
	host->request(host, IAPROF_REQUEST_PRODUCERS | IAPROF_REQUEST_LISTINGS | IAPROF_REQUEST_THREADS |
				    IAPROF_REQUEST_RECORD_SPANS);
	if (capture->times)
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
		return host->fail(host, ENOMEM, "out of memory");
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

/* Writes the buffered records. */
static int flush(const struct iaprof_host *host, struct capture *capture)
{
	if (!capture->count)
		return 0;
	size_t compressed = ZSTD_compress2(capture->compressor, capture->compressed, capture->compressed_capacity,
					   capture->records, capture->size);
	if (ZSTD_isError(compressed))
		return host->fail(host, ENOMEM, "zstd: %s", ZSTD_getErrorName(compressed));
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

/* Opens the output on the first call, because outputs belong to the sink's thread. */
static int open_output(const struct iaprof_host *host, struct capture *capture)
{
	if (capture->output)
		return 0;
	/* Stacks contain addresses of the Linux kernel. */
	capture->output = host->output_open(host, NULL, IAPROF_OUTPUT_PRIVATE | IAPROF_OUTPUT_INCREMENTAL);
	if (!capture->output)
		return -EIO;
	struct capture_file_header header;
	capture_file_header_make(&header);
	return host->output_write(host, capture->output, &header, sizeof header);
}

/* Returns whether to write buffered records, by the time of the SYNC, so that replays write the same blocks. */
static bool is_flush_due(struct capture *capture, uint64_t time)
{
	bool is_due = capture->last_flush && time > capture->last_flush && time - capture->last_flush >= FLUSH_INTERVAL;
	if (is_due || !capture->last_flush)
		capture->last_flush = time;
	return is_due;
}

/* From here on the file has its name and is readable up to this block. */
static int publish(const struct iaprof_host *host, struct capture *capture)
{
	int result = flush(host, capture);
	return result < 0 ? result : host->output_flush(host, capture->output);
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
			result = host->fail(host, ENOMEM, "out of memory for names of source files");
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
		host->fail(host, ENOMEM, "out of memory for source files");
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
	struct capture *capture = instance;
	ZSTD_freeCCtx(capture->compressor);
	free(capture->records);
	free(capture->compressed);
	capture_sources_free(&capture->embedded);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "iaprof",
	.prepare = capture_prepare,
	.finish = capture_finish,
	.records = capture_records,
};

static const struct iaprof_plugin capture_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_BINARY | IAPROF_PLUGIN_CAPTURES,
	.name = "capture",
	.version = PLUGIN_VERSION,
	.description = "Raw capture of the run, for --replay",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct capture),
	.sink = &operations,
	.configure = capture_configure,
	.destroy = capture_destroy,
};

IAPROF_REGISTER_PLUGIN(capture_plugin)
