/* SPDX-License-Identifier: Apache-2.0 */
/* The collector: samples go to the program of their time, totals are kept, memory does not grow with the run. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector_records.h"
#include "../run_suite.h"

static void set_up(void)
{
	intern = intern_new(NULL);
	collector = collector_new(&(struct collector_options){ .intern = intern });
	struct iaprof_record_source source = { .number = 1, .name = text("test") };
	take(&source, IAPROF_RECORD_SOURCE, sizeof source, 0);
	take_cpu_type(10);
}

static uint64_t total_of(const struct iaprof_profile *profile, const char *root)
{
	uint64_t total = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		if (!root || !strcmp(iaprof_profile_frame(profile, stack->frames[0])->name, root))
			total += value->value;
	}
	return total;
}

TEST(samples_go_to_the_program_of_their_time)
{
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	/* Samples come before the news of the exec between them: they are drained from elsewhere. */
	take_sample(10, 0x1000, 3, 1 * SECOND);
	take_sample(10, 0x1000, 4, 3 * SECOND);
	take_process(10, IAPROF_PROCESS_EXEC, "editor", 2 * SECOND);
	take_sync(4 * SECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(total_of(&snapshot->profile, "shell"), 3);
	ck_assert_uint_eq(total_of(&snapshot->profile, "editor"), 4);
	ck_assert_uint_eq(total_of(&snapshot->profile, NULL), 7);
	snapshot_release(snapshot);
}

static uint64_t unreadable_count(void)
{
	uint64_t count = 0;
	struct snapshot *snapshot = collector_snapshot(collector, true);
	for (size_t i = 0; i < snapshot->profile.lost_count; i++)
		if (!strcmp(iaprof_profile_lost(&snapshot->profile, i)->reason, COLLECTOR_REASON_UNREADABLE))
			count += iaprof_profile_lost(&snapshot->profile, i)->count;
	snapshot_release(snapshot);
	return count;
}

/* Of the others, nothing is missing from the profile. */
TEST(unreadable_memory_maps_are_a_loss_once_their_process_is_sampled)
{
	for (uint32_t pid = 10; pid < 15; pid++) {
		take_process(pid, IAPROF_PROCESS_EXISTING, "secret", 0);
		take_process(pid, IAPROF_PROCESS_UNREADABLE, "", 0);
	}
	take_process(20, IAPROF_PROCESS_EXISTING, "public", 0);
	take_sample(20, 0x1000, 1, 1 * SECOND);
	take_sync(2 * SECOND);
	ck_assert_uint_eq(unreadable_count(), 0);
	/* One that is sampled twice, a fork of another, and one that executes another program before its sample. */
	take_sample(10, 0x1000, 1, 2 * SECOND + 1);
	struct iaprof_record_process fork = { .pid = 31, .parent_pid = 11, .event = IAPROF_PROCESS_FORK };
	take(&fork, IAPROF_RECORD_PROCESS, sizeof fork, 2 * SECOND + 1);
	take_sample(31, 0x1000, 1, 2 * SECOND + 2);
	take_process(12, IAPROF_PROCESS_EXEC, "shell", 2 * SECOND + 1);
	take_sample(12, 0x1000, 1, 2 * SECOND + 2);
	take_sync(3 * SECOND);
	take_sample(10, 0x2000, 1, 4 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(unreadable_count(), 2);
}

TEST(intervals_add_up_to_the_total)
{
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	uint64_t sum = 0;
	for (uint64_t i = 1; i <= 5; i++) {
		take_sample(10, 0x1000 * i, i, i * SECOND);
		take_sync(i * SECOND);
		collector_resolve(collector);
		struct snapshot *snapshot = collector_snapshot(collector, false);
		ck_assert_uint_eq(total_of(&snapshot->profile, NULL), i);
		sum += total_of(&snapshot->profile, NULL);
		snapshot_release(snapshot);
		collector_begin_interval(collector);
	}
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(total_of(&snapshot->profile, NULL), sum);
	snapshot_release(snapshot);
}

TEST(what_was_lost_is_in_the_profile)
{
	struct iaprof_record_lost lost = {
		.count = 5, .value = 50, .value_type = CPU_TYPE, .reason = text("map full")
	};
	take(&lost, IAPROF_RECORD_LOST, sizeof lost, SECOND);
	lost = (struct iaprof_record_lost){ .count = IAPROF_COUNT_UNKNOWN, .reason = text("overflow") };
	take(&lost, IAPROF_RECORD_LOST, sizeof lost, SECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(total_of(&snapshot->profile, "[lost]"), 50);
	ck_assert_uint_eq(snapshot->profile.lost_count, 2);
	const struct iaprof_lost *first = iaprof_profile_lost(&snapshot->profile, 0);
	ck_assert_str_eq(first->source, "test");
	ck_assert_str_eq(first->reason, "map full");
	ck_assert_uint_eq(first->count, 5);
	ck_assert_uint_eq(iaprof_profile_lost(&snapshot->profile, 1)->unknown, 1);
	snapshot_release(snapshot);
}

/* The next STACK_FRAMES record that waits; *frames its first frame. */
static bool next_names(uint32_t *stack, uint32_t *count, struct iaprof_record_frame *frames)
{
	bool found = false;
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
			const struct iaprof_record_stack_frames *names = (const void *)record;
			if (record->type != IAPROF_RECORD_STACK_FRAMES)
				continue;
			ck_assert(!found);
			found = true;
			*stack = names->stack;
			*count = names->frame_count;
			*frames = *iaprof_record_stack_frames_frame(names, 0);
		}
		block_release(block);
	}
	return found;
}

static uint32_t take_launch(uint32_t pid, uint64_t address, uint64_t time)
{
	struct iaprof_record_launch record = {
		.pid = pid, .user_stack = intern_stack(intern, pid, &address, 1), .count = 1, .first_time = time
	};
	take(&record, IAPROF_RECORD_LAUNCH, sizeof record, time);
	return record.user_stack;
}

TEST(stacks_of_launches_get_names_once)
{
	uint32_t stack = 0, count = 0;
	struct iaprof_record_frame frame;
	collector_free(collector);
	collector = collector_new(&(struct collector_options){ .intern = intern, .records = true });
	uint32_t launch = take_launch(10, 0x1234, 2 * SECOND);
	uint32_t later = take_launch(10, 0x4321, 5 * SECOND);
	take_launch(10, 0x1234, 2 * SECOND);
	/* What the process is comes later, from elsewhere; until then nobody can know. */
	ck_assert(!next_names(&stack, &count, &frame));
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	take_sync(3 * SECOND);
	ck_assert(next_names(&stack, &count, &frame));
	ck_assert_uint_eq(stack, launch);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(frame.kind, IAPROF_FRAME_USER);
	ck_assert_uint_ne(frame.flags & IAPROF_FRAME_UNKNOWN, 0);
	take_launch(10, 0x1234, 4 * SECOND);
	take_sync(4 * SECOND);
	ck_assert(!next_names(&stack, &count, &frame));
	collector_finish(collector);
	ck_assert(next_names(&stack, &count, &frame));
	ck_assert_uint_eq(stack, later);
}

TEST(short_processes_leave_nothing_behind)
{
	/* An hour of 100 processes a second, each at addresses of its own, as address space randomization makes them.
	 */
	uint32_t pid = 100;
	uint64_t time = SECOND, total = 0;
	for (int second = 0; second < 3600; second++, time += SECOND) {
		for (int i = 0; i < 100; i++, pid = pid < 30000 ? pid + 1 : 100) {
			take_process(pid, IAPROF_PROCESS_FORK, "sh", time);
			take_sample(pid, time + (uint64_t)i * 16, 1, time + 10);
			take_process(pid, IAPROF_PROCESS_EXIT, "", time + 20);
			total++;
		}
		take_sync(time + 100);
	}
	ck_assert_uint_le(intern_stack_count(intern), 40000);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(total_of(&snapshot->profile, "sh"), total);
	ck_assert_uint_le(snapshot->profile.value_count, 10);
	ck_assert_uint_eq(collector_statistics(collector).stacks_unknown, 0);
	snapshot_release(snapshot);
}

TEST(launches_leave_nothing_behind)
{
	uint64_t time = SECOND;
	for (int second = 0; second < 3600; second++, time += SECOND) {
		for (uint64_t i = 0; i < 100; i++)
			take_launch(10, time + i * 16, time + 10);
		take_sync(time + 100);
	}
	ck_assert_uint_le(intern_stack_count(intern), 70000);
}

TEST(a_sample_of_an_unheard_process_is_kept)
{
	take_sample(4242, 0x1000, 9, SECOND);
	take_sync(SECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(total_of(&snapshot->profile, "[unknown]"), 9);
	snapshot_release(snapshot);
}

TEST(samples_of_an_undeclared_value_type_are_a_loss)
{
	uint64_t address = 0x1000;
	take_sample_of(43, 10, intern_stack(intern, 10, &address, 1), 9, SECOND);
	take_sync(SECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(snapshot->profile.lost_count, 1);
	const struct iaprof_lost *lost = iaprof_profile_lost(&snapshot->profile, 0);
	ck_assert_str_eq(lost->source, "test");
	ck_assert_str_eq(lost->reason, COLLECTOR_REASON_VALUE_TYPE);
	ck_assert_uint_eq(lost->count, 1);
	ck_assert_uint_eq(lost->value, 0);
	ck_assert_uint_eq(collector_statistics(collector).out_of_memory, 0);
	snapshot_release(snapshot);
}

TEST(stacks_that_nobody_knows_any_more_are_counted)
{
	struct iaprof_record_sample record = {
		.pid = 10, .user_stack = 4711, .value_type = CPU_TYPE, .count = 1, .value = 9, .first_time = SECOND
	};
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	take(&record, IAPROF_RECORD_SAMPLE, sizeof record, SECOND);
	take_sync(SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(collector_statistics(collector).stacks_unknown, 1);
}

/* A capture whose damaged part held a definition. */
TEST(values_of_a_missing_profile_stack_are_a_loss)
{
	struct {
		struct iaprof_record_profile_stack head;
		struct iaprof_record_frame frames[3];
	} stack = { .head = { .id = 7, .frame_count = 3 },
		    .frames = { { .name = text("train"), .kind = IAPROF_FRAME_PROCESS },
				{ .name = text("main") },
				{ .name = text("step") } } };
	struct iaprof_record_profile_value value = { .stack = 7, .value_type = CPU_TYPE, .value = 30, .count = 3 };
	take(&stack, IAPROF_RECORD_PROFILE_STACK, sizeof stack, SECOND);
	take(&value, IAPROF_RECORD_PROFILE_VALUE, sizeof value, SECOND);
	/* One of before there were times in it. */
	value.value = 10;
	take(&value, IAPROF_RECORD_PROFILE_VALUE, offsetof(struct iaprof_record_profile_value, begin), SECOND);
	value.value = 30;
	value.stack = 8;
	take(&value, IAPROF_RECORD_PROFILE_VALUE, sizeof value, SECOND);
	value.value_type = 43;
	take(&value, IAPROF_RECORD_PROFILE_VALUE, sizeof value, SECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(total_of(&snapshot->profile, "train"), 40);
	ck_assert_uint_eq(total_of(&snapshot->profile, "[lost]"), 30);
	const struct iaprof_stack *replayed =
		iaprof_profile_stack(&snapshot->profile, iaprof_profile_value(&snapshot->profile, 0)->stack);
	ck_assert_uint_eq(replayed->frame_count, 3);
	ck_assert_str_eq(iaprof_profile_frame(&snapshot->profile, replayed->frames[1])->name, "main");
	ck_assert_str_eq(iaprof_profile_frame(&snapshot->profile, replayed->frames[2])->name, "step");
	ck_assert_uint_eq(snapshot->profile.lost_count, 2);
	const struct iaprof_lost *lost = iaprof_profile_lost(&snapshot->profile, 0);
	ck_assert_str_eq(lost->source, "test");
	ck_assert_str_eq(lost->reason, COLLECTOR_REASON_PROFILE_STACK);
	ck_assert_uint_eq(lost->count, 3);
	ck_assert_uint_eq(lost->value, 30);
	ck_assert_str_eq(iaprof_profile_lost(&snapshot->profile, 1)->reason, COLLECTOR_REASON_VALUE_TYPE);
	ck_assert_uint_eq(iaprof_profile_lost(&snapshot->profile, 1)->value, 0); /* of what type nobody knows */
	ck_assert_uint_eq(collector_statistics(collector).samples, 12);
	ck_assert_uint_eq(collector_statistics(collector).definitions_refused, 0);
	snapshot_release(snapshot);
}

static void take_stall(uint32_t pid, uint64_t count, uint64_t time)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[1];
	} record = { .head = { .begin = time, .address = 0x1000, .device = 1, .pid = pid, .reason_count = 1 },
		     .counts = { count } };
	take(&record, IAPROF_RECORD_STALL_SAMPLE, sizeof record, time);
}

TEST(samples_of_devices_wait_no_longer_than_their_program)
{
	collector_free(collector);
	collector = collector_new(&(struct collector_options){ .intern = intern, .live = true, .hold = 10 * SECOND });
	take_process(10, IAPROF_PROCESS_FORK, "train", SECOND);
	take_stall(10, 5, 2 * SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, "", 2 * SECOND + 1);
	for (uint64_t second = 3; second <= 13; second++)
		take_sync(second * SECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(total_of(&snapshot->profile, "train"), 5);
	ck_assert_uint_eq(total_of(&snapshot->profile, NULL), 5);
	snapshot_release(snapshot);
}

TEST(a_value_type_too_many_is_none)
{
	collector_free(collector);
	collector = collector_new(&(struct collector_options){ .intern = intern, .live = true });
	for (uint32_t id = 1; id <= 300; id++) {
		struct iaprof_record_value_type type = { .id = 1000 + id,
							 .name = text("made up"),
							 .unit = text("count") };
		take(&type, IAPROF_RECORD_VALUE_TYPE, sizeof type, 0);
	}
	take_stall(10, 5, 2 * SECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	for (size_t i = 0; i < snapshot->profile.value_count; i++)
		ck_assert_uint_lt(iaprof_profile_value(&snapshot->profile, i)->value_type,
				  snapshot->profile.value_type_count);
	ck_assert_uint_eq(collector_statistics(collector).correlator.out_of_memory, 5);
	snapshot_release(snapshot);
}

static void count_sync(void *context, uint64_t time)
{
	++*(int *)context;
}

TEST(a_sync_that_goes_back_is_left_out)
{
	struct iaprof_record_sync record = { .header = { .size = sizeof record, .type = IAPROF_RECORD_SYNC } };
	struct iaprof_batch batch = { .records = &record, .size = sizeof record, .count = 1 };
	int count = 0;
	for (uint64_t i = 0; i < 10; i++) {
		record.header.time = i % 2 ? SECOND : 2 * SECOND + i;
		collector_take(collector, &batch, count_sync, &count);
	}
	ck_assert_int_eq(count, 5);
}

/* A capture can name any number of sources and reasons; the account of losses stays small and its sum right. */
TEST(made_up_losses_are_put_together)
{
	uint64_t sum = 0;
	for (uint32_t i = 1; i <= 3000; i++) {
		char name[32];
		snprintf(name, sizeof name, "made up %u", i);
		struct iaprof_record_source source = { .number = i, .name = text(name) };
		take(&source, IAPROF_RECORD_SOURCE, sizeof source, 0);
		struct iaprof_record_lost lost = {
			.count = i, .value = i, .value_type = CPU_TYPE, .reason = text(name)
		};
		lost.header = (struct iaprof_record){
			.size = sizeof lost, .type = IAPROF_RECORD_LOST, .source = (uint16_t)i, .time = SECOND
		};
		collector_take(collector, &(struct iaprof_batch){ .records = &lost, .size = sizeof lost, .count = 1 },
			       NULL, NULL);
		sum += i;
	}
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_le(snapshot->profile.lost_count, 1024);
	ck_assert_uint_le(snapshot->profile.stack_count, 1024);
	uint64_t counted = 0;
	for (size_t i = 0; i < snapshot->profile.lost_count; i++)
		counted += iaprof_profile_lost(&snapshot->profile, i)->count;
	ck_assert_uint_eq(counted, sum);
	ck_assert_uint_eq(total_of(&snapshot->profile, "[lost]"), sum);
	snapshot_release(snapshot);
}

/* A source uses a stack again, so that it does not expire; a replay learns of that only with the next sample. */
TEST(a_replay_keeps_stacks_for_samples_that_come_late)
{
	uint64_t address = 0x1000;
	uint32_t stack = intern_stack(intern, 10, &address, 1);
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	for (uint64_t i = 1; i <= 16; i++) {
		for (uint64_t k = 0; i > 10 && k < 20000; k++)
			take_sample(10, 0x10000 * i + k, 1, i * SECOND);
		take_sync(i * SECOND);
	}
	ck_assert_uint_eq(intern_find_stack(intern, stack).count, 1);
}

/* Samples wait longer than their stack would live without them. */
TEST(a_stack_lives_until_its_samples_are_resolved)
{
	uint64_t address = 0x1000;
	uint32_t stack = intern_stack(intern, 10, &address, 1);
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	take_sample_of(CPU_TYPE, 10, stack, 1, SECOND);
	for (uint64_t i = 1; i <= 40; i++) {
		for (uint64_t k = 0; i == 40 && k < 20000; k++)
			take_sample(10, 0x10000 + k, 1, i * SECOND);
		take_sync(i * SECOND);
	}
	ck_assert_uint_eq(intern_find_stack(intern, stack).count, 1);
	ck_assert_uint_eq(collector_statistics(collector).stacks_unknown, 0);
}

/* The mapping of this program that a function is in, as a record. */
static void take_own_mapping(uintptr_t address)
{
	struct iaprof_record_mapping record = { .pid = (uint32_t)getpid(), .flags = IAPROF_MAPPING_EXISTING };
	char line[4096 + 256], path[4096];
	uint64_t end = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof line, maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64 " %4095[^\n]", &record.start,
			   &end, &record.file_offset, &record.device_major, &record.device_minor, &record.inode,
			   path) == 7 &&
		    record.start <= address && address < end)
			break;
	fclose(maps);
	ck_assert_uint_lt(address, end);
	record.size = end - record.start;
	record.path = text(path);
	take(&record, IAPROF_RECORD_MAPPING, sizeof record, 0);
}

/* A capture chooses the paths of mappings: only a live run may open them. */
TEST_LOOP(a_replay_opens_no_mapped_file, 0, 2)
{
	bool live = _i;
	uint64_t address = (uintptr_t)&setvbuf;
	collector_free(collector);
	collector = collector_new(&(struct collector_options){ .intern = intern, .live = live });
	take_cpu_type(0);
	take_process((uint32_t)getpid(), IAPROF_PROCESS_EXISTING, "shell", 0);
	take_own_mapping(address);
	take_sample((uint32_t)getpid(), address, 9, SECOND);
	take_sync(SECOND);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(snapshot->profile.value_count, 1);
	const struct iaprof_value *value = iaprof_profile_value(&snapshot->profile, 0);
	const struct iaprof_stack *stack = iaprof_profile_stack(&snapshot->profile, value->stack);
	const char *name = iaprof_profile_frame(&snapshot->profile, stack->frames[1])->name;
	ck_assert_msg(!strcmp(name, "[unknown]") == !live, "%s", name);
	ck_assert_uint_eq(collector_statistics(collector).addresses_nameless, !live);
	snapshot_release(snapshot);
}

/* How many FRAMES records wait. */
static unsigned take_frames(void)
{
	unsigned count = 0;
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));)
			count += record->type == IAPROF_RECORD_FRAMES;
		block_release(block);
	}
	return count;
}

/* A recording that is cut off has the names of what came before. */
TEST(names_are_sent_while_the_run_goes_on)
{
	uint64_t address = (uintptr_t)&setvbuf;
	collector_free(collector);
	collector = collector_new(&(struct collector_options){ .intern = intern, .live = true, .records = true });
	take_cpu_type(0);
	take_process((uint32_t)getpid(), IAPROF_PROCESS_EXISTING, "shell", 0);
	take_own_mapping(address);
	for (uint64_t second = 1; second <= 4; second++) {
		take_sample((uint32_t)getpid(), address + second % 2, 9, second * SECOND);
		take_sync(second * SECOND);
		ck_assert_uint_eq(take_frames(), second <= 2);
	}
	collector_finish(collector);
	ck_assert_uint_eq(take_frames(), 0);
}

int main(void)
{
	return run_all_tests(300, set_up, end_collector);
}
