/* SPDX-License-Identifier: Apache-2.0 */
/* See live.h. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bpf/support.h"
#include "live.h"
#include "npu/driver_functions.h"
#include "npu/report.h"
#include "npu_check.h"
#include "text/quantity.h"
#include "ivpu.bpf.skel.h"

#define MILLISECOND 1e6
/* How often a thread must check whether to stop: iaprof/plugin.h. */
#define STOPPING_PERIOD UINT64_C(100000000) /* ns */
/* Counter ids of NPUs follow those of call_drain.c. */
#define FIRST_USAGE_COUNTER 16u

static bool counts_entries(const struct live *live)
{
	return live->options.mode == LIVE_MODE_ENTRIES;
}

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

static int functions_read(const struct live *live, struct function_list *list, const struct iaprof_host *host)
{
	/* The driver is always a module. */
	if (access("/sys/module/" NPU_DRIVER, F_OK) != 0)
		return host->fail(host, ENODEV,
				  "no Intel NPU: module " NPU_DRIVER " is not loaded (`modprobe " NPU_DRIVER
				  "`, Linux 6.3 or newer; -s ivpu-trace reads a trace of another machine)");
	int result = bpf_support_check(host);
	if (result)
		return result;
	const struct function_list_wanted wanted = {
		.module = NPU_DRIVER,
		.patterns = live->options.functions,
		.is_left_out = live->options.hot ? NULL : is_hot,
		.is_measured = is_measured,
	};
	return function_list_read(list, host, &wanted);
}

int live_configure(const struct iaprof_host *host, void *instance)
{
	struct live *live = instance;

	live->options.api &= !counts_entries(live);
	return 0;
}

int live_probe(const struct iaprof_host *host, void *instance)
{
	struct function_list list = { 0 };
	int result = functions_read(instance, &list, host);

	function_list_free(&list);
	return result;
}

void live_check(const struct iaprof_host *host, void *instance)
{
	npu_check_all(host, ((const struct live *)instance)->options.functions);
}

static void statistics_add_calls(void *context, uint32_t index, const struct calls *calls,
				 const struct call_place *place)
{
	struct live *live = context;
	struct ivpu_running *running = &live->statistics.running;

	if (!live->functions[index].known)
		live->functions[index].known = ivpu_function_find(live->list.functions[index].name);
	const struct ivpu_function *function = live->functions[index].known;
	live->functions[index].calls += calls->count;
	/* Without nesting, polls cannot be distinguished from messages, and without times, rare boots from a loop. */
	bool is_unclear = counts_entries(live) &&
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

static void job_is_over(void *context, const struct iaprof_record_job *job, uint64_t run_time, const char *thread_name)
{
	struct live *live = context;

	live_use_add_job(&live->use, job, run_time, thread_name);
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
		.batch = &live->counts.records.batch,
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

static int file_mapped(const struct iaprof_host *host, void *instance, const struct iaprof_mapped_file *file)
{
	struct live *live = instance;

	if (live->libraries.host)
		api_libraries_add(&live->libraries, file);
	return 0;
}

/* Starts tracing Level Zero functions. */
static int api_open(struct live *live)
{
	layers_open(live);
	int result = api_libraries_begin(&live->libraries, live->host, live->probes.skeleton, &live->layers);
	if (result == 0)
		result = live->host->on_mapped_file(live->host, file_mapped);
	return result;
}

int live_prepare(const struct iaprof_host *host, void *instance)
{
	struct live *live = instance;
	const struct live_options *options = &live->options;
	const struct probes_options wanted = {
		.way = (enum attach_method)options->attach,
		.only_entries = counts_entries(live),
		.stacks = &live->stacks,
		.ring_size = options->mode == LIVE_MODE_EVENTS
				     ? bpf_ring_size(options->buffer, LIVE_RING_SIZE_MIN, LIVE_RING_SIZE_MAX)
				     : 0,
	};

	live->host = host;
	live->entries.drain = &live->counts;
	live->stacks.user &= options->api;
	int result = stack_reader_probe(&live->stacks, host, BPF_PROG_TYPE_KPROBE);
	if (result == 0)
		result = functions_read(live, &live->list, host);
	if (result == 0)
		result = probes_load(&live->probes, host, &live->list, &wanted);
	if (result == 0)
		result = call_drain_init(&live->counts, host, &live->probes, statistics_add_calls, live);
	device_counters_init(&live->usage, "/sys");
	if (result == 0)
		jobs_open(live);
	if (result == 0)
		result = stack_reader_open(&live->stacks, STACK_READER_OBJECT(live->probes.skeleton));
	return result || !options->api ? result : api_open(live);
}

static void functions_report(const struct live *live)
{
	const struct iaprof_host *host = live->host;
	const struct function_list *list = &live->list;
	char way[96];

	function_links_describe(&live->probes.links, live->probes.way, list->count, way, sizeof way);
	host->log(host, IAPROF_LOG_INFO, "attached to %" PRIu32 " functions of " NPU_DRIVER " in %s by %s", list->count,
		  quantity_time((double)live->probes.attach_time).text, way);
	host->metadata(host, "mode",
		       counts_entries(live)                     ? "entries"
		       : live->options.mode == LIVE_MODE_EVENTS ? "events"
								: "count");
	host->metadata(host, "attached by", "%s", way);
	host->metadata(host, "functions attached", "%" PRIu32 " of %" PRIu32, list->count, list->traceable);
	host->metadata(host, "time to attach", "%s", quantity_time((double)live->probes.attach_time).text);
	if (list->left_out)
		host->metadata(host, "functions left out as too frequent", "%" PRIu32, list->left_out);
	if (list->ambiguous)
		host->metadata(host, "functions left out as ambiguous", "%" PRIu32, list->ambiguous);
	if (list->no_room)
		host->log(host, IAPROF_LOG_WARNING,
			  "functions=%s matches %" PRIu32 " functions beyond the limit of %u (use narrower patterns)",
			  live->options.functions, list->no_room, FUNCTION_LIST_MAX);
	function_list_report_missing(host, list);
	function_list_report_unknown(host, list);
}

static void user_add(void *context, uint32_t pid)
{
	const struct live *live = context;
	const uint8_t one = 1;

	bpf_map_update_elem(bpf_map__fd(live->probes.skeleton->maps.npu_users), &pid, &one, BPF_ANY);
}

/* Reads the driver's counter of busy time, with which the jobs are compared. Its time stays 0 if it cannot be read. */
static void busy_time_read(const struct live *live, uint64_t *time, uint64_t *busy_time)
{
	if (live->has_jobs && device_counters_busy_time(&live->usage, busy_time))
		*time = live->host->clock(live->host);
}

int live_start(const struct iaprof_host *host, void *instance)
{
	struct live *live = instance;
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
	busy_time_read(live, &live->jobs.compared.begin, &live->jobs.compared.driver_begin);
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
	return result || !live->has_jobs ? result : jobs_turn(&live->jobs);
}

static int turn_end(struct live *live)
{
	int result = usage_read(live);

	if (result == 0)
		result = call_drain_turn(&live->counts);
	if (result == 0 && counts_entries(live))
		result = entry_counts_turn(&live->entries);
	live_statistics_end_turn(&live->statistics, live->host->clock(live->host));
	return result;
}

/* Waits for libraries or calls, and attaches to queued libraries. */
static void wait_for_events(struct live *live, uint64_t nanoseconds)
{
	struct pollfd wakes[] = { { .fd = live->libraries.host ? live->libraries.queue.wake : -1, .events = POLLIN },
				  { .fd = call_drain_descriptor(&live->counts), .events = POLLIN },
				  { .fd = api_libraries_table_descriptor(&live->libraries), .events = POLLIN } };

	poll(wakes, sizeof wakes / sizeof wakes[0],
	     (int)((nanoseconds + (uint64_t)MILLISECOND - 1) / (uint64_t)MILLISECOND));
	api_libraries_search(&live->libraries);
}

int live_run(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct live *live = instance;
	uint64_t drain_period = live->options.drain_period;
	uint64_t next = host->clock(host) + drain_period;

	while (!__atomic_load_n(stopping, __ATOMIC_ACQUIRE)) {
		uint64_t now = host->clock(host);
		int result = events_emit(live);
		if (result == 0 && now >= next) {
			result = turn_end(live);
			next = now + drain_period;
		}
		if (result)
			return result;
		uint64_t left = next > now ? next - now : 0;
		wait_for_events(live, left < STOPPING_PERIOD ? left : STOPPING_PERIOD);
	}
	return 0;
}

int live_stop(const struct iaprof_host *host, void *instance)
{
	struct live *live = instance;

	api_libraries_detach(&live->libraries);
	layers_detach(&live->layers);
	probes_detach(&live->probes);
	if (!live->started)
		return 0;
	int result = layers_turn(&live->layers);
	busy_time_read(live, &live->jobs.compared.end, &live->jobs.compared.driver_end);
	if (result == 0 && live->has_jobs)
		result = jobs_stop(&live->jobs);
	if (result == 0)
		result = call_drain_finish(&live->counts);
	if (result == 0 && counts_entries(live))
		result = entry_counts_turn(&live->entries);
	live_statistics_end_turn(&live->statistics, live->host->clock(live->host));
	return result;
}

int live_finish(const struct iaprof_host *host, void *instance)
{
	struct live *live = instance;
	if (!live->started)
		return 0;
	struct record_batch *batch = &live->counts.records.batch;
	uint64_t now = host->clock(host);
	struct npu_report report = { .statistics = live_statistics_result(&live->statistics),
				     .overview = &live->statistics.overview,
				     .use = &live->use.use,
				     .queues = &live->jobs.queues,
				     .limits = &live->options.limits };
	struct ivpu_statistics *statistics = &report.statistics;

	/* Aggregated calls give only approximate completion times. */
	if (live->has_jobs)
		statistics->jobs.longest = (double)live->use.use.longest.duration / 1e9;
	statistics->jobs.ends_missed = live->has_jobs ? jobs_missed(&live->jobs) : 0;
	statistics->buffers.bytes = call_drain_buffer_bytes(&live->counts);
	statistics->boots.longest = (double)latency_longest_boot(&live->probes) / 1e9;
	buffer_sizes_read(&live->probes, &live->use.use);
	live_use_finish(&live->use, now - live->begin);

	host->metadata(host, "time to detach", "%s", quantity_time((double)live->probes.detach_time).text);
	if (live->libraries.functions)
		host->metadata(host, "functions of Level Zero attached", "%" PRIu32, live->libraries.functions);
	if (live->counts.calls)
		host->metadata(host, "kernel-side time per call", "%" PRIu64 " ns",
			       live->counts.handler_time / live->counts.calls);
	stack_reader_describe(&live->stacks, &live->counts.stacks, "user stacks");
	if (live->usage.failures)
		host->log(host, IAPROF_LOG_WARNING, "cannot read the NPU's sysfs files: %" PRIu64 " failures",
			  live->usage.failures);
	/* A module that was loaded again counts from 0. */
	if (live->jobs.compared.begin && live->jobs.compared.driver_end > live->jobs.compared.driver_begin) {
		report.busy.traced = busy_times_total(&live->jobs.compared.busy);
		report.busy.driver = live->jobs.compared.driver_end - live->jobs.compared.driver_begin;
	}
	live->statistics.overview.hot_functions_left_out = live->list.left_out;
	for (uint32_t i = 0; i < live->list.count; i++)
		if (live->functions[i].known && live->functions[i].known->family == IVPU_FAMILY_OTHER)
			ivpu_unknown_add(&report.unknown, live->list.functions[i].name, live->functions[i].calls);
	int result = latency_send(&live->probes, batch, live->begin, now);
	if (result == 0)
		result = npu_report_emit(&report, batch, now);
	return result ? result : call_records_flush(&live->counts.records);
}

void live_destroy(const struct iaprof_host *host, void *instance)
{
	struct live *live = instance;

	jobs_free(&live->jobs);
	layers_free(&live->layers);
	entry_counts_free(&live->entries);
	live_statistics_free(&live->statistics);
	npu_use_free(&live->use.use);
	call_drain_free(&live->counts);
	api_libraries_free(&live->libraries);
	stack_reader_free(&live->stacks);
	probes_free(&live->probes);
	function_list_free(&live->list);
}
