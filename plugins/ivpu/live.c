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
#include "counts.h"
#include "families.h"
#include "finding_records.h"
#include "function_list.h"
#include "graph_functions.h"
#include "jobs.h"
#include "latency.h"
#include "listening_host.h"
#include "live.h"
#include "live_tally.h"
#include "npu_check.h"
#include "probes.h"
#include "support.h"
#include "usage.h"

#define MODULE "intel_vpu"
#define MILLISECOND 1e6
/* Counters of NPUs come after that of counts.c. */
#define FIRST_USAGE_COUNTER 16u

struct live {
	const struct iaprof_host *host;
	struct live_options options;
	struct function_list list;
	const struct ivpu_function *functions[FUNCTION_LIST_MAX]; /* what is known of those; NULL: nobody asked yet */
	struct probes probes;
	struct api_libraries libraries;
	struct graph_functions graphs;
	struct counts counts;
	struct live_tally tally;
	struct usage usage;
	struct listening_host jobs_host; /* a run without jobs is a run all the same */
	struct jobs jobs;
	bool has_jobs;
	uint64_t longest_job; /* ns from its submission to its end, or to that of the run */
	uint64_t usage_time;  /* when it was read last */
	uint64_t begin;
	bool started;
};

static bool is_hot(const char *function)
{
	return ivpu_function_find(function)->flags & IVPU_FUNCTION_HOT;
}

/* What a user waits for: requests, buffers, mappings, boots. */
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
	/* Not part of the kernel itself: it is a module, or not there. */
	if (access("/sys/module/" MODULE, F_OK) != 0)
		return host->fail(host, ENODEV,
				  "no Intel NPU: the Linux kernel's module " MODULE " is not loaded: `modprobe " MODULE
				  "`, of Linux 6.3 or newer; or name a trace of bpftrace, input=FILE");
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

static void tally_calls(void *context, uint32_t index, const struct calls *calls, bool in_boot)
{
	struct live *live = context;

	if (!live->functions[index])
		live->functions[index] = ivpu_function_find(live->list.functions[index].name);
	live_tally_add(&live->tally, live->functions[index], calls->count, calls->first_time, calls->last_time,
		       in_boot);
}

static void job_is_over(void *context, const struct iaprof_record_job *job)
{
	struct live *live = context;
	uint64_t duration = job->submitted && job->header.time > job->submitted ? job->header.time - job->submitted : 0;

	if (duration > live->longest_job)
		live->longest_job = duration;
}

/* What cannot be watched is told once, and left out. */
static void jobs_leave_out(struct live *live)
{
	live->has_jobs = false;
	live->host->log(live->host, IAPROF_LOG_WARNING, "single jobs are not told: %s", live->jobs_host.text);
}

static void jobs_open(struct live *live)
{
	char mode[16] = "";

	listening_host_init(&live->jobs_host, live->host);
	if (live->usage.count == 1)
		npu_read_text(&live->usage.npus[0], "sched_mode", mode, sizeof mode);
	live->jobs = (struct jobs){
		.device = live->usage.count == 1 ? 1 : 0, /* as in usage.c */
		.in_order = strcmp(mode, "HW") != 0,
		.done = job_is_over,
		.context = live,
	};
	live->has_jobs = true;
	if (jobs_prepare(&live->jobs, &live->jobs_host.host))
		jobs_leave_out(live);
}

int live_prepare(struct live **prepared, const struct iaprof_host *host, const struct live_options *options)
{
	struct live *live = *prepared = calloc(1, sizeof *live);

	if (!live)
		return host->fail(host, ENOMEM, "out of memory");
	live->host = host;
	live->options = *options;
	int result = functions_read(&live->list, host, options);
	if (result == 0)
		result = probes_load(&live->probes, host, &live->list,
				     &(struct probes_options){ .way = options->attach,
							       .take_stacks = options->api && options->stacks,
							       .ring_size = options->ring_size });
	if (result == 0)
		result = counts_init(&live->counts, host, &live->probes, tally_calls, live);
	usage_init(&live->usage, "/sys");
	if (result == 0)
		jobs_open(live);
	if (result == 0 && options->api)
		result = api_libraries_begin(&live->libraries, host, live->probes.skeleton);
	if (result == 0 && options->api)
		result = graph_functions_begin(&live->graphs, &live->libraries);
	return result;
}

/* Of the functions that are known to matter, which this kernel's driver does not have, or which cannot be traced. */
static void missing_tell(const struct live *live)
{
	char text[1024] = "";
	size_t length = 0;
	const struct ivpu_function *known;

	for (size_t i = 0; (known = ivpu_function_at(i)) && length < sizeof text; i++) {
		if (!(known->flags & IVPU_FUNCTION_WELL_KNOWN) || function_list_has(&live->list, known->name) ||
		    (known->alternative && function_list_has(&live->list, known->alternative)))
			continue;
		int written = snprintf(text + length, sizeof text - length, "%s%s", length ? " " : "", known->name);
		length += written > 0 ? (size_t)written : 0;
	}
	if (!length)
		return;
	live->host->log(live->host, IAPROF_LOG_INFO, "this kernel's " MODULE " lacks, or nobody asked for: %s", text);
	live->host->metadata(live->host, "functions missing", "%s", text);
}

static void functions_tell(const struct live *live)
{
	const struct iaprof_host *host = live->host;
	const struct function_list *list = &live->list;
	char way[96];

	links_describe(&live->probes.links, live->probes.way, list->count, way, sizeof way);
	host->log(host, IAPROF_LOG_INFO, "%" PRIu32 " functions of " MODULE " attached in %.1f ms by %s", list->count,
		  (double)live->probes.attach_time / MILLISECOND, way);
	host->metadata(host, "mode", live->options.ring_size ? "events" : "count");
	host->metadata(host, "attached by", "%s", way);
	host->metadata(host, "functions attached", "%" PRIu32 " of %" PRIu32, list->count, list->traceable);
	host->metadata(host, "time to attach", "%.1f ms", (double)live->probes.attach_time / MILLISECOND);
	if (list->left_out)
		host->metadata(host, "functions left out as too frequent", "%" PRIu32, list->left_out);
	if (list->ambiguous)
		host->metadata(host, "functions left out as ambiguous", "%" PRIu32, list->ambiguous);
	if (list->no_room)
		host->log(host, IAPROF_LOG_WARNING,
			  "functions=%s: %" PRIu32 " functions more match than the %u that are watched: narrow it",
			  live->options.functions, list->no_room, FUNCTION_LIST_MAX);
	missing_tell(live);
}

int live_start(struct live *live)
{
	struct record_batch *batch = &live->counts.records.batch;
	int result = counts_begin(&live->counts);

	live->begin = live->usage_time = live->host->clock(live->host);
	if (result == 0)
		result = usage_begin(&live->usage, batch, FIRST_USAGE_COUNTER, live->usage_time);
	if (result)
		return result;
	live->started = true;
	result = probes_attach(&live->probes);
	if (result)
		return result;
	if (live->has_jobs && jobs_start(&live->jobs))
		jobs_leave_out(live);
	live_tally_begin(&live->tally, live->host->clock(live->host));
	functions_tell(live);
	return 0;
}

/* What the driver's functions were called for by reading these files is counted like any other call. */
static int usage_read(struct live *live)
{
	uint64_t now = live->host->clock(live->host);

	if (now - live->usage_time < USAGE_PERIOD)
		return 0;
	live->usage_time = now;
	return usage_turn(&live->usage, &live->counts.records.batch, FIRST_USAGE_COUNTER, now);
}

int live_poll(struct live *live)
{
	int result = counts_take(&live->counts);

	return result || !live->has_jobs ? result : jobs_turn(&live->jobs, &live->counts.records.batch);
}

int live_turn(struct live *live)
{
	int result = usage_read(live);

	if (result == 0)
		result = counts_drain(&live->counts);
	live_tally_end_turn(&live->tally, live->host->clock(live->host));
	return result;
}

void live_file_mapped(struct live *live, const struct iaprof_mapped_file *file)
{
	if (live->libraries.host)
		api_libraries_add(&live->libraries, file);
}

void live_wait(struct live *live, uint64_t nanoseconds)
{
	struct pollfd wakes[] = { { .fd = live->libraries.host ? live->libraries.wake : -1, .events = POLLIN },
				  { .fd = counts_descriptor(&live->counts), .events = POLLIN },
				  { .fd = graph_functions_descriptor(&live->graphs), .events = POLLIN } };

	poll(wakes, sizeof wakes / sizeof wakes[0],
	     (int)((nanoseconds + (uint64_t)MILLISECOND - 1) / (uint64_t)MILLISECOND));
	api_libraries_look(&live->libraries);
	graph_functions_look(&live->graphs);
}

int live_stop(struct live *live)
{
	if (!live)
		return 0;
	api_libraries_detach(&live->libraries);
	probes_detach(&live->probes);
	if (!live->started)
		return 0;
	int result = live->has_jobs ? jobs_stop(&live->jobs, &live->counts.records.batch) : 0;
	if (result == 0)
		result = counts_finish(&live->counts);
	live_tally_end_turn(&live->tally, live->host->clock(live->host));
	return result;
}

int live_finish(struct live *live)
{
	if (!live || !live->started)
		return 0;
	const struct iaprof_host *host = live->host;
	struct record_batch *batch = &live->counts.records.batch;
	uint64_t now = host->clock(host);
	struct ivpu_tally tally = live_tally_result(&live->tally);

	/* Sums of calls only tell about when a job was over. */
	if (live->has_jobs)
		tally.longest_job = (double)live->longest_job / 1e9;
	tally.ends_missed = live->has_jobs ? jobs_missed(&live->jobs) : 0;
	tally.created_bytes = counts_buffer_bytes(&live->counts);

	host->metadata(host, "time to detach", "%.1f ms", (double)live->probes.detach_time / MILLISECOND);
	if (live->libraries.functions)
		host->metadata(host, "functions of Level Zero attached", "%" PRIu32, live->libraries.functions);
	if (live->counts.calls)
		host->metadata(host, "kernel-side time per call", "%" PRIu64 " ns",
			       live->counts.handler_time / live->counts.calls);
	if (live->usage.failures)
		host->log(host, IAPROF_LOG_WARNING, "the NPU's files in sysfs could not be read %" PRIu64 " times",
			  live->usage.failures);
	live->tally.overview.hot_functions_left_out = live->list.left_out;
	int result = latency_send(&live->probes, batch, live->begin, now);
	if (result == 0)
		result = ivpu_overview_emit(batch, &live->tally.overview, now);
	if (result == 0)
		result = ivpu_rates_emit(batch, &tally, now);
	if (result == 0)
		result = ivpu_findings_emit(batch, &tally, live->options.limits, now);
	return result ? result : call_records_flush(&live->counts.records);
}

void live_free(struct live *live)
{
	if (!live)
		return;
	jobs_free(&live->jobs);
	counts_free(&live->counts);
	graph_functions_free(&live->graphs);
	api_libraries_free(&live->libraries);
	probes_free(&live->probes);
	function_list_free(&live->list);
	free(live);
}

void live_check(const struct iaprof_host *host, const char *functions)
{
	npu_check_all(host, functions);
}
