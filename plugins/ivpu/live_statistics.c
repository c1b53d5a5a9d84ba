/* SPDX-License-Identifier: Apache-2.0 */
/* See live_statistics.h. */
#include <stdlib.h>
#include <string.h>
#include "live_statistics.h"

/* Limit on the events of a turn that are added one by one. */
#define INDIVIDUAL_EVENTS_MAX 40000u
#define WINDOW_MIN UINT64_C(900000000) /* ns */

void live_statistics_add_other(struct live_statistics *statistics, const struct ivpu_function *function, uint64_t count)
{
	statistics->overview.calls += count;
	statistics->overview.family_counts[function->family] += count;
}

void live_statistics_add(struct live_statistics *statistics, const struct ivpu_function *function, uint64_t count,
			 uint64_t first_time, uint64_t last_time, bool in_boot)
{
	struct ivpu_overview *overview = &statistics->overview;
	live_statistics_add_other(statistics, function, count);
	if (function->family == IVPU_FAMILY_IPC && !in_boot)
		statistics->running.statistics.messages.ipc_calls += count;
	overview->knows_messages |= function->event == IVPU_EVENT_IPC_HANDLER;
	overview->knows_polls |= in_boot;
	if (function->event == IVPU_EVENT_IPC_HANDLER && in_boot)
		statistics->running.statistics.boots.polls += count;
	bool is_job = function->event == IVPU_EVENT_SUBMIT || function->event == IVPU_EVENT_DONE;
	if (function->event == IVPU_EVENT_NONE || (function->event == IVPU_EVENT_IPC_HANDLER && in_boot) ||
	    (is_job && statistics->knows_jobs))
		return;
	if (!statistics->turn[function->event].count || first_time < statistics->turn[function->event].first_time)
		statistics->turn[function->event].first_time = first_time;
	if (last_time > statistics->turn[function->event].last_time)
		statistics->turn[function->event].last_time = last_time;
	statistics->turn[function->event].count += count;
}

void live_statistics_add_job(struct live_statistics *statistics, const struct live_job *job)
{
	enum ivpu_event event = job->has_ended ? IVPU_EVENT_DONE : IVPU_EVENT_SUBMIT;
	/* Jobs beyond the limit are only counted. */
	if (statistics->jobs.count >= LIVE_JOBS_MAX || !array_push(&statistics->jobs, *job))
		ivpu_running_add(&statistics->running, event, 1, 0);
	else if (!job->has_ended)
		statistics->turn_jobs++;
}

void live_statistics_free(struct live_statistics *statistics)
{
	array_free(&statistics->jobs);
}

/* Events of one kind in a turn, spread evenly over their time range. */
struct stream {
	enum ivpu_event event;
	uint64_t count, done, begin, end;
	/* Work is spread evenly over its jobs instead, if these are known, because jobs come in bursts. */
	uint64_t jobs;   /* 0: not known */
	uint64_t before; /* jobs of the turn that were submitted before its time range */
};

static struct stream stream_of(const struct live_statistics *statistics, enum ivpu_event event)
{
	return (struct stream){ .event = event,
				.count = statistics->turn[event].count,
				.begin = statistics->turn[event].first_time,
				.end = statistics->turn[event].last_time };
}

static uint64_t next_time(const struct stream *stream)
{
	if (stream->count < 2)
		return stream->end;
	return stream->begin +
	       (uint64_t)((double)(stream->end - stream->begin) * (double)stream->done / (double)(stream->count - 1));
}

/* Returns the number of events before a time. */
static uint64_t events_before(const struct stream *stream, uint64_t time)
{
	uint64_t length = stream->end - stream->begin;
	if (time <= stream->begin)
		return 0;
	if (time > stream->end || stream->count < 2)
		return stream->count;
	return 1 + (uint64_t)((double)(stream->count - 1) * (double)(time - stream->begin - 1) / (double)length);
}

/* Returns the number of events of the jobs that precede one of the turn. */
static uint64_t events_of_jobs(const struct stream *stream, uint64_t submitted)
{
	if (submitted < stream->before)
		return 0;
	if (submitted >= stream->before + stream->jobs)
		return stream->count;
	uint64_t jobs = submitted - stream->before + 1;
	return (uint64_t)((double)stream->count * (double)jobs / (double)stream->jobs);
}

/* Returns the number of events that were not done yet, before a time and the submission of one more job. */
static uint64_t due(const struct stream *stream, uint64_t time, uint64_t submitted)
{
	uint64_t before = stream->jobs ? events_of_jobs(stream, submitted) : events_before(stream, time);
	before = before < stream->count ? before : stream->count;
	return before > stream->done ? before - stream->done : 0;
}

/* Work of jobs: only the amount between two submissions matters. */
struct work {
	struct stream mappings, pages, messages;
	uint64_t submitted; /* jobs of the turn so far */
};

static void work_add(struct ivpu_running *running, struct stream *stream, uint64_t time, uint64_t submitted)
{
	uint64_t count = due(stream, time, submitted);
	stream->done += count;
	if (count && stream->event == IVPU_EVENT_IPC_HANDLER)
		ivpu_running_add_job_messages(running, count);
	else if (count)
		ivpu_running_add(running, stream->event, count, 0);
}

static void work_add_until(struct ivpu_running *running, struct work *work, uint64_t time)
{
	work_add(running, &work->mappings, time, work->submitted);
	work_add(running, &work->pages, time, work->submitted);
	work_add(running, &work->messages, time, work->submitted);
}

/*
 * Finds the jobs of the turn, which are in order, to which the work belongs. The first one may be of an earlier turn.
 */
static void jobs_find(struct stream *stream, const struct live_statistics *statistics)
{
	uint64_t submitted = 0;

	if (!stream->count)
		return;
	for (size_t i = 0; i < statistics->jobs.count; i++) {
		const struct live_job *job = &statistics->jobs.items[i];
		stream->before += !job->has_ended && job->time <= stream->begin;
		submitted += !job->has_ended && job->time <= stream->end;
	}
	stream->jobs = submitted - stream->before + 1;
}

static int compare_jobs(const void *left, const void *right)
{
	const struct live_job *one = left, *other = right;
	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->has_ended - other->has_ended;
}

static void job_add(struct live_statistics *statistics, const struct live_job *job, struct work *work)
{
	if (job->has_ended) {
		ivpu_running_add(&statistics->running, IVPU_EVENT_DONE, 1, job->time);
		return;
	}
	work_add_until(&statistics->running, work, job->time);
	work->submitted++;
	ivpu_running_submit(&statistics->running, job->owner, job->time);
}

/*
 * Adds buffers, jobs and their work in chronological order, because only the order shows whether buffers grow with the
 * jobs or were created before them. At equal times, a buffer precedes its job, and a job its end.
 */
static void add_in_order(struct live_statistics *statistics)
{
	static const enum ivpu_event events[] = { IVPU_EVENT_BUFFER_CREATE, IVPU_EVENT_SUBMIT, IVPU_EVENT_DONE,
						  IVPU_EVENT_BUFFER_FREE };
	struct stream streams[sizeof events / sizeof *events];
	struct work work = { .mappings = stream_of(statistics, IVPU_EVENT_MAPPING),
			     .pages = stream_of(statistics, IVPU_EVENT_PAGE_MAP),
			     .messages = stream_of(statistics, IVPU_EVENT_IPC_HANDLER) };
	size_t job = 0;
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		streams[i] = stream_of(statistics, events[i]);
	if (statistics->jobs.count)
		qsort(statistics->jobs.items, statistics->jobs.count, sizeof *statistics->jobs.items, compare_jobs);
	if (statistics->knows_jobs) {
		jobs_find(&work.mappings, statistics);
		jobs_find(&work.pages, statistics);
		jobs_find(&work.messages, statistics);
	}
	for (uint64_t added = 0;; added++) {
		struct stream *next = NULL;
		for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
			if (streams[i].done < streams[i].count && (!next || next_time(&streams[i]) < next_time(next)))
				next = &streams[i];
		if (job < statistics->jobs.count && (!next || statistics->jobs.items[job].time < next_time(next))) {
			job_add(statistics, &statistics->jobs.items[job++], &work);
			continue;
		}
		if (!next)
			break;
		/* Events beyond the limit are not added individually. */
		uint64_t count = added < INDIVIDUAL_EVENTS_MAX ? 1 : next->count - next->done;
		if (next->event == IVPU_EVENT_SUBMIT)
			work_add_until(&statistics->running, &work, next_time(next));
		ivpu_running_add(&statistics->running, next->event, count, next_time(next));
		next->done += count;
	}
	work.submitted = UINT64_MAX;
	work_add_until(&statistics->running, &work, UINT64_MAX);
}

void live_statistics_begin(struct live_statistics *statistics, uint64_t time)
{
	statistics->window_begin = time;
	ivpu_running_advance(&statistics->running, time);
}

/* A rate is averaged over at least a second, because a turn can be short, and one early turn does not make a storm. */
static void add_messages(struct live_statistics *statistics, uint64_t time)
{
	uint64_t length = time - statistics->window_begin;
	statistics->window_messages += statistics->turn[IVPU_EVENT_IPC_HANDLER].count;
	statistics->window_jobs += statistics->turn[IVPU_EVENT_SUBMIT].count + statistics->turn_jobs;
	if (length < WINDOW_MIN)
		return;
	ivpu_running_add_window(&statistics->running, statistics->window_messages, statistics->window_jobs, length);
	statistics->window_begin = time;
	statistics->window_messages = statistics->window_jobs = 0;
}

void live_statistics_end_turn(struct live_statistics *statistics, uint64_t time)
{
	static const enum ivpu_event others[] = { IVPU_EVENT_CONTEXT,  IVPU_EVENT_RESUME,        IVPU_EVENT_BOOT,
						  IVPU_EVENT_RECOVERY, IVPU_EVENT_TIMEOUT_CLOCK, IVPU_EVENT_RESET };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (statistics->turn[others[i]].count)
			ivpu_running_add(&statistics->running, others[i], statistics->turn[others[i]].count, 0);
	add_in_order(statistics);
	add_messages(statistics, time);
	memset(statistics->turn, 0, sizeof statistics->turn);
	statistics->jobs.count = 0;
	statistics->turn_jobs = 0;
	ivpu_running_advance(&statistics->running, time);
}

struct ivpu_statistics live_statistics_result(const struct live_statistics *statistics)
{
	struct ivpu_statistics result = ivpu_running_statistics(&statistics->running);
	result.messages.count += statistics->window_messages;
	/* The last window is incomplete, but had this many messages in less than a second. */
	if ((double)statistics->window_messages > result.messages.rate) {
		result.messages.rate = (double)statistics->window_messages;
		result.messages.rate_jobs = statistics->window_jobs;
	}
	return result;
}
