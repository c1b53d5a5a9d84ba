/* SPDX-License-Identifier: Apache-2.0 */
/* Sends process and mapping events of the target's processes to the bus: see run_state.h. */
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "run/run_state.h"

/*
 * Time after which process events are read. It is short because the root folder of a process in another mount
 * namespace can be opened only while the process runs, and because sources attach to mapped libraries. Without events,
 * nothing is read, so that an idle machine is not woken.
 */
#define DRAIN_DELAY (NANOSECONDS_PER_SECOND / 10)
/*
 * Limit on the factor by which a lower sampling rate extends that time: fewer processes are sampled, and most of those
 * that start and end meanwhile need not be looked up in /proc.
 */
#define DRAIN_FACTOR_MAX 10u
/* Shares of a ring buffer: one that is read at once, and one above which more events are expected. */
#define FILLING (1 / 4.0)
#define BUSY (1 / 64.0)

void run_send(struct run *run, struct iaprof_record *record, uint16_t type, size_t size)
{
	record->type = type;
	record->size = (uint32_t)size;
	record->time = clock_monotonic();
	bus_send(run->services.bus, record);
}

void run_send_metadata(struct run *run, const char *key, const char *value)
{
	struct iaprof_record_metadata record = { .key = intern_text_id(run->services.intern, key),
						 .value = intern_text_id(run->services.intern, value) };
	run_send(run, &record.header, IAPROF_RECORD_METADATA, sizeof record);
}

static uint32_t intern_event_text(void *context, const char *text, size_t length)
{
	return intern_passing_string(((struct run *)context)->services.intern, text, length);
}

static int emit_events(void *context, const struct iaprof_batch *batch)
{
	struct run *run = context;
	int result = bus_emit(run->services.bus, 0, batch, BUS_ALWAYS, NULL);
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		unwind_tables_take(run, record);
		if (record->type == IAPROF_RECORD_MAPPING) {
			const struct iaprof_record_mapping *mapping = (const void *)record;
			mapped_files_take(&run->mapped_files, mapping,
					  intern_text(run->services.intern, mapping->path));
		}
	}
	return result;
}

static void send_lost(void *context, const char *reason, uint64_t begin, uint64_t count)
{
	struct run *run = context;
	struct iaprof_record_lost record = { .begin = begin,
					     .count = count,
					     .reason = intern_text_id(run->services.intern, reason) };
	run_send(run, &record.header, IAPROF_RECORD_LOST, sizeof record);
}

static void events_sent(struct run *run, int result)
{
	if (run->unwind_feed && run->unwind_changes)
		unwind_feed_wake(run->unwind_feed);
	run->unwind_changes = false;
	if (result)
		log_message(IAPROF_LOG_WARNING, "process events: %s", strerror(-result));
}

void process_feed_drain(struct run *run)
{
	if (!run->sideband)
		return;
	run->drain_begin = clock_monotonic();
	events_sent(run, sideband_drain(run->sideband));
}

bool process_feed_is_needed(const struct run *run)
{
	return run->mapped_files.watches.count || !run->sideband || !sideband_is_system_wide(run->sideband);
}

void process_feed_save(struct run *run, bool saves)
{
	if (process_feed_is_needed(run))
		return;
	if (saves != sideband_is_paused(run->sideband))
		events_sent(run, sideband_pause(run->sideband, saves));
	else if (saves)
		events_sent(run, sideband_rescan(run->sideband));
}

void process_feed_rescan_process(struct run *run, uint32_t pid, uint64_t execution)
{
	if (run->sideband && sideband_is_paused(run->sideband))
		events_sent(run, sideband_rescan_process(run->sideband, pid, execution));
}

/* Waits for more events, which are read together. */
static void events_ready(void *context, uint32_t events)
{
	struct run *run = context;
	loop_pause(run->events_watch);
	run->drain_begin = clock_monotonic();
	loop_timer_once(run->drain_watch, DRAIN_DELAY / 2);
}

void process_feed_synchronize(struct run *run)
{
	struct iaprof_record_sync record = { 0 };
	process_feed_drain(run);
	run_send(run, &record.header, IAPROF_RECORD_SYNC, sizeof record);
}

void process_feed_end(struct run *run)
{
	process_feed_synchronize(run);
	sideband_free(STEAL_POINTER(run->sideband));
	run->has_ended_feed = true;
}

static uint64_t drain_delay(struct run *run)
{
	uint32_t stride = run->mapped_files.watches.count ? 1 : run_budget_stride(run);
	return DRAIN_DELAY * (stride < DRAIN_FACTOR_MAX ? stride : DRAIN_FACTOR_MAX);
}

/*
 * Reads events when they are due, or earlier if the ring buffers may overflow: one that is less than a quarter full
 * after some time is, at that rate, half full after twice the time.
 */
static void drain_due(void *context, uint64_t expirations)
{
	struct run *run = context;
	if (!run->sideband) /* process_feed_end() */
		return;
	double fill = sideband_fill(run->sideband);
	uint64_t waited = clock_monotonic() - run->drain_begin, delay = drain_delay(run);
	if (waited < delay && fill < FILLING)
		return loop_timer_once(run->drain_watch, waited < delay - waited ? waited : delay - waited);
	process_feed_drain(run);
	/* For sources that attach to libraries: one that is mapped has too few events to make a ring buffer readable.
	 */
	if (fill >= BUSY || run->mapped_files.watches.count || loop_resume(run->events_watch))
		loop_timer_once(run->drain_watch, fill < FILLING / 4 ? delay : DRAIN_DELAY / 2);
}

int process_feed_open(struct run *run, struct error *error)
{
	const struct iaprof_target *target = &run->services.target;
	struct sideband_output output = {
		.context = run, .intern = intern_event_text, .emit = emit_events, .lost = send_lost
	};
	run->sideband = sideband_new(&output, target->pids, target->pid_count, target->flags & IAPROF_TARGET_CHILDREN,
				     0, error);
	return run->sideband ? 0 : error_wrap(error, "process events");
}

int process_feed_watch(struct run *run)
{
	struct loop *loop = run->services.loop;
	int result = loop_watch_descriptor(loop, sideband_descriptor(run->sideband), EPOLLIN, events_ready, run,
					   &run->events_watch);
	if (!result)
		result = loop_watch_timer(loop, DRAIN_DELAY, drain_due, run, &run->drain_watch);
	run->drain_begin = clock_monotonic();
	if (!result)
		loop_timer_once(run->drain_watch, DRAIN_DELAY);
	return result;
}
