/* SPDX-License-Identifier: Apache-2.0 */
/* Source ivpu-trace: calls of the NPU driver intel_vpu in a text trace that another tool recorded. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/plugin.h>
#include "input.h"
#include "npu/limit_options.h"

enum trace_mode { TRACE_MODE_COUNT, TRACE_MODE_EVENTS };

struct ivpu_trace {
	/* Options. */
	const char *file;
	uint64_t mode; /* enum trace_mode */
	uint64_t unit; /* 0: automatic, otherwise 1 + the argument of trace_unit_at() */
	struct ivpu_limits limits;

	struct trace_input input;
};

static const char *const modes[] = { "count", "events", NULL };
static const char *const units[] = { "auto", "ns", "us", "ms", "s", NULL };

#define OPTION(...) IAPROF_OPTION(struct ivpu_trace, __VA_ARGS__)

static const struct iaprof_option options[] = {
	OPTION(file, STRING, "input", NULL,
	       "Text trace of the driver: output of bpftrace, ftrace, trace-cmd or perf, in a file or a pipe; - is "
	       "standard input; mandatory"),
	OPTION(unit, CHOICE, "time-unit", "auto", "Unit of the times, if the text does not state it", .choices = units),
	OPTION(mode, CHOICE, "mode", "count",
	       "count aggregates calls; events emits each call with its time and thread, for -k csv:rows=events",
	       .choices = modes),
	IVPU_LIMIT_OPTIONS(struct ivpu_trace, limits),
	IVPU_LIMIT(struct ivpu_trace, limits.boot_polls, "boot-polls", "20000",
		   "Polls per firmware boot above which a finding is reported if the trace has no times; 0: never",
		   .unit = "polls"),
};

static int ivpu_trace_configure(const struct iaprof_host *host, void *instance)
{
	const struct ivpu_trace *trace = instance;
	if (!trace->file || !trace->file[0])
		return host->fail(host, EINVAL, "input= is missing: set it to the text trace to read");
	host->offline(host);
	return 0;
}

static int ivpu_trace_prepare(const struct iaprof_host *host, void *instance)
{
	struct ivpu_trace *trace = instance;
	return trace_input_open(&trace->input, host, trace->file, &trace->limits,
				trace->unit ? trace_unit_at((uint32_t)trace->unit - 1) : 0,
				trace->mode == TRACE_MODE_EVENTS);
}

static int ivpu_trace_start(const struct iaprof_host *host, void *instance)
{
	host->metadata(host, "mode", "%s", modes[((const struct ivpu_trace *)instance)->mode]);
	return 0;
}

static int ivpu_trace_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	return trace_input_run(&((struct ivpu_trace *)instance)->input, stopping);
}

/* The thread has sent everything. */
static int ivpu_trace_stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static void ivpu_trace_destroy(const struct iaprof_host *host, void *instance)
{
	trace_input_close(&((struct ivpu_trace *)instance)->input);
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.prepare = ivpu_trace_prepare,
	.start = ivpu_trace_start,
	.stop = ivpu_trace_stop,
	.thread = ivpu_trace_thread,
};

static const struct iaprof_plugin ivpu_trace_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_JOBS,
	.name = "ivpu-trace",
	.version = PLUGIN_VERSION,
	.description = "Intel NPU driver traces of bpftrace, ftrace, trace-cmd and perf",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct ivpu_trace),
	.source = &operations,
	.configure = ivpu_trace_configure,
	.destroy = ivpu_trace_destroy,
};

IAPROF_REGISTER_PLUGIN(ivpu_trace_plugin)
