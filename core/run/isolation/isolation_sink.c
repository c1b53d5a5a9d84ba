/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of an isolated sink's callbacks, on the sink's thread: see isolation_state.h. Between calls, the main thread
 * takes the messages of the process.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "run/isolation/isolation_state.h"

_Static_assert(SINK_RECORDS_SIZE >= IAPROF_RECORD_SIZE_MAX, "each record fits");

void isolation_sink_free(struct isolation *isolation)
{
	struct isolated_sink *sink = &isolation->sink;
	if (isolation->timer_watch)
		loop_unwatch(isolation->instance->services->loop, STEAL_POINTER(isolation->timer_watch));
	isolation_sink_discard(isolation);
	run_delay_release(&sink->progress.delay);
}

static void expired(void *context, uint64_t expirations)
{
	struct isolation *isolation = context;
	if (instance_run_is_ending(isolation->instance))
		atomic_store(&isolation->memory->run_is_ending, 1);
	/* During a call, the sink's thread takes the messages. */
	if (pthread_mutex_trylock(&isolation->sink.lock))
		return;
	(void)isolation_take_messages(isolation);
	if (!isolation->is_dead)
		isolation_sink_serve(isolation);
	pthread_mutex_unlock(&isolation->sink.lock);
}

int isolation_sink_watch(struct isolation *isolation)
{
	return loop_watch_timer(isolation->instance->services->loop, PERIOD, expired, isolation,
				&isolation->timer_watch);
}

/* Returns the size of the whole records that a call has room for. *count: their number. */
static size_t first_records(const char *records, size_t size, uint64_t *count)
{
	size_t fitting = 0;
	*count = 0;
	while (fitting < size) {
		uint32_t next = ((const struct iaprof_record *)(records + fitting))->size;
		if (fitting + next > SINK_RECORDS_SIZE)
			break;
		fitting += next;
		++*count;
	}
	return fitting;
}

int isolation_records(struct isolation *isolation, const struct iaprof_batch *batch)
{
	const char *records = batch->records;
	size_t left = batch->size;
	int result = 0;
	pthread_mutex_lock(&isolation->sink.lock);
	while (left && !result) {
		struct sink_batch part;
		part.size = first_records(records, left, &part.count);
		memcpy(isolation->memory->records, records, part.size);
		isolation->sink.progress.received += part.size;
		result = isolation_call_with(isolation, ISOLATED_RECORDS, &part, sizeof part, NULL);
		records += part.size;
		left -= part.size;
	}
	pthread_mutex_unlock(&isolation->sink.lock);
	return result;
}

int isolation_profile(struct isolation *isolation, const struct iaprof_profile *profile)
{
	struct instance *instance = isolation->instance;
	pthread_mutex_lock(&isolation->sink.lock);
	struct outbox *outbox = &isolation->outbox;
	int result = -ECHILD;
	if (!isolation->is_dead && outbox_add(outbox, MESSAGE_PROFILE, &packing_of_profile, profile)) {
		isolation->sink.progress.received += outbox->size;
		result = isolation_call_with(isolation, ISOLATED_PROFILE, NULL, 0, NULL);
	} else if (!isolation->is_dead) {
		result = instance_fail(instance, -ENOMEM, "profile", NULL);
	}
	pthread_mutex_unlock(&isolation->sink.lock);
	return result;
}
