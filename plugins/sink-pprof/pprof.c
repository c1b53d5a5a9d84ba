/* SPDX-License-Identifier: Apache-2.0 */
/* Sink pprof: a compressed profile for `go tool pprof` and other programs that read its format. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <iaprof/plugin.h>

#include "base/gzip.h"
#include "pprof/pprof_message.h"
#include "stacks/missing_spans.h"
#include "stacks/missing_stacks.h"
#include "stacks/profile_samples.h"

struct pprof {
	struct stack_text_options text;
	uint64_t reasons; /* enum reasons */
	bool spans;
};

enum reasons { REASONS_LABELS, REASONS_TYPES };
static const char *const reasons_choices[] = { "labels", "types", NULL };

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct pprof, text.lines, BOOL, "lines", "yes",
		      "Source lines and inlined functions (DWARF), required by pprof -list"),
	IAPROF_OPTION(
		struct pprof, reasons, CHOICE, "reasons", "labels",
		"Stall reasons as labels (-tagfocus=reason=sbid) or as sample types (-sample_index=gpu-stalls/sbid)",
		.choices = reasons_choices),
	IAPROF_OPTION(struct pprof, spans, BOOL, "spans", "no",
		      "Labels trace_id and span_id, of the spans of traces that threads worked on "
		      "(-tagfocus=span_id=b7ad6b7169203331); each has samples of its own"),
};

static int pprof_configure(const struct iaprof_host *host, void *instance)
{
	const struct pprof *pprof = instance;
	host->request(host, IAPROF_REQUEST_THREADS | IAPROF_REQUEST_ACTIVITY |
				    (pprof->text.lines ? IAPROF_REQUEST_LINES : 0u) |
				    (pprof->spans ? IAPROF_REQUEST_SPANS : 0u));
	return 0;
}

static int pprof_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct pprof *pprof = instance;
	struct profile_samples samples;
	const struct profile_samples_options wanted = { .text = pprof->text,
							.by_reason = pprof->reasons == REASONS_TYPES,
							.spans = pprof->spans };
	struct text message = { 0 }, compressed = { 0 };
	if (pprof->spans)
		missing_spans_report(host, profile);
	missing_stacks_report(host, profile);
	bool good = profile_samples_make(&samples, profile, &wanted) && pprof_message_append(&message, &samples) &&
		    !message.failed;
	profile_samples_free(&samples);
	if (good)
		gzip_append(&compressed, message.data, message.size);
	text_free(&message);
	int result = good && !compressed.failed
			     ? 0
			     : host->fail(host, ENOMEM, "out of memory for %zu stacks", profile->value_count);
	if (result == 0)
		result = text_write_whole(&compressed, host, NULL);
	text_free(&compressed);
	return result;
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "pb.gz",
	.finish = output_is_finished,
	.profile = pprof_profile,
};

static const struct iaprof_plugin pprof_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_BINARY,
	.name = "pprof",
	.version = PLUGIN_VERSION,
	.description = "Profile for go tool pprof",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct pprof),
	.sink = &operations,
	.configure = pprof_configure,
};

IAPROF_REGISTER_PLUGIN(pprof_plugin)
