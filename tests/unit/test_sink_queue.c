/* SPDX-License-Identifier: Apache-2.0 */
/* A sink that is blocked: it misses samples, whose number it receives; the records that others depend on reach it. */
#include <check.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "run/sink_queue.h"
#include "../run_suite.h"

#define BLOCKS 100
#define SAMPLES_OF_BLOCK 10

struct sink {
	sem_t may_go_on;
	bool went_on;
	uint64_t strings, samples, value, lost, lost_value, lost_records, reasons;
	uint64_t profiles, newest;
	bool backwards, has_final;
};

static int records(const struct iaprof_host *host, void *memory, const struct iaprof_batch *batch)
{
	struct sink *sink = memory;
	if (!sink->went_on)
		sem_wait(&sink->may_go_on);
	sink->went_on = true;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		const struct iaprof_record_sample *sample = (const void *)record;
		const struct iaprof_record_lost *lost = (const void *)record;
		sink->strings += record->type == IAPROF_RECORD_STRING;
		if (record->type == IAPROF_RECORD_SAMPLE) {
			sink->samples += sample->count;
			sink->value += sample->value;
		} else if (record->type == IAPROF_RECORD_LOST && lost->value_type) {
			sink->lost += lost->count;
			sink->lost_value += lost->value;
		} else if (record->type == IAPROF_RECORD_LOST) {
			sink->lost_records += lost->count;
		}
		if (record->type == IAPROF_RECORD_LOST)
			sink->reasons += lost->reason != 0 && lost->begin <= record->time;
	}
	return 0;
}

static int profile(const struct iaprof_host *host, void *memory, const struct iaprof_profile *profile)
{
	struct sink *sink = memory;
	if (!sink->went_on)
		sem_wait(&sink->may_go_on);
	sink->went_on = true;
	sink->profiles++;
	sink->backwards |= profile->interval < sink->newest;
	sink->newest = profile->interval;
	sink->has_final |= profile->flags & IAPROF_PROFILE_FINAL;
	return 0;
}

static int finish(const struct iaprof_host *host, void *memory)
{
	return 0;
}

/* A block with a definition, samples, and a counter's value. */
static struct block *make_block(uint32_t id)
{
	struct {
		struct {
			struct iaprof_record_string head;
			char text[8];
		} string;
		struct iaprof_record_sample samples[SAMPLES_OF_BLOCK];
		struct iaprof_record_counter_value value;
	} contents = { 0 };
	contents.string.head = (struct iaprof_record_string){
		.header = { .size = sizeof contents.string, .type = IAPROF_RECORD_STRING }, .id = id, .length = 1
	};
	contents.string.text[0] = 'a';
	for (size_t i = 0; i < SAMPLES_OF_BLOCK; i++)
		contents.samples[i] = (struct iaprof_record_sample){ .header = { .size = sizeof contents.samples[i],
										 .type = IAPROF_RECORD_SAMPLE },
								     .value_type = 1 + i % 2,
								     .count = 2,
								     .value = 7 };
	contents.value.header =
		(struct iaprof_record){ .size = sizeof contents.value, .type = IAPROF_RECORD_COUNTER_VALUE };
	struct block *block = block_new(sizeof contents);
	ck_assert_ptr_nonnull(block);
	memcpy(block->records, &contents, sizeof contents);
	block->size = sizeof contents;
	block->count = SAMPLES_OF_BLOCK + 2;
	return block;
}

#define PROFILES 100
#define PROFILE_SIZE 1000
#define PROFILES_CAPACITY 10240

static void free_snapshot(struct snapshot *snapshot)
{
	free(snapshot);
}

static void push_profile(struct sink_queue *queue, uint32_t interval, uint32_t flags, size_t size)
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

TEST_LOOP(a_slow_sink_gets_the_newest_profiles, 0, 2)
{
	struct plugin plugin = { .description = { .kind = IAPROF_PLUGIN_SINK,
						  .flags = IAPROF_PLUGIN_NO_OUTPUT | IAPROF_PLUGIN_INTERVALS,
						  .name = "slow",
						  .instance_size = sizeof(struct sink) },
				 .operations = { .profile = profile, .finish = finish } };
	struct instance_services services = { 0 };
	struct instance_configuration configuration = { .plugin = (char *)"slow" };
	struct error error = { 0 };
	struct instance *instance = instance_new(&plugin, &configuration, 1, &services, &error);
	ck_assert_msg(instance != NULL, "%s", error.text);
	struct sink *sink = instance->memory;
	sem_init(&sink->may_go_on, 0, 0);
	/* With a profile larger than all room, too; or a final one, for which room is made but which never makes it. */
	struct sink_queue *queue = sink_queue_new(instance, PROFILES_CAPACITY, false, &error);
	push_profile(queue, 0, IAPROF_PROFILE_FINAL, PROFILE_SIZE);
	for (uint32_t i = 1; i <= PROFILES; i++)
		push_profile(queue, i, 0, _i && i == PROFILES ? 2 * PROFILES_CAPACITY : PROFILE_SIZE);
	sem_post(&sink->may_go_on);
	sink_queue_close(queue);
	struct sink_queue_dropped dropped;
	ck_assert_int_eq(sink_queue_finish(queue, &dropped), 0);
	ck_assert_uint_eq(dropped.profiles + sink->profiles, PROFILES + 1);
	ck_assert_uint_eq(sink->newest, PROFILES);
	ck_assert(!sink->backwards && sink->has_final);
	/* What waits, and one or two that the sink took before it stood still. */
	ck_assert_uint_le(sink->profiles, _i ? 3 : PROFILES_CAPACITY / PROFILE_SIZE + 2);
	ck_assert_uint_ge(sink->profiles, _i ? 2 : PROFILES_CAPACITY / PROFILE_SIZE);
	sem_destroy(&sink->may_go_on);
	instance_free(instance);
}

/* A sink that is started late gets what fits into the queue; one that is never started gets nothing. */
TEST_LOOP(a_held_queue_keeps_the_newest, 0, 2)
{
	struct plugin plugin = { .description = { .kind = IAPROF_PLUGIN_SINK,
						  .flags = IAPROF_PLUGIN_NO_OUTPUT | IAPROF_PLUGIN_INTERVALS,
						  .name = "late",
						  .instance_size = sizeof(struct sink) },
				 .operations = { .profile = profile, .finish = finish } };
	struct instance_services services = { 0 };
	struct instance_configuration configuration = { .plugin = (char *)"late" };
	struct error error = { 0 };
	struct instance *instance = instance_new(&plugin, &configuration, 1, &services, &error);
	ck_assert_msg(instance != NULL, "%s", error.text);
	struct sink *sink = instance->memory;
	sink->went_on = true;
	struct sink_queue *queue = sink_queue_new(instance, PROFILES_CAPACITY, false, &error);
	struct sink_queue_dropped dropped = { 0 };
	sink_queue_hold(queue, true);
	for (uint32_t i = 1; i <= PROFILES; i++)
		push_profile(queue, i, 0, PROFILE_SIZE);
	if (_i) {
		sink_queue_abandon(queue);
		ck_assert_uint_eq(sink->profiles, 0);
	} else {
		sink_queue_hold(queue, false);
		ck_assert_int_eq(sink_queue_finish(queue, &dropped), 0);
		ck_assert_uint_eq(sink->profiles, PROFILES_CAPACITY / PROFILE_SIZE);
		ck_assert_uint_eq(dropped.profiles, PROFILES - PROFILES_CAPACITY / PROFILE_SIZE);
		ck_assert_uint_eq(sink->newest, PROFILES);
	}
	instance_free(instance);
}

TEST(what_a_slow_sink_misses_is_told_to_it)
{
	struct plugin plugin = { .description = { .kind = IAPROF_PLUGIN_SINK,
						  .flags = IAPROF_PLUGIN_NO_OUTPUT,
						  .name = "slow",
						  .instance_size = sizeof(struct sink) },
				 .operations = { .records = records, .finish = finish } };
	struct instance_services services = { .bus = bus_new(1 << 20) };
	services.intern = intern_new(services.bus);
	struct instance_configuration configuration = { .plugin = (char *)"slow" };
	struct error error = { 0 };
	struct instance *instance = instance_new(&plugin, &configuration, 1, &services, &error);
	ck_assert_msg(instance != NULL, "%s", error.text);
	struct sink *sink = instance->memory;
	sem_init(&sink->may_go_on, 0, 0);
	/* Room for some blocks, and for the definitions of all. */
	struct sink_queue *queue = sink_queue_new(instance, 12288, false, &error);
	for (uint32_t i = 1; i <= BLOCKS; i++) {
		struct block *block = make_block(i);
		sink_queue_push_block(queue, block);
		block_release(block);
	}
	sem_post(&sink->may_go_on);
	sink_queue_close(queue);
	struct sink_queue_dropped dropped;
	ck_assert_int_eq(sink_queue_finish(queue, &dropped), 0);
	ck_assert_uint_gt(dropped.records, 0);
	ck_assert_uint_eq(sink->strings, BLOCKS);
	ck_assert_uint_gt(sink->lost, 0);
	ck_assert_uint_eq(sink->samples + sink->lost, BLOCKS * SAMPLES_OF_BLOCK * 2);
	ck_assert_uint_eq(sink->value + sink->lost_value, BLOCKS * SAMPLES_OF_BLOCK * 7);
	ck_assert_uint_eq(dropped.records, sink->lost / 2 + sink->lost_records);
	/* Three for each gap; how many gaps there are is the scheduler's choice. */
	ck_assert_uint_ge(sink->reasons, 3);
	ck_assert_uint_eq(sink->reasons % 3, 0);
	sem_destroy(&sink->may_go_on);
	instance_free(instance);
	intern_free(services.intern);
	bus_free(services.bus);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
