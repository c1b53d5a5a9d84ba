/* SPDX-License-Identifier: Apache-2.0 */
/* See live_tally.h. */
#include <string.h>
#include "live_tally.h"

/* Events of a turn that are looked at one by one. */
#define LOOKED_AT 40000u
#define WINDOW_MIN UINT64_C(900000000) /* ns */

void live_tally_add(struct live_tally *tally, const struct ivpu_function *function, uint64_t count, uint64_t first_time,
		    uint64_t last_time, bool in_boot)
{
	struct ivpu_overview *overview = &tally->overview;
	overview->calls += count;
	overview->headline_counts[function->headline] += count;
	if (function->family == IVPU_FAMILY_IPC && !in_boot)
		tally->running.tally.ipc_calls += count;
	if (function->event == IVPU_EVENT_IPC_HANDLER && in_boot)
		overview->boot_polls += count;
	if (function->event == IVPU_EVENT_NONE || (function->event == IVPU_EVENT_IPC_HANDLER && in_boot))
		return;
	if (!tally->turn[function->event].count || first_time < tally->turn[function->event].first_time)
		tally->turn[function->event].first_time = first_time;
	if (last_time > tally->turn[function->event].last_time)
		tally->turn[function->event].last_time = last_time;
	tally->turn[function->event].count += count;
}

/* Events of a turn on their way into the tally, spread evenly over the time in which they came. */
struct stream {
	enum ivpu_event event;
	uint64_t count, done, begin, end;
};

static uint64_t next_time(const struct stream *stream)
{
	if (stream->count < 2)
		return stream->end;
	return stream->begin +
	       (uint64_t)((double)(stream->end - stream->begin) * (double)stream->done / (double)(stream->count - 1));
}

/*
 * Buffers and jobs, one after the other: whether buffers grow with the jobs, or were made before them, is in the order
 * only. Where times are the same, a buffer is there before its job, and a job before its end.
 */
static void add_in_order(struct live_tally *tally)
{
	static const enum ivpu_event events[] = { IVPU_EVENT_BUFFER_CREATE, IVPU_EVENT_SUBMIT, IVPU_EVENT_DONE,
						  IVPU_EVENT_BUFFER_FREE };
	struct stream streams[sizeof events / sizeof *events];
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		streams[i] = (struct stream){ .event = events[i],
					      .count = tally->turn[events[i]].count,
					      .begin = tally->turn[events[i]].first_time,
					      .end = tally->turn[events[i]].last_time };
	for (uint64_t looked_at = 0;; looked_at++) {
		struct stream *next = NULL;
		for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
			if (streams[i].done < streams[i].count && (!next || next_time(&streams[i]) < next_time(next)))
				next = &streams[i];
		if (!next)
			return;
		/* Of very many only the number counts. */
		uint64_t count = looked_at < LOOKED_AT ? 1 : next->count - next->done;
		ivpu_running_add(&tally->running, next->event, count, next_time(next));
		next->done += count;
	}
}

void live_tally_begin(struct live_tally *tally, uint64_t time)
{
	tally->window_begin = time;
	ivpu_running_advance(&tally->running, time);
}

/* A rate is of a second or more: a turn can be short, and one that comes early is no storm. */
static void add_messages(struct live_tally *tally, uint64_t time)
{
	uint64_t length = time - tally->window_begin;
	tally->window_messages += tally->turn[IVPU_EVENT_IPC_HANDLER].count;
	if (length < WINDOW_MIN)
		return;
	ivpu_running_add_window(&tally->running, tally->window_messages, length);
	tally->window_begin = time;
	tally->window_messages = 0;
}

void live_tally_end_turn(struct live_tally *tally, uint64_t time)
{
	static const enum ivpu_event others[] = { IVPU_EVENT_CONTEXT,       IVPU_EVENT_RESUME,   IVPU_EVENT_BOOT,
						  IVPU_EVENT_MAPPING,       IVPU_EVENT_PAGE_MAP, IVPU_EVENT_RECOVERY,
						  IVPU_EVENT_TIMEOUT_CLOCK, IVPU_EVENT_RESET };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (tally->turn[others[i]].count)
			ivpu_running_add(&tally->running, others[i], tally->turn[others[i]].count, 0);
	add_in_order(tally);
	add_messages(tally, time);
	memset(tally->turn, 0, sizeof tally->turn);
	ivpu_running_advance(&tally->running, time);
	tally->overview.messages = tally->running.tally.messages + tally->window_messages;
}

struct ivpu_tally live_tally_result(const struct live_tally *tally)
{
	struct ivpu_tally result = ivpu_running_tally(&tally->running);
	result.messages = tally->overview.messages;
	/* The last window is none yet, and has had so many in less than a second. */
	if ((double)tally->window_messages > result.message_rate)
		result.message_rate = (double)tally->window_messages;
	return result;
}
