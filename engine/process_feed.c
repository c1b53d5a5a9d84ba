/* SPDX-License-Identifier: Apache-2.0 */
/* Sends process and mapping events of the target's processes to the bus: see engine_state.h. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine_state.h"

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

/* How often the limits on what processes name are renewed in a continuous run. */
#define CONTINUOUS_PERIOD (600 * NANOSECONDS_PER_SECOND)

static uint32_t intern_event_text(void *context, const char *text, size_t length)
{
	return intern_passing_string(((struct engine *)context)->services.intern, text, length);
}

static int emit_events(void *context, const struct iaprof_batch *batch)
{
	struct engine *engine = context;
	int result = bus_emit(engine->services.bus, 0, batch, BUS_ALWAYS, NULL);
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		unwind_tables_take(engine, record);
		if (record->type == IAPROF_RECORD_MAPPING) {
			const struct iaprof_record_mapping *mapping = (const void *)record;
			mapped_files_take(&engine->mapped_files, mapping,
					  intern_text(engine->services.intern, mapping->path));
		}
	}
	return result;
}

static void send_lost(void *context, const char *reason, uint64_t begin, uint64_t count)
{
	struct engine *engine = context;
	struct iaprof_record_lost record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_LOST, .time = clock_monotonic() },
		.begin = begin,
		.count = count,
		.reason = intern_text_id(engine->services.intern, reason)
	};
	bus_send(engine->services.bus, &record.header);
}

static void events_sent(struct engine *engine, int result)
{
	if (engine->unwind_feed && engine->unwind_changes)
		unwind_feed_wake(engine->unwind_feed);
	engine->unwind_changes = false;
	if (result)
		log_message(IAPROF_LOG_WARNING, "process events: %s", strerror(-result));
}

void process_feed_drain(struct engine *engine)
{
	if (!engine->sideband)
		return;
	uint64_t now = engine->drain_begin = clock_monotonic(), begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	if (engine->options.continuous && now - engine->period_begin >= CONTINUOUS_PERIOD) {
		engine->period_begin = now;
		sideband_begin_period(engine->sideband);
	}
	events_sent(engine, sideband_drain(engine->sideband));
	uint64_t broker_cost = broker_cpu_time(engine->broker);
	pthread_mutex_lock(&engine->progress_lock);
	engine->progress.events_cost += clock_read(CLOCK_THREAD_CPUTIME_ID) - begin + broker_cost - engine->broker_cost;
	engine->broker_cost = broker_cost;
	pthread_mutex_unlock(&engine->progress_lock);
}

bool process_feed_is_needed(const struct engine *engine)
{
	return engine->mapped_files.watches.count || !engine->sideband || !sideband_is_system_wide(engine->sideband);
}

void process_feed_save(struct engine *engine, bool saves)
{
	if (process_feed_is_needed(engine))
		return;
	if (saves != sideband_is_paused(engine->sideband))
		events_sent(engine, sideband_pause(engine->sideband, saves));
	else if (saves)
		events_sent(engine, sideband_rescan(engine->sideband));
}

void process_feed_rescan_process(struct engine *engine, uint32_t pid, uint64_t execution)
{
	if (engine->sideband && sideband_is_paused(engine->sideband))
		events_sent(engine, sideband_rescan_process(engine->sideband, pid, execution));
}

/* Waits for more events, which are read together. */
static void events_ready(void *context, uint32_t events)
{
	struct engine *engine = context;
	loop_pause(engine->events_watch);
	engine->drain_begin = clock_monotonic();
	loop_timer_once(engine->drain_watch, DRAIN_DELAY / 2);
}

void process_feed_close(struct engine *engine)
{
	sideband_free(STEAL_POINTER(engine->sideband));
}

static uint64_t drain_delay(const struct engine *engine)
{
	uint32_t stride = engine->mapped_files.watches.count ? 1 : engine->saving.stride;
	return DRAIN_DELAY * (stride < DRAIN_FACTOR_MAX ? stride : DRAIN_FACTOR_MAX);
}

/*
 * Reads events when they are due, or earlier if the ring buffers may overflow: one that is less than a quarter full
 * after some time is, at that rate, half full after twice the time.
 */
static void drain_due(void *context, uint64_t expirations)
{
	struct engine *engine = context;
	if (!engine->sideband) /* process_feed_close() */
		return;
	double fill = sideband_fill(engine->sideband);
	uint64_t waited = clock_monotonic() - engine->drain_begin, delay = drain_delay(engine);
	if (waited < delay && fill < FILLING)
		return loop_timer_once(engine->drain_watch, waited < delay - waited ? waited : delay - waited);
	process_feed_drain(engine);
	/* For sources that attach to libraries: one that is mapped has too few events to make a ring buffer readable.
	 */
	if (fill >= BUSY || engine->mapped_files.watches.count || loop_resume(engine->events_watch))
		loop_timer_once(engine->drain_watch, fill < FILLING / 4 ? delay : DRAIN_DELAY / 2);
}

int process_feed_open(struct engine *engine, struct error *error)
{
	const struct iaprof_target *target = engine->services.target;
	engine->broker = engine->mapped_files.broker = broker_new();
	if (!engine->broker)
		return error_set(error, ENOMEM, "process events: out of memory");
	struct sideband_output output = { .context = engine,
					  .broker = engine->broker,
					  .intern = intern_event_text,
					  .emit = emit_events,
					  .lost = send_lost };
	engine->sideband = sideband_new(&output, target->pids, target->pid_count,
					target->flags & IAPROF_TARGET_CHILDREN, 0, error);
	return engine->sideband ? 0 : error_wrap(error, "process events");
}

static int watch(struct engine *engine)
{
	struct loop *loop = engine->services.loop;
	int result = loop_watch_descriptor(loop, sideband_descriptor(engine->sideband), EPOLLIN, events_ready, engine,
					   &engine->events_watch);
	if (!result)
		result = loop_watch_timer(loop, DRAIN_DELAY, drain_due, engine, &engine->drain_watch);
	engine->drain_begin = clock_monotonic();
	if (!result)
		loop_timer_once(engine->drain_watch, DRAIN_DELAY);
	return result;
}

int process_feed_start(struct engine *engine, struct error *error)
{
	if (!engine->sideband)
		return 0;
	int result = watch(engine);
	return result ? error_set(error, result, "event loop: %s", strerror(-result))
		      : sideband_start(engine->sideband, error);
}

int process_feed_scan(struct engine *engine, struct error *error)
{
	return engine->sideband ? sideband_scan(engine->sideband, error) : 0;
}

size_t process_feed_running(const struct engine *engine)
{
	return engine->sideband ? sideband_process_count(engine->sideband) : 0;
}
