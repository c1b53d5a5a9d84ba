/* SPDX-License-Identifier: Apache-2.0 */
/* See live.h. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "api_libraries.h"
#include "call_drain.h"
#include "driver_functions.h"
#include "entry_counts.h"
#include "finding_records.h"
#include "function_list.h"
#include "function_report.h"
#include "graph_functions.h"
#include "jobs.h"
#include "latency.h"
#include "records/listening_host.h"
#include "live.h"
#include "live_statistics.h"
#include "live_use.h"
#include "npu_check.h"
#include "npu_users.h"
#include "probes.h"
#include "use_tables.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bpf/support.h"
#include "bpf/unwinder.h"
#include "ivpu.bpf.skel.h"
#include "device_counters.h"

#define MODULE "intel_vpu"
#define MILLISECOND 1e6
/* How often a thread must check whether to stop: iaprof/plugin.h. */
#define STOPPING_PERIOD UINT64_C(100000000) /* ns */
/* Counter ids of NPUs follow those of call_drain.c. */
#define FIRST_USAGE_COUNTER 16u

struct live {
	const struct iaprof_host *host;
	struct live_options options;
	struct function_list list;
	const struct ivpu_function *functions[FUNCTION_LIST_MAX]; /* their descriptions; NULL: not looked up yet */
	uint64_t calls[FUNCTION_LIST_MAX];
	struct probes probes;
	struct unwinder unwinder; /* for the stacks of Level Zero calls */
	struct api_libraries libraries;
	struct graph_functions graphs;
	struct call_drain counts;
	struct entry_counts entries; /* with only_entries */
	struct layers layers;
	struct live_statistics statistics;
	struct live_use use;
	struct device_counters usage;
	struct listening_host jobs_host; /* jobs are optional: their failures do not end the run */
	struct jobs jobs;
	bool has_jobs;
	uint64_t longest_job; /* ns from submission to completion, or to the end of the run */
	uint64_t usage_time;  /* time of the last reading */
	uint64_t begin;
	bool started;
};

static bool is_hot(const char *function)
{
	return ivpu_function_find(function)->flags & IVPU_FUNCTION_HOT;
}

/* Functions whose latency users notice: ioctls, buffers, mappings, boots. */
static bool is_measured(const char *function)
{
	const struct ivpu_function *known = ivpu_function_find(function);

	return known->flags & IVPU_FUNCTION_IOCTL || known->event == IVPU_EVENT_BOOT ||
	       known->event == IVPU_EVENT_RESUME || known->event == IVPU_EVENT_MAPPING ||
	       known->event == IVPU_EVENT_BUFFER_CREATE;
}

static int functions_read(struct function_list *list, const struct iaprof_host *host,
			  const struct live_options *options)
{
	/* The driver is always a module. */
	if (access("/sys/module/" MODULE, F_OK) != 0)
		return host->fail(host, ENODEV,
				  "no Intel NPU: module " MODULE " is not loaded (`modprobe " MODULE
				  "`, Linux 6.3 or newer, or read bpftrace output with input=FILE)");
	int result = bpf_support_check(host);
	if (result)
		return result;
	const struct function_list_wanted wanted = {
		.module = MODULE,
		.patterns = options->functions,
		.is_left_out = options->hot ? NULL : is_hot,
		.is_measured = is_measured,
	};
	return function_list_read(list, host, &wanted);
}

int live_probe(const struct iaprof_host *host, const struct live_options *options)
{
	struct function_list list = { 0 };
	int result = functions_read(&list, host, options);

	function_list_free(&list);
	return result;
}

static void statistics_add_calls(void *context, uint32_t index, const struct calls *calls,
				 const struct call_place *place)
{
	struct live *live = context;
	struct ivpu_running *running = &live->statistics.running;

	if (!live->functions[index])
		live->functions[index] = ivpu_function_find(live->list.functions[index].name);
	const struct ivpu_function *function = live->functions[index];
	live->calls[index] += calls->count;
	/* Without nesting, polls cannot be distinguished from messages, and without times, rare boots from a loop. */
	bool is_unclear = live->options.only_entries &&
			  (function->event == IVPU_EVENT_IPC_HANDLER || function->event == IVPU_EVENT_BOOT);
	if (is_unclear)
		live_statistics_add_other(&live->statistics, function, calls->count);
	else
		live_statistics_add(&live->statistics, function, calls->count, calls->first_time, calls->last_time,
				    place->in_boot);
	live_use_add(&live->use, function, calls, place);
	if (place->place.in_submit)
		ivpu_running_add_in_submit(running, function->event, calls->count);
	if (place->begins_phase && place->place.phase == IVPU_PHASE_BOOT)
		ivpu_running_add_boots(running, calls->duration, calls->count);
}

static void job_has_begun(void *context, uint32_t owner, uint64_t time)
{
	struct live *live = context;

	live_statistics_add_job(&live->statistics, &(struct live_job){ .time = time, .owner = owner });
}

static void job_is_over(void *context, const struct iaprof_record_job *job, const char *thread_name)
{
	struct live *live = context;
	uint64_t duration = job->submitted && job->header.time > job->submitted ? job->header.time - job->submitted : 0;

	if (duration > live->longest_job)
		live->longest_job = duration;
	live_use_add_job(&live->use, job, thread_name);
	if (job->state == IAPROF_JOB_IN_FLIGHT)
		return;
	live_statistics_add_job(&live->statistics, &(struct live_job){ .time = job->header.time, .has_ended = true });
}

/* Warns once that jobs cannot be traced. */
static void jobs_omit(struct live *live)
{
	live->has_jobs = live->statistics.knows_jobs = false;
	live->host->log(live->host, IAPROF_LOG_WARNING, "cannot trace individual jobs: %s", live->jobs_host.text);
}

static void jobs_open(struct live *live)
{
	listening_host_init(&live->jobs_host, live->host);
	live->jobs = (struct jobs){
		.device = live->usage.count == 1 ? 1 : 0, /* as in device_counters.c */
		.begun = job_has_begun,
		.done = job_is_over,
		.context = live,
	};
	live->has_jobs = live->statistics.knows_jobs = true;
	if (jobs_prepare(&live->jobs, &live->jobs_host.host))
		jobs_omit(live);
}

/* Starts tracing layers. A failure causes one warning. */
static void layers_open(struct live *live)
{
	struct listening_host host;

	listening_host_init(&host, live->host);
	if (!layers_prepare(&live->layers, &host.host, &live->counts.records)) {
		live->layers.host = live->host;
		return;
	}
	live->host->log(live->host, IAPROF_LOG_WARNING, "cannot read the time of NPU layers: %s", host.text);
	layers_free(&live->layers);
}

int live_prepare(struct live **prepared, const struct iaprof_host *host, const struct live_options *options)
{
	struct live *live = *prepared = calloc(1, sizeof *live);

	if (!live)
		return host->fail(host, ENOMEM, "out of memory");
	live->host = host;
	live->options = *options;
	live->entries.drain = &live->counts;
	int result = functions_read(&live->list, host, options);
	if (result == 0)
		result = probes_load(&live->probes, host, &live->list,
				     &(struct probes_options){ .way = options->attach,
							       .only_entries = options->only_entries,
							       .take_stacks = options->api && options->stacks,
							       .use_python = options->python != PYTHON_NATIVE &&
									     IAPROF_HOST_HAS(host, intern_frame),
							       .ring_size = options->ring_size });
	if (result == 0)
		result = call_drain_init(&live->counts, host, &live->probes, statistics_add_calls, live);
	device_counters_init(&live->usage, "/sys");
	if (result == 0)
		jobs_open(live);
	if (result == 0 && options->api)
		layers_open(live);
	if (result == 0 && options->api)
		result = api_libraries_begin(&live->libraries, host, live->probes.skeleton);
	if (result == 0 && options->api)
		result = graph_functions_begin(&live->graphs, &live->libraries, &live->layers);
	return result;
}

static void functions_report(const struct live *live)
{
	const struct iaprof_host *host = live->host;
	const struct function_list *list = &live->list;
	char way[96];

	function_links_describe(&live->probes.links, live->probes.way, list->count, way, sizeof way);
	host->log(host, IAPROF_LOG_INFO, "attached to %" PRIu32 " functions of " MODULE " in %.1f ms by %s",
		  list->count, (double)live->probes.attach_time / MILLISECOND, way);
	host->metadata(host, "mode",
		       live->options.only_entries ? "entries"
		       : live->options.ring_size  ? "events"
						  : "count");
	host->metadata(host, "attached by", "%s", way);
	host->metadata(host, "functions attached", "%" PRIu32 " of %" PRIu32, list->count, list->traceable);
	host->metadata(host, "time to attach", "%.1f ms", (double)live->probes.attach_time / MILLISECOND);
	if (list->left_out)
		host->metadata(host, "functions left out as too frequent", "%" PRIu32, list->left_out);
	if (list->ambiguous)
		host->metadata(host, "functions left out as ambiguous", "%" PRIu32, list->ambiguous);
	if (list->no_room)
		host->log(host, IAPROF_LOG_WARNING,
			  "functions=%s matches %" PRIu32 " functions beyond the limit of %u (use narrower patterns)",
			  live->options.functions, list->no_room, FUNCTION_LIST_MAX);
	function_report_missing(host, list);
	function_report_unknown(host, list);
}

static void user_add(void *context, uint32_t pid)
{
	const struct live *live = context;
	const uint8_t one = 1;

	bpf_map_update_elem(bpf_map__fd(live->probes.skeleton->maps.npu_users), &pid, &one, BPF_ANY);
}

int live_start(struct live *live)
{
	struct record_batch *batch = &live->counts.records.batch;
	int result = call_drain_begin(&live->counts);

	live->begin = live->usage_time = live->host->clock(live->host);
	if (result == 0)
		result = device_counters_begin(&live->usage, batch, FIRST_USAGE_COUNTER, live->usage_time);
	if (result)
		return result;
	live->started = true;
	npu_users_find("/proc", user_add, live);
	result = probes_attach(&live->probes);
	if (result)
		return result;
	if (live->has_jobs && jobs_start(&live->jobs))
		jobs_omit(live);
	result = live->layers.host ? layers_start(&live->layers) : 0;
	if (result)
		return result;
	live_statistics_begin(&live->statistics, live->host->clock(live->host));
	functions_report(live);
	return 0;
}

/* Driver calls caused by reading these files are counted as well. */
static int usage_read(struct live *live)
{
	uint64_t now = live->host->clock(live->host);

	if (now - live->usage_time < DEVICE_COUNTER_PERIOD)
		return 0;
	live->usage_time = now;
	live_use_read_memory(&live->use);
	return device_counters_turn(&live->usage, &live->counts.records.batch, FIRST_USAGE_COUNTER, now);
}

static int events_emit(struct live *live)
{
	int result = call_drain_events(&live->counts);

	if (result == 0)
		result = layers_turn(&live->layers);
	return result || !live->has_jobs ? result : jobs_turn(&live->jobs, &live->counts.records.batch);
}

static int take_turn(struct live *live)
{
	int result = usage_read(live);

	if (result == 0)
		result = call_drain_turn(&live->counts);
	if (result == 0 && live->options.only_entries)
		result = entry_counts_turn(&live->entries);
	live_statistics_end_turn(&live->statistics, live->host->clock(live->host));
	return result;
}

/* Waits for libraries or calls, and attaches to queued libraries. */
static void wait_for_events(struct live *live, uint64_t nanoseconds)
{
	struct pollfd wakes[] = { { .fd = live->libraries.host ? live->libraries.queue.wake : -1, .events = POLLIN },
				  { .fd = call_drain_descriptor(&live->counts), .events = POLLIN },
				  { .fd = graph_functions_descriptor(&live->graphs), .events = POLLIN } };

	poll(wakes, sizeof wakes / sizeof wakes[0],
	     (int)((nanoseconds + (uint64_t)MILLISECOND - 1) / (uint64_t)MILLISECOND));
	api_libraries_search(&live->libraries);
	graph_functions_search(&live->graphs);
}

int live_run(struct live *live, uint64_t drain_period, const volatile int *stopping)
{
	const struct iaprof_host *host = live->host;
	uint64_t next = host->clock(host) + drain_period;

	while (!__atomic_load_n(stopping, __ATOMIC_ACQUIRE)) {
		uint64_t now = host->clock(host);
		int result = events_emit(live);
		if (result == 0 && now >= next) {
			result = take_turn(live);
			next = now + drain_period;
		}
		if (result)
			return result;
		uint64_t left = next > now ? next - now : 0;
		wait_for_events(live, left < STOPPING_PERIOD ? left : STOPPING_PERIOD);
	}
	return 0;
}

int live_watch_unwinding(struct live *live, iaprof_fd_callback *on_question, iaprof_unwind_callback *on_answer)
{
	const struct unwinder_maps maps = UNWINDER_MAPS(live->probes.skeleton);

	const struct python_maps python = PYTHON_MAPS(live->probes.skeleton);

	if (!live->probes.use_tables)
		return 0;
	int result = unwinder_open(&live->unwinder, live->host, &maps, on_question, on_answer);
	if (result || !live->probes.use_python)
		return result;
	return python_stacks_open(&live->counts.python, live->host, &python, live->options.python, on_question);
}

void live_ask_unwinding(struct live *live)
{
	unwinder_ask(&live->unwinder);
	python_stacks_read(&live->counts.python);
}

int live_take_unwinding(struct live *live, const struct iaprof_unwind_table *table,
			const struct iaprof_unwind_process *process)
{
	python_stacks_take(&live->counts.python, table, process);
	return unwinder_take(&live->unwinder, table, process);
}

void live_file_mapped(struct live *live, const struct iaprof_mapped_file *file)
{
	if (live->libraries.host)
		api_libraries_add(&live->libraries, file);
}

int live_stop(struct live *live)
{
	if (!live)
		return 0;
	api_libraries_detach(&live->libraries);
	layers_detach(&live->layers);
	probes_detach(&live->probes);
	if (!live->started)
		return 0;
	int result = layers_turn(&live->layers);
	if (result == 0 && live->has_jobs)
		result = jobs_stop(&live->jobs, &live->counts.records.batch);
	if (result == 0)
		result = call_drain_finish(&live->counts);
	if (result == 0 && live->options.only_entries)
		result = entry_counts_turn(&live->entries);
	live_statistics_end_turn(&live->statistics, live->host->clock(live->host));
	return result;
}

int live_finish(struct live *live)
{
	if (!live || !live->started)
		return 0;
	const struct iaprof_host *host = live->host;
	struct record_batch *batch = &live->counts.records.batch;
	uint64_t now = host->clock(host);
	struct ivpu_statistics statistics = live_statistics_result(&live->statistics);

	/* Aggregated calls give only approximate completion times. */
	if (live->has_jobs)
		statistics.longest_job = (double)live->longest_job / 1e9;
	statistics.ends_missed = live->has_jobs ? jobs_missed(&live->jobs) : 0;
	statistics.created_bytes = call_drain_buffer_bytes(&live->counts, &live->use.use);
	statistics.boot_polls = live->statistics.overview.boot_polls;
	statistics.longest_boot = (double)latency_longest_boot(&live->probes) / 1e9;
	live_use_finish(&live->use, now - live->begin);
	npu_use_describe(&live->use.use, &statistics);

	host->metadata(host, "time to detach", "%.1f ms", (double)live->probes.detach_time / MILLISECOND);
	if (live->libraries.functions)
		host->metadata(host, "functions of Level Zero attached", "%" PRIu32, live->libraries.functions);
	if (live->counts.calls)
		host->metadata(host, "kernel-side time per call", "%" PRIu64 " ns",
			       live->counts.handler_time / live->counts.calls);
	if (live->usage.failures)
		host->log(host, IAPROF_LOG_WARNING, "cannot read the NPU's sysfs files: %" PRIu64 " failures",
			  live->usage.failures);
	struct ivpu_unknown_functions unknown = { 0 };
	live->statistics.overview.hot_functions_left_out = live->list.left_out;
	int result = latency_send(&live->probes, batch, live->begin, now);
	if (result == 0)
		result = ivpu_overview_emit(batch, &live->statistics.overview, now);
	for (uint32_t i = 0; i < live->list.count; i++)
		if (live->functions[i] && live->functions[i]->family == IVPU_FAMILY_OTHER)
			ivpu_unknown_add(&unknown, live->list.functions[i].name, live->calls[i]);
	if (result == 0)
		result = ivpu_unknown_emit(batch, &unknown, now);
	if (result == 0)
		result = npu_use_emit(&live->use.use, batch, &statistics, now);
	if (result == 0)
		result = ivpu_rates_emit(batch, &statistics, now);
	if (result == 0)
		result = ivpu_findings_emit(batch, &statistics, live->options.limits, now);
	return result ? result : call_records_flush(&live->counts.records);
}

void live_free(struct live *live)
{
	if (!live)
		return;
	jobs_free(&live->jobs);
	layers_free(&live->layers);
	entry_counts_free(&live->entries);
	live_statistics_free(&live->statistics);
	npu_use_free(&live->use.use);
	call_drain_free(&live->counts);
	graph_functions_free(&live->graphs);
	api_libraries_free(&live->libraries);
	unwinder_free(&live->unwinder);
	probes_free(&live->probes);
	function_list_free(&live->list);
	free(live);
}

void live_check(const struct iaprof_host *host, const char *functions)
{
	npu_check_all(host, functions);
}
