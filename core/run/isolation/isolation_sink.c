/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of an isolated sink's callbacks, on the sink's thread, and their limits: see isolation_state.h. Between calls,
 * the main thread takes the messages of the process.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/isolation/isolation_state.h"
#include "run/sink_queue.h"

/* Longest time in profile() or finish(), ns; if the run waits for slow sinks, also that without writing. */
#define COMPUTING_TIME (600 * NANOSECONDS_PER_SECOND)

_Static_assert(SINK_MEMORY_SIZE >= IAPROF_RECORD_SIZE_MAX, "each record fits");

int isolation_sink_init(struct isolation *isolation)
{
	void *memory =
		mmap(NULL, sizeof(struct sink_memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	isolation->sink.memory = memory;
	return 0;
}

void isolation_sink_free(struct isolation *isolation)
{
	struct isolated_sink *sink = &isolation->sink;
	if (isolation->timer_watch)
		loop_unwatch(isolation->instance->services->loop, STEAL_POINTER(isolation->timer_watch));
	isolation_sink_discard(isolation);
	if (sink->memory)
		munmap(sink->memory, sizeof *sink->memory);
	profile_strings_free(&sink->strings);
	run_delay_release(&sink->delay);
}

/* Returns a deadline that never passes, and measures time without run delay of the process. */
static struct deadline begin_measuring(struct isolated_sink *sink)
{
	const struct deadline so_far = { .delay = &sink->delay, .helper = &sink->helper };
	run_delay_follow(&sink->delay);
	deadline_note_helper(&so_far);
	struct deadline deadline = deadline_make(&sink->delay, UINT64_MAX);
	deadline.helper = &sink->helper;
	return deadline;
}

static void note_activity(struct isolation *isolation)
{
	isolation->sink.active = begin_measuring(&isolation->sink);
	isolation->sink.active_cpu = isolation_cost(isolation);
	isolation->sink.active_requests = isolation->sink.requests;
}

void isolation_sink_begin(struct isolation *isolation)
{
	isolation->sink.served = isolation->sink.requests = 0;
	isolation->sink.begin = begin_measuring(&isolation->sink);
	note_activity(isolation);
}

/*
 * Returns how long profile() and finish() may neither write nor compute, in ns: what a sink in this process may at the
 * end of a run, and longer before it.
 */
static uint64_t patience_of(const struct instance *instance)
{
	const struct instance_services *services = instance->services;
	uint64_t finish_within = services->target.finish_within;
	bool is_ended = services->write_by && services->write_by(services->context, 0) != UINT64_MAX;
	if (finish_within && (is_ended || finish_within > CALLBACK_TIME))
		return finish_within;
	return CALLBACK_TIME;
}

uint64_t isolation_sink_is_stuck(struct isolation *isolation, enum isolated_callback callback)
{
	struct isolated_sink *sink = &isolation->sink;
	bool is_long = callback == ISOLATED_PROFILE || callback == ISOLATED_FINISH;
	uint64_t limit = is_long ? COMPUTING_TIME : CALLBACK_TIME;
	if (deadline_spent(&sink->begin) >= saturating_add(limit, sink->served))
		return limit;
	if (!is_long)
		return 0;
	if (sink->requests != sink->active_requests)
		note_activity(isolation);
	uint64_t quiet = deadline_spent(&sink->active), patience = patience_of(isolation->instance);
	if (quiet < patience)
		return 0;
	uint64_t longest = isolation->instance->services->target.finish_within
				   ? saturating_multiply(patience, SINK_QUEUE_COMPUTING)
				   : COMPUTING_TIME;
	uint64_t computed = isolation_cost(isolation) - sink->active_cpu;
	return quiet >= longest || quiet >= saturating_add(patience, computed) ? quiet : 0;
}

static void expired(void *context, uint64_t expirations)
{
	struct isolation *isolation = context;
	const struct instance *instance = isolation->instance;
	const struct instance_services *services = instance->services;
	(void)expirations;
	if (services->run_is_ending && services->run_is_ending(services->context))
		atomic_store(&isolation->sink.memory->run_is_ending, 1);
	/* During a call, the sink's thread takes the messages. */
	if (pthread_mutex_trylock(&isolation->sink.lock))
		return;
	for (int i = 0; i < MESSAGES_PER_TURN && isolation_receive(isolation); i++)
		if (isolation->message.kind != MESSAGE_RETURN)
			isolation_take_message(isolation, &isolation->message);
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
		if (fitting + next > SINK_MEMORY_SIZE)
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
		memcpy(isolation->sink.memory->records, records, part.size);
		result = isolation_call_with(isolation, ISOLATED_RECORDS, &part, sizeof part, NULL);
		records += part.size;
		left -= part.size;
	}
	pthread_mutex_unlock(&isolation->sink.lock);
	return result;
}

/* Sends a file; the process waits for the next message. Returns 0 or a negative errno. */
static int send_file(const struct isolation *isolation, uint32_t kind, int descriptor)
{
	return descriptor < 0 ? 0 : message_send_file(isolation->channel, kind, descriptor, 0);
}

static int send_profile(struct isolation *isolation, const struct iaprof_profile *profile)
{
	CLEANUP_CLOSE int image = -1;
	CLEANUP_CLOSE int new_strings = -1;
	int result = profile_image_write(&isolation->sink.strings, profile, &image, &new_strings);
	if (!result)
		result = send_file(isolation, MESSAGE_STRINGS, new_strings);
	return result ? result : send_file(isolation, MESSAGE_PROFILE, image);
}

int isolation_profile(struct isolation *isolation, const struct iaprof_profile *profile)
{
	struct instance *instance = isolation->instance;
	pthread_mutex_lock(&isolation->sink.lock);
	int result = isolation->is_dead ? -ECHILD : send_profile(isolation, profile);
	/* If the process has ended, the call finds out why. */
	if (!result || result == -EPIPE)
		result = isolation_call_with(isolation, ISOLATED_PROFILE, NULL, 0, NULL);
	else if (result != -ECHILD)
		result = instance_fail(instance, result, "profile", NULL);
	pthread_mutex_unlock(&isolation->sink.lock);
	return result;
}
