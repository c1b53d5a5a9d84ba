/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounds of a sink's queue, the order of what goes through it, and how it ends. Linked with --wrap=clock_gettime,
 * pthread_cond_clockwait and pthread_cond_wait: a wait for room lasts until there is some, or until its limit if the
 * sink is blocked; a thread that waits for room without a limit is noticed.
 */
#include <check.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "run/sink_queue.h"
#include "../run_suite.h"

#define EVENTS_MAX 1000

/* A sink that stands still in each callback until it may go on, unless it is free. */
struct sink {
	sem_t entered, may_go_on;
	atomic_bool is_free;
	int fails_with;
	uint64_t events[EVENTS_MAX]; /* ids of strings and 1000 + intervals of profiles, in order */
	atomic_uint count;           /* of these */
	uint64_t finishes, records, lost, lost_value, launches_lost, records_lost;
};

static struct instance_services services;
static struct plugin plugin;
static struct instance *instance;
static struct sink *sink;
static struct sink_queue *queue;
static atomic_uint ended;
static atomic_uint_least64_t monotonic_time;
static _Thread_local bool is_producer; /* a thread that pushes to a lossless queue */
static sem_t waits_for_room;           /* how often that thread waited */
static atomic_uint pushed;

int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *lock, clockid_t clock,
				  const struct timespec *until);

/* Advances by 1 us a call, which is little compared with the wait for room. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, time);
	uint64_t now = atomic_fetch_add(&monotonic_time, 1000) + 1000;
	*time = (struct timespec){ .tv_sec = (time_t)(now / NANOSECONDS_PER_SECOND),
				   .tv_nsec = (long)(now % NANOSECONDS_PER_SECOND) };
	return 0;
}

int __wrap_pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *lock, clockid_t clock,
				  const struct timespec *until)
{
	ck_assert_int_eq(clock, CLOCK_MONOTONIC);
	if (sink->is_free)
		return pthread_cond_wait(condition, lock);
	monotonic_time = (uint64_t)timespec_nanoseconds(until);
	return ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
	if (is_producer)
		sem_post(&waits_for_room);
	return __real_pthread_cond_wait(condition, lock);
}

static void stand_still(void)
{
	sem_post(&sink->entered);
	if (!sink->is_free)
		sem_wait(&sink->may_go_on);
}

static void note(uint64_t event)
{
	ck_assert_uint_lt(sink->count, EVENTS_MAX);
	sink->events[sink->count] = event;
	sink->count++;
}

static int records(const struct iaprof_host *host, void *memory, const struct iaprof_batch *batch)
{
	uint32_t left = batch->count;
	stand_still();
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		ck_assert_uint_gt(left--, 0);
		const struct iaprof_record_lost *lost = (const void *)record;
		sink->records++;
		if (record->type == IAPROF_RECORD_STRING)
			note(((const struct iaprof_record_string *)record)->id);
		if (record->type != IAPROF_RECORD_LOST)
			continue;
		ck_assert_uint_gt(lost->begin, 0);
		ck_assert_uint_ge(record->time, lost->begin);
		ck_assert_uint_gt(lost->count, 0);
		const char *reason = intern_text(services.intern, lost->reason);
		if (!strncmp(reason, "samples:", 8)) {
			ck_assert_uint_gt(lost->value_type, 0);
			sink->lost += lost->count;
			sink->lost_value += lost->value;
		} else if (!strncmp(reason, "launches:", 9)) {
			sink->launches_lost += lost->count;
		} else {
			ck_assert_int_eq(strncmp(reason, "records:", 8), 0);
			sink->records_lost += lost->count;
		}
	}
	ck_assert_uint_eq(left, 0);
	return sink->fails_with;
}

static int profile(const struct iaprof_host *host, void *memory, const struct iaprof_profile *profile)
{
	stand_still();
	note(1000 + profile->interval);
	return sink->fails_with;
}

static int finish(const struct iaprof_host *host, void *memory)
{
	sink->finishes++;
	return 0;
}

static void count_ended(void *context, struct instance *who)
{
	ck_assert_ptr_eq(who, instance);
	ended++;
}

static void start(size_t capacity, bool lossless)
{
	struct error error = { 0 };
	queue = sink_queue_new(instance, capacity, lossless, &error);
	ck_assert_msg(queue != NULL, "%s", error.text);
}

static void set_up(void)
{
	static struct instance_configuration configuration = { .plugin = (char *)"slow" };
	struct error error = { 0 };
	plugin = (struct plugin){ .description = { .kind = IAPROF_PLUGIN_SINK,
						   .flags = IAPROF_PLUGIN_NO_OUTPUT | IAPROF_PLUGIN_INTERVALS,
						   .name = "slow",
						   .instance_size = sizeof(struct sink) },
				  .operations = { .records = records, .profile = profile, .finish = finish } };
	services = (struct instance_services){ .bus = bus_new(1 << 20), .ended = count_ended };
	services.intern = intern_new(services.bus);
	instance = instance_new(&plugin, &configuration, 1, &services, &error);
	ck_assert_msg(instance != NULL, "%s", error.text);
	sink = instance->memory;
	sem_init(&sink->entered, 0, 0);
	sem_init(&sink->may_go_on, 0, 0);
	sem_init(&waits_for_room, 0, 0);
	ended = 0;
}

static void tear_down(void)
{
	sem_destroy(&sink->entered);
	sem_destroy(&sink->may_go_on);
	sem_destroy(&waits_for_room);
	instance_free(instance);
	intern_free(services.intern);
	bus_free(services.bus);
}

/* A block with one record in front, and size bytes in all. */
static struct block *make_block(const void *record, size_t record_size, size_t size)
{
	struct block *block = block_new(size);
	ck_assert_ptr_nonnull(block);
	memset(block->records, 0, size);
	memcpy(block->records, record, record_size);
	((struct iaprof_record *)block->records)->size = (uint32_t)size;
	block->size = size;
	block->count = 1;
	return block;
}

static void push(struct block *block)
{
	sink_queue_push_block(queue, block);
	block_release(block);
}

static void push_string(uint32_t id, size_t size)
{
	struct iaprof_record_string string = { .header.type = IAPROF_RECORD_STRING, .id = id };
	push(make_block(&string, sizeof string, size));
}

static void push_samples(uint32_t value_type, uint64_t count, uint64_t value, size_t size)
{
	struct iaprof_record_sample sample = {
		.header.type = IAPROF_RECORD_SAMPLE, .value_type = value_type, .count = count, .value = value
	};
	push(make_block(&sample, sizeof sample, size));
}

static void free_snapshot(struct snapshot *snapshot)
{
	free(snapshot);
}

static void push_profile(uint32_t interval, uint32_t flags, size_t size)
{
	struct snapshot *snapshot = calloc(1, sizeof *snapshot);
	ck_assert_ptr_nonnull(snapshot);
	atomic_init(&snapshot->references, 1);
	snapshot->free = free_snapshot;
	snapshot->size = size;
	snapshot->profile.interval = interval;
	snapshot->profile.flags = flags;
	sink_queue_push_profile(queue, snapshot);
	snapshot_release(snapshot);
}

/* The sink is in a callback then, and the queue is empty. */
static void stop_sink(void)
{
	push_string(900, sizeof(struct iaprof_record_string));
	sem_wait(&sink->entered);
}

static void let_go_on(void)
{
	sink->is_free = true;
	sem_post(&sink->may_go_on);
}

static struct sink_queue_dropped finish_queue(void)
{
	struct sink_queue_dropped dropped = { 0 };
	let_go_on();
	sink_queue_close(queue);
	ck_assert_int_eq(sink_queue_finish(queue, &dropped), 0);
	ck_assert_uint_eq(sink->finishes, 1);
	ck_assert_ptr_null(dropped.callback);
	return dropped;
}

#define BLOCK 40000
#define FIT 9 /* blocks into room for ten, for each costs more than its size */

TEST(room_is_used_and_given_back)
{
	start((FIT + 1) * (size_t)BLOCK, false);
	stop_sink();
	for (uint64_t round = 1; round <= 5; round++) {
		for (uint64_t i = 0; i < FIT; i++)
			push_samples(1, 2, 7, BLOCK);
		for (uint64_t i = 0; i < FIT; i++) {
			sem_post(&sink->may_go_on);
			sem_wait(&sink->entered);
		}
		ck_assert_uint_eq(sink->lost, 0);
	}
	for (uint64_t i = 0; i < FIT + 3; i++)
		push_samples(1, 2, 7, BLOCK);
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records, 3);
	ck_assert_uint_eq(dropped.profiles, 0);
	ck_assert_uint_eq(sink->lost, 3 * 2);
	ck_assert_uint_eq(sink->lost_value, 3 * 7);
	ck_assert_uint_eq(sink->records_lost + sink->launches_lost, 0);
}

/* Twice the queue's capacity, pushed at once, to a sink that is not blocked. */
TEST(a_burst_is_waited_out)
{
	start((FIT + 1) * (size_t)BLOCK, false);
	sink->is_free = true;
	for (uint64_t i = 0; i < 2 * FIT; i++)
		push_samples(1, 2, 7, BLOCK);
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records, 0);
	ck_assert_uint_eq(sink->lost, 0);
}

TEST(a_block_that_just_fits_is_taken)
{
	/* Smaller than room by what a block costs at most, and larger than all room. */
	start(BLOCK, false);
	stop_sink();
	push_samples(1, 1, 1, BLOCK - 256);
	push_samples(1, 1, 1, BLOCK);
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records, 1);
	ck_assert_uint_eq(sink->lost, 1);
}

/* However small blocks are, what waits takes no more memory than there is room for. */
TEST(small_blocks_count_with_what_they_cost)
{
	enum { ROOM = 1 << 20 };
	start(ROOM, false);
	stop_sink();
	size_t before = mallinfo2().uordblks;
	for (uint64_t i = 0; i < ROOM / 64; i++)
		push_samples(1, 1, 1, sizeof(struct iaprof_record_sample));
	size_t used = mallinfo2().uordblks - before; /* 0 where another malloc() is in its place */
	ck_assert_uint_le(used, ROOM);
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_gt(dropped.records, 0);
	ck_assert_uint_eq(sink->lost, dropped.records);
	ck_assert_uint_lt(dropped.records, ROOM / 64);
}

/* Definitions have as much room again; then they are counted, too. */
TEST(definitions_have_a_bound)
{
	enum { PUSHED = 50, KEPT = 19 };
	start((FIT + 1) * (size_t)BLOCK, false);
	stop_sink();
	for (uint32_t i = 1; i <= PUSHED; i++)
		push_string(i, BLOCK);
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records, PUSHED - KEPT);
	ck_assert_uint_eq(sink->records_lost, PUSHED - KEPT);
	ck_assert_uint_eq(sink->count, 1 + KEPT);
	for (uint32_t i = 1; i <= KEPT; i++)
		ck_assert_uint_eq(sink->events[i], i);
}

TEST(what_was_lost_is_told_by_kind)
{
	start(1, false);
	sink->is_free = true;
	struct iaprof_record_launch launch = { .header.type = IAPROF_RECORD_LAUNCH, .count = 5 };
	struct iaprof_record_call call = { .header.type = IAPROF_RECORD_CALL, .count = 3 };
	push(make_block(&launch, sizeof launch, sizeof launch));
	push(make_block(&launch, sizeof launch, sizeof launch));
	push(make_block(&call, sizeof call, sizeof call));
	for (uint32_t type = 1; type <= REFUSED_VALUE_TYPES_MAX + 2; type++)
		push_samples(type, type, 10 * type, sizeof(struct iaprof_record_sample));
	push_samples(2, 100, 1000, sizeof(struct iaprof_record_sample));
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records, 3 + REFUSED_VALUE_TYPES_MAX + 2 + 1);
	ck_assert_uint_eq(sink->launches_lost, 10);
	ck_assert_uint_eq(sink->records_lost, 1 + 2); /* those of value types too many count as records */
	ck_assert_uint_eq(sink->lost, 1 + 2 + 3 + 4 + 100);
	ck_assert_uint_eq(sink->lost_value, 10 + 20 + 30 + 40 + 1000);
	ck_assert_uint_eq(sink->records, REFUSED_VALUE_TYPES_MAX + 2);
}

/* What happens many times may be refused; what gives it its meaning may not. */
TEST(definitions_are_not_refused)
{
	const uint16_t many[] = { IAPROF_RECORD_SAMPLE,       IAPROF_RECORD_LAUNCH, IAPROF_RECORD_STALL_SAMPLE,
				  IAPROF_RECORD_CALL,         IAPROF_RECORD_JOB,    IAPROF_RECORD_HISTOGRAM,
				  IAPROF_RECORD_COUNTER_VALUE };
	for (uint16_t type = 1; type < IAPROF_RECORD_TYPE_COUNT; type++) {
		bool may_be = false;
		for (size_t i = 0; i < sizeof many / sizeof *many; i++)
			may_be |= type == many[i];
		ck_assert_int_eq(refused_may_be(&(struct iaprof_record){ .type = type }), may_be);
	}
}

/* Blocks and profiles come in the order in which they were pushed, apart from old profiles, which are dropped. */
TEST(order_is_kept)
{
	enum { PUSHED = 20, KEPT = 10 };
	start(KEPT * (size_t)BLOCK, false);
	stop_sink();
	push_profile(0, IAPROF_PROFILE_FINAL, 1);
	for (uint32_t i = 1; i <= PUSHED; i++) {
		push_string(i, 64);
		push_profile(i, 0, BLOCK - (i == PUSHED));
	}
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records, 0);
	ck_assert_uint_eq(dropped.profiles, PUSHED - KEPT);
	unsigned at = 0;
	ck_assert_uint_eq(sink->events[at++], 900);
	ck_assert_uint_eq(sink->events[at++], 1000);
	for (uint32_t i = 1; i <= PUSHED; i++) {
		ck_assert_uint_eq(sink->events[at++], i);
		if (i > PUSHED - KEPT)
			ck_assert_uint_eq(sink->events[at++], 1000 + i);
	}
	ck_assert_uint_eq(sink->count, at);
}

/* is_profiles: pushes profiles rather than blocks. */
static void *push_many(void *is_profiles)
{
	is_producer = true;
	for (uint32_t i = 1; i <= 100; i++, pushed++) {
		if (*(int *)is_profiles)
			push_profile(i, 0, BLOCK);
		else
			push_string(i, BLOCK);
	}
	return NULL;
}

/* _i 0: blocks, 1: profiles. The room of profiles is given back, too. */
TEST_LOOP(a_lossless_queue_waits_for_room, 0, 2)
{
	pthread_t thread;
	unsigned fit = _i ? FIT + 1 : FIT;
	start((FIT + 1) * (size_t)BLOCK, true);
	stop_sink();
	pushed = 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, push_many, &_i), 0);
	for (unsigned taken = 0; taken < 20; taken++) {
		while (pushed < fit + taken)
			sem_wait(&waits_for_room);
		ck_assert_uint_eq(pushed, fit + taken);
		sem_post(&sink->may_go_on);
		sem_wait(&sink->entered);
	}
	let_go_on();
	pthread_join(thread, NULL);
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records + dropped.profiles, 0);
	ck_assert_uint_eq(sink->count, 1 + 100);
	for (unsigned i = 1; i <= 100; i++)
		ck_assert_uint_eq(sink->events[i], (_i ? 1000 : 0) + i);
}

/* One that is larger than all room does not wait for ever. */
TEST(a_lossless_queue_takes_what_is_too_large)
{
	start(1, true);
	stop_sink();
	push_string(1, BLOCK);
	push_profile(1, 0, BLOCK);
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records + dropped.profiles, 0);
	ck_assert_uint_eq(sink->count, 3);
}

/* Whoever waits for room of a sink that fails goes on; the sink is not called again. _i: lossless. */
TEST_LOOP(a_sink_that_fails_is_called_no_more, 0, 2)
{
	start(_i ? 1 : 1 << 20, _i);
	sink->fails_with = -EIO;
	sink->is_free = true;
	for (uint32_t i = 1; i <= 50; i++) {
		push_string(i, BLOCK);
		push_profile(i, 0, BLOCK);
	}
	struct sink_queue_dropped dropped = { 0 };
	sink_queue_close(queue);
	ck_assert_int_eq(sink_queue_finish(queue, &dropped), -EIO);
	ck_assert_uint_eq(sink->count, 1);
	ck_assert_uint_eq(sink->finishes, 0);
	ck_assert_uint_eq(ended, 1);
	ck_assert_str_ne(instance->error.text, "");
}

TEST(an_abandoned_sink_does_not_finish)
{
	start(1 << 20, false);
	sink->is_free = true;
	push_string(1, 64);
	sem_wait(&sink->entered);
	sink_queue_abandon(queue);
	sink_queue_abandon(NULL);
	sink_queue_close(NULL);
	ck_assert_int_eq(sink_queue_finish(NULL, NULL), 0);
	ck_assert_uint_eq(sink->finishes, 0);
}

TEST(a_queue_is_done_when_its_sink_has_finished)
{
	start(1 << 20, false);
	for (int i = 0; i < 10; i++)
		sink_queue_check(queue, 1, false);
	ck_assert(!sink_queue_wait(queue)); /* it waits for nothing: nobody is stuck */
	stop_sink();
	sink_queue_check(queue, UINT64_MAX / 100, false);
	ck_assert(!sink_queue_wait(queue));
	sink_queue_close(queue);
	let_go_on();
	while (!sink_queue_wait(queue))
		sink_queue_check(queue, UINT64_MAX / 100, false);
	ck_assert_uint_eq(sink->finishes, 1);
	finish_queue();
}

/* What it writes shows that a sink is alive. */
TEST(a_sink_that_writes_is_not_given_up)
{
	start(1 << 20, false);
	stop_sink();
	sink_queue_close(queue);
	for (int i = 0; i < 100; i++) {
		instance->output.activity++;
		sink_queue_check(queue, 1, false);
	}
	ck_assert(!sink_queue_wait(queue));
	finish_queue();
}

/* Records and profiles of intervals that wait are lost, definitions and the last profile are not. */
TEST(what_waits_is_dropped_when_a_run_is_interrupted)
{
	start(1 << 20, false);
	stop_sink();
	push_samples(7, 2, 20, sizeof(struct iaprof_record_sample));
	push_string(1, 64);
	push_samples(7, 3, 30, sizeof(struct iaprof_record_sample));
	push_string(2, 64);
	push_profile(1, 0, 1);
	push_profile(2, IAPROF_PROFILE_FINAL, 1);
	sink_queue_close(queue);
	sink_queue_check(queue, SINK_QUEUE_DROP_PART - 1, true); /* a part of this time is none: it is over at once */
	struct sink_queue_dropped dropped = finish_queue();
	ck_assert_uint_eq(dropped.records, 2);
	ck_assert_uint_eq(dropped.profiles, 1);
	ck_assert_uint_eq(sink->lost, 5);
	ck_assert_uint_eq(sink->lost_value, 50);
	ck_assert_uint_eq(sink->count, 4);
	const uint64_t events[] = { 900, 1, 2, 1002 };
	ck_assert_mem_eq(sink->events, events, sizeof events);
}

/* Progress does not give it more time. */
TEST(a_sink_that_writes_is_given_up_when_a_run_is_interrupted)
{
	struct sink_queue_dropped dropped = { 0 };
	start(1 << 20, false);
	stop_sink();
	sink_queue_close(queue);
	while (!sink_queue_wait(queue)) {
		instance->output.activity++;
		sink_queue_check(queue, 1, true);
	}
	ck_assert_int_eq(sink_queue_finish(queue, &dropped), -ETIMEDOUT);
	ck_assert_str_eq(dropped.callback, "records");
	let_go_on();
	sink_queue_abandon(queue);
}

/* One that neither returns nor writes nor computes. What it was called for and what waits is counted. _i: in what. */
TEST_LOOP(a_sink_that_stands_still_is_given_up, 0, 2)
{
	struct sink_queue_dropped dropped = { 0 };
	start(1 << 20, false);
	if (_i)
		push_profile(1, 0, 1);
	else
		push_string(900, 64);
	sem_wait(&sink->entered);
	for (uint32_t i = 1; i <= 5; i++)
		push_string(i, 64);
	push_profile(2, 0, 1);
	push_profile(3, 0, 1);
	sink_queue_close(queue);
	while (!sink_queue_wait(queue))
		sink_queue_check(queue, 1, false);
	ck_assert_int_eq(sink_queue_finish(queue, &dropped), -ETIMEDOUT);
	ck_assert_str_eq(dropped.callback, _i ? "profile" : "records");
	ck_assert_uint_eq(dropped.records, 5);
	ck_assert_uint_eq(dropped.profiles, 2 + (unsigned)_i);
	/* It comes back after all. */
	let_go_on();
	sink_queue_abandon(queue);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
