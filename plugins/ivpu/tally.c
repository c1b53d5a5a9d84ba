/* SPDX-License-Identifier: Apache-2.0 */
/* See tally.h. */
#include <stddef.h>
#include "tally.h"

#define SECOND 1000000000u

static double seconds_between(uint64_t begin, uint64_t end)
{
	return end > begin ? (double)(end - begin) / SECOND : 0;
}

/* Seconds with messages from which on their mean is what is usual. */
#define USUAL_SECONDS_MIN 10

/* A whole second is over: is it the busiest one? The rest of those with messages is what is usual. */
static void end_second(struct ivpu_running *running)
{
	struct ivpu_tally *tally = &running->tally;
	if (!running->second_messages)
		return;
	running->seconds_counted++;
	if ((double)running->second_messages > tally->message_rate)
		tally->message_rate = (double)running->second_messages;
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
	end_second(running);
	running->second_begin += seconds * SECOND;
}

void ivpu_running_add_messages(struct ivpu_running *running, uint64_t count, uint64_t time)
{
	ivpu_running_advance(running, time);
	running->tally.messages += count;
	running->second_messages += count;
}

void ivpu_running_add_window(struct ivpu_running *running, uint64_t messages, uint64_t length)
{
	double rate = length ? (double)messages * SECOND / (double)length : 0;
	running->tally.messages += messages;
	if (!messages)
		return;
	running->seconds_counted++;
	running->messages_before += (uint64_t)rate;
	if (rate > running->tally.message_rate)
		running->tally.message_rate = rate;
}

static uint64_t buffers_now(const struct ivpu_tally *tally)
{
	return tally->buffers_created > tally->buffers_freed ? tally->buffers_created - tally->buffers_freed : 0;
}

static void submit(struct ivpu_running *running, uint64_t time)
{
	struct ivpu_tally *tally = &running->tally;
	uint64_t buffers = buffers_now(tally);
	if (!tally->jobs++)
		tally->buffers_first = buffers;
	tally->buffers_last = buffers;
	if (!(tally->jobs & (tally->jobs - 1))) {
		running->buffers_at_power[0] = running->buffers_at_power[1];
		running->buffers_at_power[1] = buffers;
	}
	if (running->waiting_count == TALLY_JOBS_MAX)
		running->not_watched++;
	else
		running->waiting[(running->waiting_first + running->waiting_count++) % TALLY_JOBS_MAX] = time;
}

static void watch_job(struct ivpu_tally *tally, uint64_t submitted, uint64_t time)
{
	double seconds = submitted ? seconds_between(submitted, time) : 0;
	if (seconds > tally->longest_job)
		tally->longest_job = seconds;
}

/* Jobs are taken to end in the order in which they were submitted. */
static void complete(struct ivpu_running *running, uint64_t time)
{
	struct ivpu_tally *tally = &running->tally;
	tally->jobs_done++;
	tally->sees_done = true;
	if (!running->waiting_count)
		return;
	watch_job(tally, running->waiting[running->waiting_first], time);
	running->waiting_first = (running->waiting_first + 1) % TALLY_JOBS_MAX;
	running->waiting_count--;
	if (running->not_watched) {
		/* When it was submitted was not kept: it is not judged. */
		running->not_watched--;
		running->waiting[(running->waiting_first + running->waiting_count++) % TALLY_JOBS_MAX] = 0;
	}
}

static uint64_t *number_of(struct ivpu_tally *tally, enum ivpu_event event)
{
	switch (event) {
	case IVPU_EVENT_CONTEXT:
		return &tally->contexts;
	case IVPU_EVENT_PAGE_MAP:
		return &tally->page_maps;
	case IVPU_EVENT_MAPPING:
		return &tally->mappings;
	case IVPU_EVENT_BUFFER_CREATE:
		return &tally->buffers_created;
	case IVPU_EVENT_BUFFER_FREE:
		return &tally->buffers_freed;
	case IVPU_EVENT_BOOT:
		return &tally->boots;
	case IVPU_EVENT_RESUME:
		return &tally->resumes;
	case IVPU_EVENT_RECOVERY:
		return &tally->recoveries;
	case IVPU_EVENT_RESET:
		return &tally->resets;
	case IVPU_EVENT_SUBMIT:
		return &tally->jobs;
	case IVPU_EVENT_DONE:
		return &tally->jobs_done;
	default:
		return NULL;
	}
}

void ivpu_running_add(struct ivpu_running *running, enum ivpu_event event, uint64_t count, uint64_t time)
{
	struct ivpu_tally *tally = &running->tally;
	ivpu_running_advance(running, time);
	if (event == IVPU_EVENT_TIMEOUT_CLOCK)
		tally->sees_done = true;
	/* Sums without an order say nothing of one job. */
	if (event == IVPU_EVENT_SUBMIT && count == 1) {
		submit(running, time);
		return;
	}
	if (event == IVPU_EVENT_DONE && count == 1) {
		complete(running, time);
		return;
	}
	uint64_t *number = number_of(tally, event);
	if (number && __builtin_add_overflow(*number, count, number))
		*number = UINT64_MAX;
	if (event == IVPU_EVENT_BUFFER_FREE)
		tally->sees_freed = true;
	if (buffers_now(tally) > tally->buffers_max)
		tally->buffers_max = buffers_now(tally);
}

struct ivpu_tally ivpu_running_tally(const struct ivpu_running *running)
{
	struct ivpu_tally tally = running->tally;
	tally.seconds = seconds_between(running->first_time, running->last_time);
	/* The second that has begun is no whole one, but it can be the busiest already. */
	double other_messages = (double)running->messages_before - tally.message_rate;
	if (running->seconds_counted > USUAL_SECONDS_MIN)
		tally.usual_rate = other_messages / (double)(running->seconds_counted - 1);
	if (running->first_time && (double)running->second_messages > tally.message_rate)
		tally.message_rate = (double)running->second_messages;
	tally.buffers_half = running->buffers_at_power[0];
	if (running->waiting_count && tally.sees_done)
		watch_job(&tally, running->waiting[running->waiting_first], running->last_time);
	return tally;
}
