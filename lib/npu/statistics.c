/* SPDX-License-Identifier: Apache-2.0 */
/* See statistics.h. */
#include <stddef.h>
#include <stdlib.h>
#include "npu/statistics.h"

#define SECOND 1000000000u

static double seconds_between(uint64_t begin, uint64_t end)
{
	return end > begin ? (double)(end - begin) / SECOND : 0;
}

/* Minimum number of seconds with messages that are required for a usual rate. */
#define USUAL_SECONDS_MIN 10

/*
 * Keeps the largest message rate. A rate that the jobs of its second do not explain takes precedence over larger ones
 * that they do.
 */
static void rate_keep(struct ivpu_statistics *statistics, bool *is_excess, double rate, uint64_t jobs)
{
	bool is_more = rate > ivpu_messages_explained(jobs);
	if (is_more < *is_excess || (is_more == *is_excess && rate <= statistics->messages.rate))
		return;
	*is_excess = is_more;
	statistics->messages.rate = rate;
	statistics->messages.rate_jobs = jobs;
}

/* Ends a whole second: updates the maximum and the usual rate of messages. */
static void second_end(struct ivpu_running *running)
{
	uint64_t jobs = running->second_jobs;
	running->second_jobs = 0;
	if (!running->second_messages)
		return;
	running->seconds_counted++;
	rate_keep(&running->statistics, &running->is_rate_excess, (double)running->second_messages, jobs);
	running->messages_before += running->second_messages;
	running->second_messages = 0;
}

void ivpu_running_advance(struct ivpu_running *running, uint64_t time)
{
	if (!time)
		return;
	if (!running->first_time)
		running->first_time = running->last_time = running->second_begin = time;
	if (time < running->last_time)
		return;
	running->last_time = time;
	uint64_t seconds = (time - running->second_begin) / SECOND;
	if (!seconds)
		return;
	second_end(running);
	running->second_begin += seconds * SECOND;
}

void ivpu_running_add_messages(struct ivpu_running *running, uint64_t count, uint64_t time)
{
	ivpu_running_advance(running, time);
	running->statistics.messages.count += count;
	running->second_messages += count;
	running->work.messages += (uint32_t)count;
}

void ivpu_running_take_back_message(struct ivpu_running *running)
{
	running->statistics.messages.count--;
	running->second_messages -= running->second_messages > 0;
	running->work.messages -= running->work.messages > 0;
}

void ivpu_running_add_window(struct ivpu_running *running, uint64_t messages, uint64_t jobs, uint64_t length)
{
	double rate = length ? (double)messages * SECOND / (double)length : 0;
	running->statistics.messages.count += messages;
	if (!messages)
		return;
	running->seconds_counted++;
	running->messages_before += (uint64_t)rate;
	rate_keep(&running->statistics, &running->is_rate_excess, rate,
		  length ? (uint64_t)((double)jobs * SECOND / (double)length) : jobs);
}

void ivpu_running_add_boot_time(struct ivpu_running *running, uint64_t time, bool is_new)
{
	struct ivpu_statistics *statistics = &running->statistics;
	running->boot_seconds = (is_new ? 0 : running->boot_seconds) + (double)time / SECOND;
	statistics->boots.knows_time = true;
	statistics->boots.seconds += (double)time / SECOND;
	if (running->boot_seconds > statistics->boots.longest)
		statistics->boots.longest = running->boot_seconds;
}

void ivpu_running_add_boots(struct ivpu_running *running, uint64_t time, uint64_t count)
{
	uint64_t average = count ? time / count : 0;
	ivpu_running_add_boot_time(running, average, true);
	running->statistics.boots.seconds += (double)(time - average) / SECOND;
}

void ivpu_running_add_in_submit(struct ivpu_running *running, enum ivpu_event event, uint64_t count)
{
	running->statistics.mappings.submit_pages += event == IVPU_EVENT_PAGE_MAP ? count : 0;
	running->statistics.mappings.submit_count += event == IVPU_EVENT_MAPPING ? count : 0;
}

static uint64_t buffers_now(const struct ivpu_statistics *statistics)
{
	return statistics->buffers.created > statistics->buffers.freed
		       ? statistics->buffers.created - statistics->buffers.freed
		       : 0;
}

/* Keeps the work of the job before a submission; if there is no room, every other one is dropped from now on. */
static void work_end(struct ivpu_running *running)
{
	uint64_t before = running->statistics.jobs.count;
	uint32_t stride = running->sample_stride ? running->sample_stride : 1;
	if (before && (before - 1) % stride == 0) {
		if (running->sample_count == STATISTICS_SAMPLES_MAX) {
			for (uint32_t i = 0; i < STATISTICS_SAMPLES_MAX / 2; i++)
				running->samples[i] = running->samples[2 * i];
			running->sample_count = STATISTICS_SAMPLES_MAX / 2;
			stride *= 2;
		}
		if ((before - 1) % stride == 0)
			running->samples[running->sample_count++] = running->work;
	}
	running->sample_stride = stride;
	running->work = (struct ivpu_job_work){ 0 };
}

static void turn_count(struct ivpu_running *running, uint32_t owner)
{
	struct ivpu_statistics *statistics = &running->statistics;
	statistics->jobs.knows_owners = owner && (statistics->jobs.knows_owners || !statistics->jobs.count);
	if (statistics->jobs.count && owner != running->last_owner) {
		statistics->jobs.turns++;
		for (uint32_t i = 0; i < running->waiting_count; i++)
			if (running->waiting[(running->waiting_first + i) % STATISTICS_JOBS_MAX].owner != owner) {
				statistics->jobs.turns_waited++;
				break;
			}
	}
	running->last_owner = owner;
}

void ivpu_running_submit(struct ivpu_running *running, uint32_t owner, uint64_t time)
{
	struct ivpu_statistics *statistics = &running->statistics;
	uint64_t buffers = buffers_now(statistics);
	ivpu_running_advance(running, time);
	work_end(running);
	turn_count(running, owner);
	running->second_jobs++;
	if (!statistics->jobs.count++)
		statistics->buffers.first = buffers;
	statistics->buffers.last = buffers;
	if (!(statistics->jobs.count & (statistics->jobs.count - 1))) {
		running->buffers_at_power[0] = running->buffers_at_power[1];
		running->buffers_at_power[1] = buffers;
	}
	if (running->waiting_count == STATISTICS_JOBS_MAX) {
		running->not_watched++;
		return;
	}
	uint32_t last = (running->waiting_first + running->waiting_count++) % STATISTICS_JOBS_MAX;
	running->waiting[last].time = time;
	running->waiting[last].owner = owner;
}

static void job_watch(struct ivpu_statistics *statistics, uint64_t submitted, uint64_t time)
{
	double seconds = submitted ? seconds_between(submitted, time) : 0;
	if (seconds > statistics->jobs.longest)
		statistics->jobs.longest = seconds;
}

/* Jobs are assumed to end in submission order. */
static void job_complete(struct ivpu_running *running, uint64_t time)
{
	struct ivpu_statistics *statistics = &running->statistics;
	statistics->jobs.done++;
	statistics->jobs.sees_done = true;
	if (!running->waiting_count)
		return;
	uint64_t submitted = running->waiting[running->waiting_first].time;
	job_watch(statistics, submitted, time);
	running->jobs_timed += submitted && time > submitted;
	running->job_seconds += submitted ? seconds_between(submitted, time) : 0;
	running->waiting_first = (running->waiting_first + 1) % STATISTICS_JOBS_MAX;
	running->waiting_count--;
	if (running->not_watched) {
		/* Its submission time is unknown, so its latency is not checked. */
		running->not_watched--;
		running->waiting[(running->waiting_first + running->waiting_count++) % STATISTICS_JOBS_MAX].time = 0;
	}
}

static uint64_t *event_number(struct ivpu_statistics *statistics, enum ivpu_event event)
{
	switch (event) {
	case IVPU_EVENT_CONTEXT:
		return &statistics->contexts;
	case IVPU_EVENT_PAGE_MAP:
		return &statistics->mappings.pages;
	case IVPU_EVENT_MAPPING:
		return &statistics->mappings.count;
	case IVPU_EVENT_BUFFER_CREATE:
		return &statistics->buffers.created;
	case IVPU_EVENT_BUFFER_FREE:
		return &statistics->buffers.freed;
	case IVPU_EVENT_BOOT:
		return &statistics->boots.count;
	case IVPU_EVENT_RESUME:
		return &statistics->resumes;
	case IVPU_EVENT_RECOVERY:
		return &statistics->recoveries;
	case IVPU_EVENT_RESET:
		return &statistics->resets;
	case IVPU_EVENT_SUBMIT:
		return &statistics->jobs.count;
	case IVPU_EVENT_DONE:
		return &statistics->jobs.done;
	default:
		return NULL;
	}
}

static void work_increase(uint32_t *number, uint64_t count)
{
	if (count > UINT32_MAX || __builtin_add_overflow(*number, (uint32_t)count, number))
		*number = UINT32_MAX;
}

/* Adds to the work of the current job. */
static void work_add(struct ivpu_running *running, enum ivpu_event event, uint64_t count)
{
	uint32_t *number = event == IVPU_EVENT_PAGE_MAP        ? &running->work.pages
			   : event == IVPU_EVENT_MAPPING       ? &running->work.mappings
			   : event == IVPU_EVENT_BUFFER_CREATE ? &running->work.buffers
							       : NULL;
	if (number)
		work_increase(number, count);
}

void ivpu_running_add_job_messages(struct ivpu_running *running, uint64_t count)
{
	work_increase(&running->work.messages, count);
}

void ivpu_running_add(struct ivpu_running *running, enum ivpu_event event, uint64_t count, uint64_t time)
{
	struct ivpu_statistics *statistics = &running->statistics;
	ivpu_running_advance(running, time);
	if (event == IVPU_EVENT_TIMEOUT_CLOCK)
		statistics->jobs.sees_done = true;
	/* Aggregated events contain no information about individual jobs. */
	if (event == IVPU_EVENT_SUBMIT && count == 1) {
		ivpu_running_submit(running, 0, time);
		return;
	}
	if (event == IVPU_EVENT_DONE && count == 1) {
		job_complete(running, time);
		return;
	}
	work_add(running, event, count);
	uint64_t *number = event_number(statistics, event);
	if (number && __builtin_add_overflow(*number, count, number))
		*number = UINT64_MAX;
	if (event == IVPU_EVENT_BUFFER_FREE)
		statistics->buffers.sees_freed = true;
	if (buffers_now(statistics) > statistics->buffers.maximum)
		statistics->buffers.maximum = buffers_now(statistics);
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t *one = left, *other = right;
	return *one < *other ? -1 : *one > *other;
}

/* Returns the median of the member at an offset in struct ivpu_job_work. */
static uint32_t median_of(const struct ivpu_running *running, size_t offset)
{
	uint32_t numbers[STATISTICS_SAMPLES_MAX], count = running->sample_count;
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = *(const uint32_t *)(const void *)((const char *)&running->samples[i] + offset);
	qsort(numbers, count, sizeof *numbers, compare_numbers);
	return count ? numbers[(count - 1) / 2] : 0;
}

struct ivpu_statistics ivpu_running_statistics(const struct ivpu_running *running)
{
	struct ivpu_statistics statistics = running->statistics;
	statistics.seconds = seconds_between(running->first_time, running->last_time);
	/* The current second is incomplete, but may already be the maximum. */
	double other_messages = (double)running->messages_before - statistics.messages.rate;
	if (running->seconds_counted > USUAL_SECONDS_MIN)
		statistics.messages.usual_rate = other_messages / (double)(running->seconds_counted - 1);
	bool is_excess = running->is_rate_excess;
	if (running->first_time && running->second_messages)
		rate_keep(&statistics, &is_excess, (double)running->second_messages, running->second_jobs);
	statistics.jobs.median = (struct ivpu_job_work){
		.messages = median_of(running, offsetof(struct ivpu_job_work, messages)),
		.mappings = median_of(running, offsetof(struct ivpu_job_work, mappings)),
		.pages = median_of(running, offsetof(struct ivpu_job_work, pages)),
		.buffers = median_of(running, offsetof(struct ivpu_job_work, buffers)),
	};
	statistics.buffers.half = running->buffers_at_power[0];
	if (running->waiting_count && statistics.jobs.sees_done)
		job_watch(&statistics, running->waiting[running->waiting_first].time, running->last_time);
	/* Without the longest one, if it is completed. */
	bool is_included = statistics.jobs.longest <= running->statistics.jobs.longest;
	uint64_t others = running->jobs_timed - (is_included && running->jobs_timed);
	if (others)
		statistics.jobs.usual =
			(running->job_seconds - (is_included ? statistics.jobs.longest : 0)) / (double)others;
	return statistics;
}
