/* SPDX-License-Identifier: Apache-2.0 */
/* Sink pprof: a profile for `go tool pprof` and whatever else reads its format, compressed. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "common/gzip.h"
#include "message.h"
#include "samples.h"

struct pprof {
	bool lines;
	uint64_t reasons; /* enum reasons */
};

enum reasons { REASONS_LABELS, REASONS_TYPES };
static const char *const reasons_choices[] = { "labels", "types", NULL };

static const struct iaprof_option options[] = {
	{ .name = "lines",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct pprof, lines),
	  .default_value = "yes",
	  .help = "source lines and inlined functions, from DWARF: pprof -list needs them" },
	{ .name = "reasons",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct pprof, reasons),
	  .default_value = "labels",
	  .choices = reasons_choices,
	  .help = "labels: a device's stall reasons are labels (-tagfocus=reason=sbid); types: each is a sample type "
		  "(-sample_index=gpu-stalls/sbid)" },
};

static int pprof_configure(const struct iaprof_host *host, void *instance)
{
	const struct pprof *pprof = instance;
	host->request(host, IAPROF_REQUEST_PIDS | (pprof->lines ? IAPROF_REQUEST_LINES : 0u));
	return 0;
}

static int pprof_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct pprof *pprof = instance;
	struct samples samples;
	struct text message = { 0 }, compressed = { 0 };
	bool good = samples_make(&samples, profile, pprof->reasons == REASONS_TYPES) &&
		    message_append(&message, &samples) && !message.failed;
	samples_free(&samples);
	if (good)
		gzip_append(&compressed, message.data, message.size);
	text_free(&message);
	int result = good && !compressed.failed
			     ? 0
			     : host->fail(host, ENOMEM, "not enough memory for %zu stacks", profile->value_count);
	if (result == 0)
		result = text_write_whole(&compressed, host, NULL);
	text_free(&compressed);
	return result;
}

/* Each file is complete when profile() returns. */
static int pprof_finish(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static const struct iaprof_plugin pprof_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof pprof_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SINK,
	.option_size = sizeof(struct iaprof_option),
	.name = "pprof",
	.version = PLUGIN_VERSION,
	.description = "a profile for go tool pprof",
	.extension = "pb.gz",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct pprof),
	.configure = pprof_configure,
	.finish = pprof_finish,
	.profile = pprof_profile,
};

IAPROF_REGISTER_PLUGIN(pprof_plugin)
