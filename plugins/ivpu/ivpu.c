/* SPDX-License-Identifier: Apache-2.0 */
/* Source ivpu: calls of the NPU driver intel_vpu in the running Linux kernel. */
#include <stddef.h>
#include <iaprof/plugin.h>
#include "bpf/support.h"
#include "live.h"
#include "npu/limit_options.h"

/* In the order of enum live_mode. */
static const char *const modes[] = { "count", "events", "entries", NULL };

/* In the order of enum attach_method. */
static const char *const ways[] = { "auto", "fsession", "session", "multi", "single", NULL };

#define OPTION(...) IAPROF_OPTION(struct live, __VA_ARGS__)

static const struct iaprof_option options[] = {
	OPTION(options.functions, STRING, "functions", "ivpu_*",
	       "Driver functions to trace: patterns with *, ? and [], separated by commas"),
	OPTION(options.hot, BOOL, "hot", "no",
	       "Also trace functions that are called for each page, with high overhead"),
	OPTION(options.mode, CHOICE, "mode", "count",
	       "count aggregates calls; events records each call with its time and thread, with higher overhead, for "
	       "-k csv:rows=events; entries counts calls without times and nesting, with the lowest overhead",
	       .choices = modes),
	OPTION(options.buffer, SIZE, "buffer", "8MiB",
	       "Ring buffer size for mode=events (72 bytes per call), rounded up to a power of 2",
	       .minimum = LIVE_RING_SIZE_MIN, .maximum = LIVE_RING_SIZE_MAX),
	OPTION(options.attach, CHOICE, "attach", "auto",
	       "Attach method: fsession uses trampolines (fsession.multi), session a kprobe session, multi two "
	       "kprobe.multi links, single a kprobe per function; auto uses the first that the Linux kernel supports",
	       .choices = ways),
	OPTION(options.api, BOOL, "api", "yes", "Also trace Level Zero calls, as callers of the driver's functions"),
	OPTION(stacks.user, BOOL, "stacks", "yes", "Record the user stacks of Level Zero calls"),
	STACK_READER_PYTHON_OPTION(struct live, stacks, "these stacks"),
	OPTION(options.drain_period, DURATION, "drain", "1s", "Longest interval between reads of the BPF maps",
	       .minimum = 10000000, .maximum = 1000000000),
	IVPU_LIMIT_OPTIONS(struct live, options.limits),
};

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.probe = live_probe,
	.prepare = live_prepare,
	.start = live_start,
	.stop = live_stop,
	.finish = live_finish,
	.thread = live_run,
	.check = live_check,
};

static const struct iaprof_plugin ivpu_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_TARGETS | IAPROF_PLUGIN_JOBS,
	.name = "ivpu",
	.version = PLUGIN_VERSION,
	.description = "Intel NPU driver tracing: calls, nesting and latency",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct live),
	.source = &operations,
	.configure = live_configure,
	.destroy = live_destroy,
};

IAPROF_REGISTER_PLUGIN(ivpu_plugin)
