/* SPDX-License-Identifier: Apache-2.0 */
/* Source ivpu: calls of the NPU driver intel_vpu, traced live or read from bpftrace output (input=). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/plugin.h>
#include "bpf/support.h"
#include "findings.h"
#include "live.h"
#include "trace_input.h"

#define SECOND 1000000000u
#define MILLISECOND 1000000u

/* Limit on option values, so that products of two fit into 64 bits. */
#define COUNT_MAX 1000000000u

/* Range of the size of the ring buffer, in bytes. */
#define RING_SIZE_MIN (64u << 10)
#define RING_SIZE_MAX (1u << 30)

enum ivpu_mode { IVPU_MODE_COUNT, IVPU_MODE_EVENTS, IVPU_MODE_ENTRIES };

struct ivpu {
	/* Options. */
	const char *input; /* NULL if none */
	const char *functions;
	bool hot, api, stacks;
	uint64_t python;    /* enum python_choice */
	uint64_t time_unit; /* enum trace_unit */
	uint64_t mode;      /* enum ivpu_mode */
	uint64_t attach;    /* enum attach_method */
	uint64_t buffer;
	uint64_t drain_period;
	struct ivpu_limits limits;

	struct trace_input trace;
	struct live *live; /* NULL: a text trace is read instead */
};

/* In the order of enum ivpu_mode. */
static const char *const modes[] = { "count", "events", "entries", NULL };

/* In the order of enum trace_unit. */
static const char *const units[] = { "auto", "ns", "us", "ms", "s", NULL };

/* In the order of enum attach_method. */
static const char *const ways[] = { "auto", "fsession", "session", "multi", "single", NULL };

/* The defaults are those of IVPU_LIMITS_DEFAULT. */
#define OPTION(...) IAPROF_OPTION(struct ivpu, __VA_ARGS__)
#define LIMIT(MEMBER, ...) OPTION(limits.MEMBER, __VA_ARGS__, .maximum = COUNT_MAX)

static const struct iaprof_option options[] = {
	OPTION(input, STRING, "input", NULL,
	       "Read a text trace of the driver instead of tracing this machine: output of bpftrace, ftrace, trace-cmd "
	       "or perf, in a file or a pipe; - is standard input"),
	OPTION(time_unit, CHOICE, "time-unit", "auto", "Unit of the times in input=, if the text does not state it",
	       .choices = units),
	OPTION(functions, STRING, "functions", "ivpu_*",
	       "Driver functions to trace: patterns with *, ? and [], separated by commas"),
	OPTION(hot, BOOL, "hot", "no", "Also trace functions that are called for each page, with high overhead"),
	OPTION(mode, CHOICE, "mode", "count",
	       "count aggregates calls; events records each call with its time and thread, with higher overhead, for "
	       "-k csv:rows=events; entries counts calls without times and nesting, with the lowest overhead",
	       .choices = modes),
	OPTION(buffer, SIZE, "buffer", "8MiB",
	       "Ring buffer size for mode=events (72 bytes per call), rounded up to a power of 2",
	       .minimum = RING_SIZE_MIN, .maximum = RING_SIZE_MAX),
	OPTION(attach, CHOICE, "attach", "auto",
	       "Attach method: fsession uses trampolines (fsession.multi), session a kprobe session, multi two "
	       "kprobe.multi "
	       "links, single a kprobe per function; auto uses the first that the Linux kernel supports",
	       .choices = ways),
	OPTION(api, BOOL, "api", "yes", "Also trace Level Zero calls, as callers of the driver's functions"),
	OPTION(stacks, BOOL, "stacks", "yes", "Record the user stacks of Level Zero calls"),
	OPTION(python, CHOICE, "python", "mixed",
	       "Python frames in these stacks: mixed shows them in place of the interpreter's frames; python omits "
	       "native frames; native omits Python frames",
	       .choices = python_choices),
	OPTION(drain_period, DURATION, "drain", "1s", "Longest interval between reads of the BPF maps",
	       .minimum = 10 * MILLISECOND, .maximum = SECOND),
	LIMIT(ipc_rate, UINT, "ipc-rate", "200",
	      "Firmware messages per second above which a finding is reported; 0: never", .unit = "messages"),
	LIMIT(ipc_growth, UINT, "ipc-growth", "10",
	      "Increase in firmware messages per second, as a multiple of the usual rate, above which a finding is "
	      "reported; 0: never"),
	LIMIT(ipc_per_job, UINT, "ipc-per-job", "10000",
	      "IPC calls per job above which a finding is reported; 0: never", .unit = "calls"),
	LIMIT(map_ratio, UINT, "map-ratio", "4",
	      "Mappings per buffer and open file above which a finding is reported; 0: never"),
	LIMIT(buffer_growth, UINT, "buffer-growth", "32",
	      "Increase in the number of buffers, in each half of the jobs, above which a finding is reported; 0: "
	      "never",
	      .unit = "buffers"),
	OPTION(limits.hang, DURATION, "hang", "5s", "Job latency above which a finding is reported; 0: never",
	       .maximum = 3600ull * SECOND),
	LIMIT(boots, UINT, "boots", "5", "Minimum number of firmware boots for boot-jobs; 0: never check it",
	      .unit = "boots"),
	LIMIT(boot_jobs, UINT, "boot-jobs", "2", "Jobs per firmware boot below which a finding is reported",
	      .unit = "jobs"),
	OPTION(limits.boot_wait, DURATION, "boot-wait", "500ms",
	       "Firmware boot time above which a finding is reported; 0: never", .maximum = 3600ull * SECOND),
	LIMIT(boot_polls, UINT, "boot-polls", "20000",
	      "Polls per firmware boot above which a finding is reported if the input has no times; 0: never",
	      .unit = "polls"),
	LIMIT(submit_pages, UINT, "submit-pages", "256",
	      "Median number of pages mapped per job submission above which a finding is reported; 0: never",
	      .unit = "pages"),
	OPTION(limits.turns, UINT, "turns", "50",
	       "Percentage of jobs that waited for a job of another program or model, above which a finding is "
	       "reported; 0: never",
	       .maximum = 100),
	OPTION(limits.cold_start, UINT, "cold-start", "10",
	       "In runs of fewer than 8 jobs, percentage of the time spent on the firmware boot and the first mapping "
	       "of buffers, from which a note is reported; 0: never",
	       .maximum = 100),
};

static bool has_input(const struct ivpu *ivpu)
{
	return ivpu->input && ivpu->input[0];
}

static uint32_t ring_size(const struct ivpu *ivpu)
{
	return ivpu->mode == IVPU_MODE_EVENTS ? bpf_ring_size(ivpu->buffer, RING_SIZE_MIN, RING_SIZE_MAX) : 0;
}

static struct live_options live_options_of(const struct ivpu *ivpu)
{
	return (struct live_options){ .functions = ivpu->functions,
				      .attach = (enum attach_method)ivpu->attach,
				      .hot = ivpu->hot,
				      .api = ivpu->api && ivpu->mode != IVPU_MODE_ENTRIES,
				      .stacks = ivpu->stacks,
				      .only_entries = ivpu->mode == IVPU_MODE_ENTRIES,
				      .python = (enum python_choice)ivpu->python,
				      .ring_size = ring_size(ivpu),
				      .limits = &ivpu->limits };
}

static int ivpu_configure(const struct iaprof_host *host, void *instance)
{
	struct ivpu *ivpu = instance;
	if (has_input(ivpu) && IAPROF_HOST_HAS(host, offline))
		host->offline(host);
	return 0;
}

static int ivpu_probe(const struct iaprof_host *host, void *instance)
{
	const struct ivpu *ivpu = instance;
	const struct live_options live_options = live_options_of(ivpu);
	return has_input(ivpu) ? 0 : live_probe(host, &live_options);
}

static void ivpu_check(const struct iaprof_host *host, void *instance)
{
	const struct ivpu *ivpu = instance;
	if (!has_input(ivpu) && IAPROF_HOST_HAS(host, check_item))
		live_check(host, ivpu->functions);
}

static int file_mapped(void *instance, const struct iaprof_mapped_file *file)
{
	live_file_mapped(((struct ivpu *)instance)->live, file);
	return 0;
}

static int requests_ready(void *instance, int fd, uint32_t ready)
{
	live_ask_unwinding(((struct ivpu *)instance)->live);
	return 0;
}

static int tables_received(void *instance, const struct iaprof_unwind_table *table,
			   const struct iaprof_unwind_process *process)
{
	return live_take_unwinding(((struct ivpu *)instance)->live, table, process);
}

static int live_begin(struct ivpu *ivpu, const struct iaprof_host *host)
{
	const struct live_options live_options = live_options_of(ivpu);
	int result = live_prepare(&ivpu->live, host, &live_options);
	if (result == 0)
		result = live_watch_unwinding(ivpu->live, requests_ready, tables_received);
	if (result == 0 && live_options.api && IAPROF_HOST_HAS(host, watch_mapped_files))
		result = host->watch_mapped_files(host, file_mapped);
	return result;
}

static int ivpu_prepare(const struct iaprof_host *host, void *instance)
{
	struct ivpu *ivpu = instance;
	return has_input(ivpu) ? trace_input_open(&ivpu->trace, host, ivpu->input, &ivpu->limits,
						  (enum trace_unit)ivpu->time_unit, ivpu->mode == IVPU_MODE_EVENTS)
			       : live_begin(ivpu, host);
}

static int ivpu_start(const struct iaprof_host *host, void *instance)
{
	struct ivpu *ivpu = instance;
	return ivpu->live ? live_start(ivpu->live) : 0;
}

static int ivpu_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct ivpu *ivpu = instance;
	if (ivpu->live)
		return live_run(ivpu->live, ivpu->drain_period, stopping);
	host->metadata(host, "mode", "%s", modes[ivpu->mode]);
	return trace_input_run(&ivpu->trace, stopping);
}

static int ivpu_stop(const struct iaprof_host *host, void *instance)
{
	return live_stop(((struct ivpu *)instance)->live);
}

static int ivpu_finish(const struct iaprof_host *host, void *instance)
{
	return live_finish(((struct ivpu *)instance)->live);
}

static void ivpu_destroy(const struct iaprof_host *host, void *instance)
{
	struct ivpu *ivpu = instance;
	live_free(ivpu->live);
	trace_input_close(&ivpu->trace);
}

static const struct iaprof_plugin ivpu_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_TARGETS | IAPROF_PLUGIN_JOBS,
	.name = "ivpu",
	.version = PLUGIN_VERSION,
	.description = "Intel NPU driver tracing: calls, nesting and latency",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct ivpu),
	.configure = ivpu_configure,
	.destroy = ivpu_destroy,
	.probe = ivpu_probe,
	.prepare = ivpu_prepare,
	.start = ivpu_start,
	.stop = ivpu_stop,
	.finish = ivpu_finish,
	.thread = ivpu_thread,
	.check = ivpu_check,
};

IAPROF_REGISTER_PLUGIN(ivpu_plugin)
