/* SPDX-License-Identifier: Apache-2.0 */
/* See jobs.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "base/keyed_array.h"
#include "npu/use.h"
#include "npu/device.h"
#include "job_events.h"
#include "job_shared.h"
#include "jobs.h"
#include "module_types.h"
#include "records/losses.h"
#include "bpf/support.h"
#include "bpf/target_set.h"
#include "npu_job.bpf.skel.h"

/* Limit on events per turn. */
#define EVENTS_MAX 2048u
/* Limit on contexts with jobs; the driver has at most 128 at a time. */
#define CONTEXTS_MAX 1024u

static uint32_t engine_name(const struct iaprof_host *host, uint32_t engine)
{
	/* DRM_IVPU_ENGINE_COMPUTE, and DRM_IVPU_ENGINE_COPY of older versions (include/uapi/drm/ivpu_accel.h). */
	static const char *const names[] = { "compute", "copy" };
	char text[32];

	if (engine < sizeof names / sizeof *names)
		return host->intern_string(host, names[engine], strlen(names[engine]));
	int length = snprintf(text, sizeof text, "engine %u", engine);
	return host->intern_string(host, text, (size_t)length);
}

/* Functions do not report the context of a submission. */
static struct command_queue_key queue_key(const struct jobs *jobs, const struct job_event *job)
{
	return (struct command_queue_key){ jobs->from_functions ? job->pid : job->context, job->engine, job->queue };
}

/* Adds the part of a job that is between the two readings of the driver's counter. */
static void jobs_compare(struct jobs *jobs, uint64_t begin, uint64_t end)
{
	uint64_t from = jobs->compared.begin, to = jobs->compared.end ? jobs->compared.end : UINT64_MAX;

	busy_times_add(&jobs->compared.busy, begin < from ? from : begin, end > to ? to : end);
}

/* now: 0, or the end of the run if the job has not ended. */
static int job_append(struct jobs *jobs, const struct job_event *job, uint64_t now)
{
	/* The job may have completed before the driver reported it as queued. */
	uint64_t queued = job->ended && job->queued > job->ended ? job->ended : job->queued;
	uint64_t run_time = now ? 0 : busy_engines_add(jobs->engines, job->engine, queued, job->ended);
	const struct command_queue_key queue = queue_key(jobs, job);
	uint64_t started = now ? 0 : command_queues_end(&jobs->queues, &queue, job->queued, job->ended);

	jobs_compare(jobs, queued, now ? now : job->ended);

	if (!(job->flags & JOB_IS_TARGET))
		return 0;
	char name[JOB_NAME_SIZE + 1] = "";
	memcpy(name, job->name, sizeof job->name);
	bool aborted = job->flags & JOB_IS_ABORTED || job->status == JOB_STATUS_ABORTED;
	struct iaprof_record_job record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_JOB, .time = now ? now : job->ended },
		.submitted = job->submitted,
		.queued = queued,
		.started = started,
		.id = job->id,
		.pid = job->pid,
		.tid = job->tid,
		.device = jobs->device,
		.context = job->context,
		.engine = engine_name(jobs->host, job->engine),
		.state = now       ? IAPROF_JOB_IN_FLIGHT
			 : aborted ? IAPROF_JOB_ABORTED
				   : IAPROF_JOB_DONE,
		.status = aborted && !job->status ? JOB_STATUS_ABORTED : job->status,
		.thread_name = *name ? record_batch_text(jobs->batch, name) : 0,
	};
	if (jobs->done)
		jobs->done(jobs->context, &record, run_time, name);
	return record_batch_append(jobs->batch, &record.header);
}

static void end_keep(struct jobs *jobs, const struct job_event *job)
{
	const struct ended_context added = { .key = job->context };
	uint32_t position = jobs->ended.count < CONTEXTS_MAX ? keyed_array_add(&jobs->ended, &added)
							     : keyed_array_find(&jobs->ended, &added.key);

	if (position != POSITION_NONE && job->submitted > jobs->ended.items[position].submitted)
		jobs->ended.items[position].submitted = job->submitted;
}

/*
 * Returns whether a job without an end has ended all the same: events were missed, and a later job of its context has
 * ended. Otherwise it would look like a job that hangs.
 */
static bool end_is_lost(const struct jobs *jobs, const struct job_event *job)
{
	const struct ended_context *ended = keyed_array_get(&jobs->ended, &job->context);

	return jobs->reported.missed && ended && ended->submitted > job->submitted;
}

/* A negative result ends ring_buffer__consume() after this event. */
static int event_take(void *context, void *data, size_t size)
{
	struct jobs *jobs = context;
	const struct job_event *event = data;
	struct job_event job;
	enum job_queue_result result = JOB_QUEUE_NOTHING;

	if (size < sizeof *event)
		return 0;
	bool begins = event->type == JOB_EVENT_SUBMIT || event->type == JOB_EVENT_BEGIN;
	const struct command_queue_key queue = queue_key(jobs, event);
	if (begins)
		command_queues_submit(&jobs->queues, &queue, event->queued);
	if (begins && event->flags & JOB_IS_TARGET && jobs->begun)
		jobs->begun(jobs->context, event->context ? event->context : event->pid, event->submitted);
	if (event->type == JOB_EVENT_SUBMIT)
		result = job_queue_submit(&jobs->queue, event, &job);
	else if (event->type == JOB_EVENT_END)
		result = job_queue_end(&jobs->queue, event, &job);
	jobs->left_out += result == JOB_QUEUE_FULL;
	if (event->type == JOB_EVENT_JOB)
		end_keep(jobs, event);
	if (event->type == JOB_EVENT_JOB)
		jobs->error = job_append(jobs, event, 0);
	else if (result == JOB_QUEUE_JOB)
		jobs->error = job_append(jobs, &job, 0);
	if (jobs->error)
		return jobs->error;
	return ++jobs->events == EVENTS_MAX ? -EAGAIN : 0;
}

static uint64_t programs_missed(const struct jobs *jobs)
{
	struct bpf_program *program;
	uint64_t missed = 0;

	bpf_object__for_each_program(program, jobs->skeleton->obj) missed += bpf_program_missed(program);
	return missed;
}

static void totals_report(struct jobs *jobs)
{
	const struct iaprof_host *host = jobs->host;
	const struct job_totals *totals = &jobs->skeleton->bss->totals;
	uint64_t since = jobs->reported.time, ring_full = __atomic_load_n(&totals->ring_full, __ATOMIC_RELAXED),
		 map_full = __atomic_load_n(&totals->map_full, __ATOMIC_RELAXED),
		 unreturned = __atomic_load_n(&totals->unreturned, __ATOMIC_RELAXED),
		 unended = __atomic_load_n(&totals->unended, __ATOMIC_RELAXED) + jobs->ends_lost;

	losses_report(host, "NPU jobs: ring buffer full", since, ring_full, &jobs->reported.ring_full, 0);
	losses_report(host, "NPU jobs: map full", since, map_full, &jobs->reported.map_full, 0);
	losses_report(host, "NPU jobs: submission not seen", since, unreturned, &jobs->reported.unreturned, 0);
	losses_report(host, "NPU jobs: end not seen", since, unended, &jobs->reported.unended, 0);
	losses_report(host, "NPU jobs: too many at once", since, jobs->left_out, &jobs->reported.too_many, 0);
	losses_report(host, "NPU jobs: program did not run", since, programs_missed(jobs), &jobs->reported.missed, 0);
	jobs->reported.time = host->clock(host);
}

uint64_t jobs_missed(const struct jobs *jobs)
{
	return jobs->reported.ring_full + jobs->reported.map_full + jobs->reported.unended + jobs->reported.missed;
}

static int events_drain(struct jobs *jobs)
{
	jobs->events = 0;
	jobs->error = 0;
	ring_buffer__consume(jobs->ring);
	return jobs->error;
}

int jobs_turn(struct jobs *jobs)
{
	int result = events_drain(jobs);

	totals_report(jobs);
	return result;
}

/* Appends the jobs that did not end. */
static int rest_append(struct jobs *jobs)
{
	uint64_t now = jobs->host->clock(jobs->host);
	int map = bpf_map__fd(jobs->skeleton->maps.jobs), result = 0;
	uint32_t key, *before = NULL;
	struct job_event job;

	while (result == 0 && bpf_map_get_next_key(map, before, &key) == 0) {
		before = &key;
		if (bpf_map_lookup_elem(map, &key, &job) != 0 || job.ended)
			continue;
		if (end_is_lost(jobs, &job))
			jobs->ends_lost++;
		else
			result = job_append(jobs, &job, now);
	}
	while (result == 0 && job_queue_take(&jobs->queue, &job))
		result = job_append(jobs, &job, now);
	return result;
}

static void programs_detach(struct jobs *jobs)
{
	while (jobs->link_count)
		bpf_link__destroy(jobs->links[--jobs->link_count]);
}

int jobs_stop(struct jobs *jobs)
{
	int result;

	programs_detach(jobs);
	do {
		result = events_drain(jobs);
	} while (result == 0 && jobs->events == EVENTS_MAX);
	totals_report(jobs);
	if (result == 0)
		result = rest_append(jobs);
	totals_report(jobs);
	return result;
}

static int attached(struct jobs *jobs, struct bpf_link *link)
{
	if (!link)
		return -errno;
	jobs->links[jobs->link_count++] = link;
	return 0;
}

/* Attaches to the first existing function, or to all existing ones. Returns their number. */
static int functions_attach(struct jobs *jobs, struct bpf_program *program, bool at_return, bool all,
			    const char *const *names)
{
	int count = 0;

	for (; *names && jobs->link_count < JOB_LINKS_MAX && (all || !count); names++)
		count += !attached(jobs, bpf_program__attach_kprobe(program, at_return, *names));
	return count;
}

static int submissions_attach(struct jobs *jobs)
{
	static const char *const submit[] = { "ivpu_submit_ioctl", NULL };
	static const char *const queue_submit[] = { "ivpu_cmdq_submit_ioctl", NULL };
	struct npu_job_bpf *skeleton = jobs->skeleton;

	if (functions_attach(jobs, skeleton->progs.submit_end, true, false, submit) != 1 ||
	    functions_attach(jobs, skeleton->progs.submit_begin, false, false, submit) != 1)
		return -ENOENT;
	if (functions_attach(jobs, skeleton->progs.submit_end, true, false, queue_submit))
		functions_attach(jobs, skeleton->progs.queue_submit_begin, false, false, queue_submit);
	return 0;
}

static int programs_attach(struct jobs *jobs)
{
	/* Newest release first: since 7.2, and since 6.8. Before that, the driver reports only that a job is over. */
	static const char *const signal[] = { "ivpu_job_signal", "ivpu_job_signal_and_destroy", NULL };
	static const char *const over[] = { "ivpu_job_done_callback", "ivpu_job_done", NULL };
	/* Aborts of all jobs of a device; of a context since 6.15, and in 6.12 to 6.14. */
	static const char *const aborts[] = { "ivpu_jobs_abort_all", "ivpu_context_abort_work_fn",
					      "ivpu_context_abort_thread_handler", NULL };
	struct npu_job_bpf *skeleton = jobs->skeleton;

	functions_attach(jobs, skeleton->progs.abort_end, true, true, aborts);
	functions_attach(jobs, skeleton->progs.abort_begin, false, true, aborts);
	bool signals = functions_attach(jobs, skeleton->progs.job_signal, false, true, signal);
	if (!jobs->from_functions)
		return attached(jobs,
				jobs->is_raw ? bpf_program__attach_raw_tracepoint(skeleton->progs.job_trace_raw, "job")
					     : bpf_program__attach_tracepoint(skeleton->progs.job_trace, "vpu", "job"));
	if (!signals && !functions_attach(jobs, skeleton->progs.job_over, false, false, over))
		return -ENOENT;
	return submissions_attach(jobs);
}

int jobs_start(struct jobs *jobs)
{
	struct npu_job_bpf *skeleton = jobs->skeleton;

	/* Fork first: every traced submission belongs to a known process. */
	int result = target_set_follow(TARGET_SET(skeleton), jobs->host);
	if (result)
		return result;
	struct bpf_log log = bpf_log_begin(jobs->host);
	result = programs_attach(jobs);

	bpf_log_end(&log);
	jobs->reported.time = jobs->host->clock(jobs->host);
	if (result == -ENOENT)
		return jobs->host->fail(jobs->host, ENOENT,
					"the NPU driver has no function that jobs can be traced with");
	return result ? jobs->host->fail(jobs->host, result, "cannot attach to the NPU driver: %s", strerror(-result))
		      : 0;
}

/* Returns whether the raw tracepoint can be used: the module has BTF with all members that it requires. */
static bool offsets_find(struct npu_job_bpf *skeleton)
{
	/* The last one is optional: drivers before command queues lack it. */
	static const struct module_member members[] = { { "ivpu_job", "file_priv" },  { "ivpu_file_priv", "ctx" },
							{ "ivpu_mmu_context", "id" }, { "ivpu_job", "engine_idx" },
							{ "ivpu_job", "job_id" },     { "ivpu_job", "cmdq_id" } };
	enum { OWNER, OWNER_CONTEXT, CONTEXT_ID, ENGINE, ID, QUEUE, MEMBERS };
	uint32_t offsets[MEMBERS] = { 0 };

	if (!job_name_is_unique() || (module_types_find_members(NPU_DRIVER, members, MEMBERS, offsets) &&
				      module_types_find_members(NPU_DRIVER, members, QUEUE, offsets)))
		return false;
	skeleton->rodata->job_offsets.owner = offsets[OWNER];
	skeleton->rodata->job_offsets.context = offsets[OWNER_CONTEXT] + offsets[CONTEXT_ID];
	skeleton->rodata->job_offsets.engine = offsets[ENGINE];
	skeleton->rodata->job_offsets.id = offsets[ID];
	skeleton->rodata->job_offsets.queue = offsets[QUEUE];
	return true;
}

static int programs_load(struct jobs *jobs)
{
	const struct iaprof_target *target = jobs->host->target(jobs->host);
	struct npu_job_bpf *skeleton = jobs->skeleton = npu_job_bpf__open();
	struct job_format format;

	if (!skeleton)
		return -errno;
	jobs->from_functions = !job_format_read(&format);
	if (!jobs->from_functions) {
		skeleton->rodata->offset_event = format.event;
		skeleton->rodata->offset_context = format.context;
		skeleton->rodata->offset_engine = format.engine;
		skeleton->rodata->offset_id = format.id;
	}
	skeleton->rodata->from_functions = jobs->from_functions;
	TARGET_SET_CONFIGURE(skeleton, target);
	jobs->is_raw = !jobs->from_functions && offsets_find(skeleton);
	bpf_program__set_autoload(skeleton->progs.job_trace, !jobs->from_functions && !jobs->is_raw);
	bpf_program__set_autoload(skeleton->progs.job_trace_raw, jobs->is_raw);
	int result = bpf_map__set_max_entries(skeleton->maps.targets, target_words(target));
	return result ? result : npu_job_bpf__load(skeleton);
}

int jobs_prepare(struct jobs *jobs, const struct iaprof_host *host)
{
	jobs->host = host;
	struct bpf_log log = bpf_log_begin(host);
	int result = programs_load(jobs);
	bpf_log_end(&log);
	if (result)
		return host->fail(host, result, "cannot load the BPF programs that trace NPU jobs: %s",
				  strerror(-result));
	jobs->ring = ring_buffer__new(bpf_map__fd(jobs->skeleton->maps.events), event_take, jobs, NULL);
	if (!jobs->ring)
		return host->fail(host, errno, "cannot map the BPF ring buffer: %s", strerror(errno));
	host->metadata(host, "jobs from", "%s", jobs->from_functions ? "functions" : "tracepoint vpu:job");
	return 0;
}

void jobs_free(struct jobs *jobs)
{
	programs_detach(jobs);
	ring_buffer__free(jobs->ring);
	npu_job_bpf__destroy(jobs->skeleton);
	keyed_array_free(&jobs->ended);
}
