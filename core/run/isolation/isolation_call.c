/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of callbacks in an isolated plugin's process: see isolation_state.h. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "run/isolation/isolated_process.h"
#include "run/isolation/isolation_state.h"

int isolation_take_records(struct isolation *isolation, size_t chunks, struct error *error)
{
	bool more = isolation->instance->services->bus != NULL;
	int result = 0;
	for (size_t i = 0; !result && more && i < chunks; i++)
		result = record_intake_take(&isolation->intake, &more, error);
	return result;
}

struct deadline isolation_deadline(struct isolation *isolation, uint64_t duration)
{
	return deadline_make_with(&isolation->delay, &isolation->child.delayed, duration);
}

void isolation_read_ring(struct isolation *isolation, size_t chunks)
{
	struct error error = { 0 };
	eventfd_t ignored;
	(void)eventfd_read(isolation->wake, &ignored);
	if (isolation_take_records(isolation, chunks, &error))
		isolation_die_of_records(isolation, &error);
	else if (isolation->instance->services->bus && !isolation->intake.waiting_count &&
		 !record_ring_sleep(isolation->intake.ring, isolation->intake.position))
		(void)eventfd_write(isolation->wake, 1); /* continues in the next turn: others have theirs in between */
}

static void take_of_source(struct isolation *isolation)
{
	isolation_read_ring(isolation, RECORD_RING_SIZE / RECORD_INTAKE_CHUNK);
}

/* Takes messages, up to the RETURN of a call. */
static void take_messages(struct isolation *isolation)
{
	isolation->has_returned = isolation->has_returned || isolation_take_messages(isolation);
}

void isolation_attend(struct isolation *isolation)
{
	if (isolation->is_dead)
		return;
	take_of_source(isolation);
	take_messages(isolation);
}

static bool is_last(enum isolated_callback callback)
{
	return callback == ISOLATED_FINISH || callback == ISOLATED_STOP;
}

/* Returns how long a callback of a source may take, in ns. */
static uint64_t time_of(const struct isolation *isolation, enum isolated_callback callback)
{
	const struct instance *instance = isolation->instance;
	uint64_t stop_within = instance->services->stop_within;
	if (is_last(callback) && instance_is_lossless(instance))
		return LOSSLESS_TIME;
	return is_last(callback) && stop_within && stop_within < CALLBACK_TIME ? stop_within : CALLBACK_TIME;
}

static void begin_measuring(struct isolation *isolation, enum isolated_callback callback)
{
	if (isolation->is_sink)
		isolation_progress_begin(isolation);
	isolation->return_by =
		isolation->is_sink ? DEADLINE_NONE : isolation_deadline(isolation, time_of(isolation, callback));
}

/* Has the run go on while a source is drained. */
static void attend_others(const struct isolation *isolation, enum isolated_callback callback)
{
	const struct instance_services *services = isolation->instance->services;
	if (!isolation->is_sink && is_last(callback) && services->attend)
		services->attend(services->context, isolation->instance);
}

/* Waits for the RETURN of a call. Returns false if the process is dead. */
static bool wait_for_return(struct isolation *isolation, enum isolated_callback callback)
{
	while (!isolation->is_dead && !isolation->has_returned) {
		struct pollfd ready[] = { { .fd = isolation->child.channel, .events = POLLIN },
					  { .fd = isolation->is_sink ? isolation->sink.service : isolation->wake,
					    .events = POLLIN } };
		if (poll(ready, 2, WAIT_STEP) < 0 && errno != EINTR)
			break;
		(isolation->is_sink ? isolation_sink_serve : take_of_source)(isolation);
		take_messages(isolation);
		attend_others(isolation, callback);
		if (isolation->is_dead || isolation->has_returned)
			break;
		if (callback != ISOLATED_DESTROY && atomic_load(&isolation->instance->must_end)) {
			isolation_die(isolation, "not finished within --finish-within of an interrupted run: ended",
				      isolated_callback_name(callback));
			break;
		}
		uint64_t passed = isolation->is_sink ? isolation_progress_is_over(isolation, callback)
				  : deadline_has_passed(&isolation->return_by) ? time_of(isolation, callback)
									       : 0;
		if (passed) {
			const char *current = isolation_callback(isolation);
			isolation_die_of_time(isolation, *current ? current : isolated_callback_name(callback), passed);
		}
	}
	bool has_returned = isolation->has_returned;
	isolation->has_returned = false;
	return has_returned;
}

/* Takes the records that the process wrote before it returned from finish(). */
static void take_rest(struct isolation *isolation)
{
	struct error error = { 0 };
	struct deadline deadline = isolation_deadline(isolation, LOSSLESS_TIME);
	while (!record_intake_is_empty(&isolation->intake) && !deadline_has_passed(&deadline)) {
		if (isolation_take_records(isolation, RECORD_RING_SIZE / RECORD_INTAKE_CHUNK, &error)) {
			isolation_die_of_records(isolation, &error);
			return;
		}
		if (!record_intake_is_empty(&isolation->intake))
			poll(NULL, 0, 1);
	}
}

/* Sends a call after everything that waits. Returns false if the process does not read it in time. */
static bool send_call(struct isolation *isolation, enum isolated_callback callback, const void *bytes, size_t size)
{
	struct deadline deadline = isolation_deadline(isolation, time_of(isolation, callback));
	while (!isolation->is_dead && !deadline_has_passed(&deadline)) {
		if (outbox_send(&isolation->outbox, isolation->child.channel) &&
		    message_send(isolation->child.channel, MESSAGE_CALL, 0, callback, bytes, size, CHANNEL_NOW) !=
			    -ETIMEDOUT)
			return true;
		/* Meanwhile the process may wait for room, too. */
		struct pollfd ready = { .fd = isolation->child.channel, .events = POLLOUT | POLLIN };
		poll(&ready, 1, WAIT_STEP);
		(void)isolation_take_messages(isolation);
		attend_others(isolation, callback);
	}
	return isolation->is_dead;
}

static void begin_call(struct isolation *isolation, enum isolated_callback callback, const void *bytes, size_t size)
{
	begin_measuring(isolation, callback);
	if (!send_call(isolation, callback, bytes, size))
		isolation_die_of_time(isolation, isolation_callback(isolation), time_of(isolation, callback));
}

void isolation_begin(struct isolation *isolation, const char *callback)
{
	enum isolated_callback number = isolated_callback_find(callback);
	if (isolation->is_dead)
		return;
	begin_call(isolation, number, NULL, 0);
	isolation->begun = number;
}

/* Stores a failure of a call. Returns its code. */
static int fail(struct isolation *isolation, const struct error *failure, struct error *error)
{
	instance_set_error(isolation->instance, failure);
	if (error)
		*error = *failure;
	return failure->code;
}

int isolation_call_with(struct isolation *isolation, enum isolated_callback callback, const void *bytes, size_t size,
			struct error *error)
{
	struct instance *instance = isolation->instance;
	struct error failure = { 0 };
	if (isolation->is_dead)
		return -ECHILD;
	isolation->is_configured |= callback == ISOLATED_CONFIGURE;
	if (isolation->begun != callback)
		begin_call(isolation, callback, bytes, size);
	isolation->begun = ISOLATED_NONE;
	if (!wait_for_return(isolation, callback))
		return -ECHILD;
	if (callback == ISOLATED_CONFIGURE)
		instance->offline = isolation->message.head.number & RETURN_OFFLINE;
	if (callback == ISOLATED_FINISH && !isolation->is_sink && instance->services->bus)
		take_rest(isolation);
	if (!isolation->message.head.value)
		return 0;
	error_set(&failure, isolation->message.head.value, "%.2000s", isolation->message.bytes);
	return fail(isolation, &failure, error);
}

int isolation_call(struct isolation *isolation, const char *callback, struct error *error)
{
	const struct iaprof_target *target = &isolation->instance->services->target;
	enum isolated_callback number = isolated_callback_find(callback);
	pthread_mutex_lock(&isolation->sink.lock);
	/* One that is out of memory is missed by prepare(), which fails. */
	if (number == ISOLATED_PREPARE)
		(void)outbox_add(&isolation->outbox, MESSAGE_TARGET, &packing_of_target, target);
	int result = isolation_call_with(isolation, number, NULL, 0, error);
	pthread_mutex_unlock(&isolation->sink.lock);
	return result;
}

void isolation_call_destroy(struct isolation *isolation)
{
	pthread_mutex_lock(&isolation->sink.lock);
	begin_measuring(isolation, ISOLATED_DESTROY);
	/* A process that has closed the channel by itself is not asked why. */
	if (!message_send(isolation->child.channel, MESSAGE_CALL, 0, ISOLATED_DESTROY, NULL, 0, CHANNEL_NOW))
		(void)wait_for_return(isolation, ISOLATED_DESTROY);
	pthread_mutex_unlock(&isolation->sink.lock);
}
