/* SPDX-License-Identifier: Apache-2.0 */
/* How much the collector keeps and for how long: samples, programs, stacks; names of launch stacks. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/engine.h"
#include "collector_records.h"
#include "correlator/record_store.h"
#include "../run_suite.h"

static void take_launch(uint32_t pid, uint32_t stack, uint64_t time)
{
	struct iaprof_record_launch record = { .pid = pid, .user_stack = stack, .count = 1, .first_time = time };
	take(&record, IAPROF_RECORD_LAUNCH, sizeof record, time);
}

static void start(struct collector_options options)
{
	options.intern = intern;
	collector = collector_new(&options);
	ck_assert_ptr_nonnull(collector);
	take_cpu_type(0);
}

static void set_up(void)
{
	intern = intern_new(NULL);
	ck_assert_ptr_nonnull(intern);
}

/* The sum of a program, in the profile so far. */
static uint64_t total_of(const char *program)
{
	struct snapshot *snapshot = collector_snapshot(collector, true);
	uint64_t total = 0;
	for (size_t i = 0; i < snapshot->profile.value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(&snapshot->profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(&snapshot->profile, value->stack);
		if (!strcmp(iaprof_profile_frame(&snapshot->profile, stack->frames[0])->name, program))
			total += value->value;
	}
	snapshot_release(snapshot);
	return total;
}

/* A program is known for 1 s longer than device samples may wait, but for 2 s at least. */
TEST_LOOP(a_program_is_kept_some_time_after_its_end, 0, 4)
{
	uint64_t hold = (uint64_t[]){ 10 * SECOND, SECOND + 1, SECOND, 1 }[_i];
	uint64_t kept = hold > SECOND ? hold + SECOND : 2 * SECOND;
	start((struct collector_options){ .hold = hold });
	take_process(10, IAPROF_PROCESS_FORK, "sh", SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, "", 2 * SECOND);
	take_sync(2 * SECOND + kept);
	take_sample(10, 0x1000, 1, SECOND + 1);
	take_sync(2 * SECOND + kept + 1);
	take_sample(10, 0x1000, 1, SECOND + 1);
	collector_finish(collector);
	ck_assert_uint_eq(total_of("sh"), 1);
	ck_assert_uint_eq(total_of("[unknown]"), 1);
}

/* So many samples wait for news of their process. */
TEST_LOOP(samples_that_wait_are_bounded, 0, 2)
{
	enum { ROOM = 65536 };
	start((struct collector_options){ .live = false });
	for (uint64_t i = 0; i < ROOM + (uint64_t)_i; i++)
		take_sample(10, 0x1000, 1, SECOND);
	take_process(10, IAPROF_PROCESS_EXISTING, "late", 0);
	collector_finish(collector);
	ck_assert_uint_eq(total_of("[unknown]"), _i ? ROOM : 0);
	ck_assert_uint_eq(total_of("late"), _i ? 1 : ROOM);
	ck_assert_uint_eq(collector_statistics(collector).samples, ROOM + (uint64_t)_i);
	ck_assert_uint_eq(collector_statistics(collector).attributed_early, _i ? ROOM : 0);
}

/*
 * The same number of stacks waits, with those of earlier samples, which are forgotten when there are many at a SYNC.
 */
TEST_LOOP(stacks_that_wait_are_bounded, 0, 3)
{
	enum { ROOM = 65536, MANY = 16384 };
	static const struct {
		uint64_t earlier, all, late;
	} cases[] = { { MANY - 1, ROOM, ROOM - MANY + 1 },
		      { MANY - 1, ROOM + 1, 1 },
		      { MANY, ROOM + 1, ROOM + 1 - MANY } };
	uint64_t i = 0;
	start((struct collector_options){ .live = false });
	for (; i < cases[_i].earlier; i++)
		take_sample(10, 0x1000 + i, 1, SECOND);
	take_sync(SECOND);
	for (; i < cases[_i].all; i++)
		take_sample(10, 0x1000 + i, 1, 2 * SECOND);
	take_process(10, IAPROF_PROCESS_EXISTING, "late", 0);
	collector_finish(collector);
	ck_assert_uint_eq(total_of("late"), cases[_i].late);
	ck_assert_uint_eq(total_of("[unknown]"), cases[_i].all - cases[_i].late);
	ck_assert_uint_eq(collector_statistics(collector).attributed_early,
			  cases[_i].all - cases[_i].late - cases[_i].earlier);
}

/* Those of later times keep their stack and program when others are placed, however many these are. */
TEST(later_samples_wait_for_the_next_sync)
{
	enum { STACKS = 20000, LATER = 100 };
	start((struct collector_options){ .live = false });
	take_process(10, IAPROF_PROCESS_EXISTING, "sh", 0);
	take_process(11, IAPROF_PROCESS_EXISTING, "make", 0);
	for (uint64_t i = 0; i < STACKS; i++) {
		take_sample(10, 0x1000 + i, 1, SECOND);
		if (i % (STACKS / LATER) == 0)
			take_sample(i % 1000 ? 10 : 11, 0x1000 + i, 1 + i, 3 * SECOND);
	}
	take_sync(2 * SECOND);
	take_process(10, IAPROF_PROCESS_EXEC, "cc", 2 * SECOND);
	take_sample(10, 0x1000, 1000000, 3 * SECOND);
	collector_finish(collector);
	uint64_t sums[2] = { 0 };
	for (uint64_t i = 0; i < STACKS; i += STACKS / LATER)
		sums[i % 1000 == 0] += 1 + i;
	ck_assert_uint_eq(total_of("sh"), STACKS);
	ck_assert_uint_eq(total_of("cc"), sums[0] + 1000000);
	ck_assert_uint_eq(total_of("make"), sums[1]);
}

/* One stack before and after an exec, whose samples arrive in any order. */
TEST(a_sample_is_of_the_program_of_its_time)
{
	static const uint64_t seconds[] = { 1, 3, 1, 5, 4, 2, 1 };
	start((struct collector_options){ .live = false });
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
		take_sample(10, 0x1000, 1, seconds[i] * SECOND);
	take_process(10, IAPROF_PROCESS_FORK, "one", SECOND);
	take_process(10, IAPROF_PROCESS_EXEC, "two", 2 * SECOND);
	take_process(10, IAPROF_PROCESS_EXEC, "three", 4 * SECOND);
	take_process(10, IAPROF_PROCESS_EXIT, "", 6 * SECOND);
	collector_finish(collector);
	ck_assert_uint_eq(total_of("one"), 3);
	ck_assert_uint_eq(total_of("two"), 2);
	ck_assert_uint_eq(total_of("three"), 2);
}

/* Distinct stacks, each with a sample, that are placed but not yet resolved. */
static void take_stacks(uint64_t count, uint64_t time)
{
	for (uint64_t i = 0; i < count; i++) {
		take_sample(10, 0x1000 + i, 1, time);
		if (i % 50000 == 49999)
			take_sync(time);
	}
	take_sync(time);
}

/*
 * A stack that is resolved has the name that its program had then. In a replay too many stacks are resolved without a
 * SYNC, and many with one, if it begins another second.
 */
TEST_LOOP(many_stacks_are_resolved_before_the_end, 0, 7)
{
	enum { MANY = 16384, TOO_MANY = 65536 };
	static const struct {
		uint64_t stacks;
		bool has_second, live, is_resolved;
	} cases[] = { { TOO_MANY - 1, false, false, false }, { TOO_MANY, false, false, true },
		      { TOO_MANY, false, true, false },      { MANY - 1, true, false, false },
		      { MANY, true, false, true },           { MANY, true, true, true },
		      { MANY, false, false, false } };
	uint64_t stacks = cases[_i].stacks, second = cases[_i].has_second ? SECOND : SECOND - 1;
	start((struct collector_options){ .live = cases[_i].live });
	take_process(10, IAPROF_PROCESS_EXISTING, "before", 0);
	take_stacks(stacks, SECOND / 2);
	take_sync(second);
	take_sample(10, 0x1000, 1, second);
	take_process(10, IAPROF_PROCESS_NAME, "after", second);
	collector_resolve(collector);
	ck_assert_uint_eq(total_of("before"), cases[_i].is_resolved ? stacks : 0);
	ck_assert_uint_eq(total_of("after"), cases[_i].is_resolved ? 0 : stacks);
	collector_finish(collector);
	ck_assert_uint_eq(total_of("before") + total_of("after"), stacks + 1);
}

/*
 * Where there are many stacks, one that nobody uses is good for 10 s, or for 30 s in a replay; else for ever. Stack i
 * is asked for at second i only.
 */
TEST_LOOP(stacks_live_as_long_as_promised, 0, 4)
{
	enum { MANY = 65536, SECONDS = 40 };
	bool live = _i & 1, are_many = _i & 2;
	uint32_t ids[SECONDS + 1];
	start((struct collector_options){ .live = live });
	for (uint32_t i = 0; i < (are_many ? MANY : MANY - 1u); i++) {
		uint32_t id = intern_stack(intern, 10, &(uint64_t){ 0x1000 + i }, 1);
		if (i <= SECONDS)
			ids[i] = id;
	}
	for (uint32_t second = 1; second <= SECONDS; second++) {
		take_sync(second * SECOND);
		take_sync(second * SECOND + SECOND - 1); /* begins no other second */
		bool is_kept = !are_many || second <= (live ? 10 : 30);
		ck_assert_uint_eq(intern_find_stack(intern, ids[second]).count, is_kept);
	}
}

/* Names of launch stacks */

struct named {
	uint32_t stack, pid, frame_count, size;
	uint32_t names[8];
};

/* The STACK_FRAMES records that wait. */
static size_t take_named(struct named *named)
{
	size_t count = 0;
	for (struct block *block = collector_take_results(collector), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
			const struct iaprof_record_stack_frames *frames = (const void *)record;
			if (record->type != IAPROF_RECORD_STACK_FRAMES)
				continue;
			struct named *item = &named[count++];
			*item = (struct named){ .stack = frames->stack,
						.pid = frames->pid,
						.frame_count = frames->frame_count,
						.size = record->size };
			for (uint32_t i = 0; i < frames->frame_count && i < 8; i++)
				item->names[i] = iaprof_record_stack_frames_frame(frames, i)->name;
		}
		block_release(block);
	}
	return count;
}

/* What an address of the first process is called: a function, and one that is inlined into it. */
static void take_names(uint64_t address, const char *outer, const char *inner)
{
	struct {
		struct iaprof_record_frames head;
		struct iaprof_record_frame frames[2];
	} record = { .head = { .address = address,
			       .process = 1,
			       .frame_count = inner ? 2 : 1,
			       .flags = IAPROF_FRAMES_HAVE_LINES },
		     .frames = { { .name = text(outer), .kind = IAPROF_FRAME_USER },
				 { .name = text(inner ? inner : ""),
				   .kind = IAPROF_FRAME_USER,
				   .flags = IAPROF_FRAME_INLINED } } };
	take(&record, IAPROF_RECORD_FRAMES,
	     sizeof record.head + record.head.frame_count * sizeof(struct iaprof_record_frame), 0);
}

TEST(launch_stacks_have_all_their_frames)
{
	static const uint64_t addresses[] = { 0x1000, 0x2000, 0x3000 };
	static const char *const names[] = { "main", "train", "step", "launch" };
	struct named named[4];
	start((struct collector_options){ .records = true, .lines = true });
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	take_names(0x1000, "launch", NULL);
	take_names(0x1fff, "train", "step"); /* return addresses are one behind the call */
	take_names(0x2fff, "main", NULL);
	uint32_t deep = intern_stack(intern, 10, addresses, 3), flat = intern_stack(intern, 10, addresses, 1);
	take_launch(10, deep, SECOND);
	take_launch(10, flat, SECOND + 1);
	take_launch(10, 0, SECOND);    /* none */
	take_launch(10, 4711, SECOND); /* nobody defined it */
	take_sync(SECOND);
	ck_assert_uint_eq(take_named(named), 1);
	ck_assert_uint_eq(named[0].stack, deep);
	ck_assert_uint_eq(named[0].pid, 10);
	ck_assert_uint_eq(named[0].frame_count, 4);
	ck_assert_uint_eq(named[0].size,
			  sizeof(struct iaprof_record_stack_frames) + 4 * sizeof(struct iaprof_record_frame));
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_str_eq(intern_text(intern, named[0].names[i]), names[i]);
	ck_assert_uint_eq(collector_statistics(collector).event_stacks_missed, 1);
	take_sync(SECOND + 1);
	ck_assert_uint_eq(take_named(named), 1);
	ck_assert_uint_eq(named[0].stack, flat);
	ck_assert_uint_eq(named[0].frame_count, 1);
	ck_assert_str_eq(intern_text(intern, named[0].names[0]), "launch");
	ck_assert_uint_eq(collector_statistics(collector).event_stacks_missed, 1);
}

/* A stack has as many frames as a record; the innermost ones are left out. */
TEST(frames_of_a_launch_stack_are_bounded)
{
	enum { DEPTH = IAPROF_STACK_DEPTH_MAX };
	uint64_t addresses[DEPTH];
	struct named named[4];
	start((struct collector_options){ .records = true, .lines = true });
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	for (uint64_t i = 0; i < DEPTH; i++) {
		addresses[i] = 0x1000 + 2 * i;
		take_names(addresses[i] - (i > 0), "f", i ? "g" : NULL);
	}
	take_launch(10, intern_stack(intern, 10, addresses, DEPTH), SECOND);
	take_sync(SECOND);
	ck_assert_uint_eq(take_named(named), 1);
	ck_assert_uint_eq(named[0].frame_count, 2 * DEPTH - 1 < IAPROF_STACK_FRAMES_COUNT_MAX
							? 2 * DEPTH - 1
							: IAPROF_STACK_FRAMES_COUNT_MAX);
	ck_assert_str_eq(intern_text(intern, named[0].names[0]), "f");
	ck_assert_str_eq(intern_text(intern, named[0].names[1]), "g");
}

/* Launches wait for the processes of their time, as many as there is room for; then the older half is early. */
TEST(launches_that_wait_are_bounded)
{
	enum { ROOM = RECORD_STORE_SIZE_MAX / sizeof(struct iaprof_record_launch) };
	uint32_t half = RECORD_STORE_SIZE_MAX / 2 / sizeof(struct iaprof_record_launch);
	uint32_t stack = intern_stack(intern, 10, &(uint64_t){ 0x1000 }, 1);
	struct named named[4];
	start((struct collector_options){ .records = true });
	for (uint64_t i = 0; i < ROOM; i++)
		take_launch(10, stack, SECOND);
	ck_assert_uint_eq(collector_statistics(collector).attributed_early, 0);
	ck_assert_uint_eq(take_named(named), 0);
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	take_launch(10, stack, SECOND);
	ck_assert_uint_eq(collector_statistics(collector).attributed_early, half);
	ck_assert_uint_eq(take_named(named), 1);
	take_sync(SECOND);
	ck_assert_uint_eq(collector_statistics(collector).attributed_early, half);
	ck_assert_uint_eq(collector_statistics(collector).event_stacks_missed, 0);
}

/* A stack is named once, until so many others came that it may be named again. */
TEST(named_launch_stacks_are_bounded)
{
	enum { ROOM = 262144 };
	start((struct collector_options){ .records = true });
	for (uint32_t i = 1; i <= ROOM; i++) {
		take_launch(10, i, SECOND);
		if (i % 65536 == 0)
			take_sync(SECOND);
	}
	ck_assert_uint_eq(collector_statistics(collector).event_stacks_missed, ROOM);
	for (uint32_t i = 1; i <= ROOM; i += ROOM / 4 - 1)
		take_launch(10, i, SECOND);
	take_sync(SECOND);
	ck_assert_uint_eq(collector_statistics(collector).event_stacks_missed, ROOM);
	take_launch(10, ROOM + 1, SECOND);
	for (uint32_t i = 0; i < 2; i++) {
		take_launch(10, 1, SECOND);
		take_launch(10, ROOM + 1, SECOND);
	}
	take_sync(SECOND);
	ck_assert_uint_eq(collector_statistics(collector).event_stacks_missed, ROOM + 2);
}

/* Where no sink reads records there are no results. */
TEST(names_are_for_sinks_that_read_records)
{
	start((struct collector_options){ .records = false });
	take_process(10, IAPROF_PROCESS_EXISTING, "shell", 0);
	take_launch(10, intern_stack(intern, 10, &(uint64_t){ 0x1000 }, 1), SECOND);
	take_launch(10, 4711, SECOND);
	take_sync(SECOND);
	collector_finish(collector);
	ck_assert_ptr_null(collector_take_results(collector));
	ck_assert_uint_eq(collector_statistics(collector).event_stacks_missed, 0);
}

/* What a stack consists of */

/* The names and kinds of a stack's frames, "shell/P f/U". */
static void describe(const struct iaprof_profile *profile, uint32_t index, char *text, size_t size)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, index);
	size_t length = 0;
	*text = '\0';
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		length += (size_t)snprintf(text + length, size - length, "%s%s/%c", i ? " " : "", frame->name,
					   frame->kind == IAPROF_FRAME_PROCESS        ? 'P'
					   : frame->kind == IAPROF_FRAME_USER         ? 'U'
					   : frame->kind == IAPROF_FRAME_LINUX_KERNEL ? 'K'
										      : '?');
		ck_assert_uint_lt(length, size);
	}
}

/*
 * What a sample knows of its stacks. _i & 1: its program has ended and was forgotten before the stack is asked for; _i
 * & 2: programs are told apart by pid.
 */
TEST_LOOP(stacks_say_what_is_missing, 0, 4)
{
	enum { USER = 1, KERNEL = 2, NAME = 4, STRANGER = 8 };
	static const struct {
		unsigned has;
		uint32_t flags;
		const char *stack;
	} cases[] = {
		{ 0, 0, "shell/P" },
		{ 0, IAPROF_SAMPLE_USER_STACK_MISSING, "shell/P [unknown]/U" },
		{ 0, IAPROF_SAMPLE_KERNEL_STACK_MISSING, "shell/P [unknown]/K" },
		{ USER, IAPROF_SAMPLE_USER_STACK_MISSING, "shell/P main/U" },
		{ USER, IAPROF_SAMPLE_KERNEL_STACK_MISSING, "shell/P main/U [unknown]/K" },
		{ USER, IAPROF_SAMPLE_TRUNCATED, "shell/P [truncated]/U main/U" },
		{ USER | KERNEL, IAPROF_SAMPLE_TRUNCATED, "shell/P [truncated]/U main/U schedule/K" },
		{ USER, IAPROF_SAMPLE_NO_UNWIND_TABLE, "shell/P [no unwind table]/U main/U" },
		{ USER | KERNEL, IAPROF_SAMPLE_STACK_UNREADABLE, "shell/P [stack not readable]/U main/U schedule/K" },
		{ 0, IAPROF_SAMPLE_STACK_UNREADABLE | IAPROF_SAMPLE_USER_STACK_MISSING,
		  "shell/P [stack not readable]/U" },
		{ KERNEL, IAPROF_SAMPLE_KERNEL_STACK_MISSING, "shell/P schedule/K" },
		{ KERNEL, IAPROF_SAMPLE_USER_STACK_MISSING, "shell/P [unknown]/U schedule/K" },
		{ NAME | USER | KERNEL, 0, "thread/P main/U schedule/K" },
		{ NAME, 0, "thread/P" },
		{ STRANGER, 0, "[unknown]/P" },
		{ STRANGER | NAME, 0, "thread/P" },
		{ STRANGER | USER, 0, "[unknown]/P [unknown]/U" },
	};
	enum { COUNT = sizeof cases / sizeof *cases };
	bool has_ended = _i & 1, by_pid = _i & 2;
	start((struct collector_options){ .pids = by_pid });
	take_process(10, IAPROF_PROCESS_FORK, "shell", 1);
	take_names(0x1000, "main", NULL);
	struct {
		struct iaprof_record_frames head;
		struct iaprof_record_frame frame;
	} kernel = { .head = { .address = UINT64_MAX, .frame_count = 1 },
		     .frame = { .name = text("schedule"), .kind = IAPROF_FRAME_LINUX_KERNEL } };
	take(&kernel, IAPROF_RECORD_FRAMES, sizeof kernel, 0);
	for (uint64_t i = 0; i < COUNT; i++) {
		struct iaprof_record_sample record = {
			.pid = cases[i].has & STRANGER ? 99 : 10,
			.user_stack = cases[i].has & USER ? intern_stack(intern, 10, &(uint64_t){ 0x1000 }, 1) : 0,
			.kernel_stack =
				cases[i].has & KERNEL ? intern_stack(intern, 0, &(uint64_t){ UINT64_MAX }, 1) : 0,
			.name = cases[i].has & NAME ? text("thread") : 0,
			.value_type = 42,
			.count = 1,
			.value = UINT64_C(1) << i,
			.flags = cases[i].flags,
		};
		take(&record, IAPROF_RECORD_SAMPLE, sizeof record, SECOND + i);
	}
	if (has_ended) {
		take_process(10, IAPROF_PROCESS_EXIT, "", 2 * SECOND);
		take_sync(3 * SECOND);
		take_sync(30 * SECOND);
		take_process(10, IAPROF_PROCESS_FORK, "other", 31 * SECOND);
	}
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_profile *profile = &snapshot->profile;
	uint64_t seen = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		char stack[256];
		describe(profile, value->stack, stack, sizeof stack);
		for (size_t k = 0; k < COUNT; k++)
			if (value->value >> k & 1) {
				uint32_t pid = cases[k].has & STRANGER ? 99 : 10;
				ck_assert_msg(!strcmp(stack, cases[k].stack), "%zu: %s", k, stack);
				const struct iaprof_stack *of = iaprof_profile_stack(profile, value->stack);
				ck_assert_uint_eq(iaprof_profile_frame(profile, of->frames[0])->pid, by_pid ? pid : 0);
			}
		seen += value->value;
	}
	ck_assert_uint_eq(seen, (UINT64_C(1) << COUNT) - 1);
	snapshot_release(snapshot);
}

/* Facts of the run */

TEST(program_images_are_counted)
{
	start((struct collector_options){ .live = false });
	take_process(10, IAPROF_PROCESS_EXISTING, "a", 0);
	take_process(11, IAPROF_PROCESS_FORK, "b", 1);
	take_process(11, IAPROF_PROCESS_EXEC, "c", 2);
	take_process(11, IAPROF_PROCESS_NAME, "d", 3);
	take_process(11, IAPROF_PROCESS_EXIT, "", 4);
	ck_assert_uint_eq(collector_statistics(collector).processes, 3);
	ck_assert_uint_eq(collector_statistics(collector).records, 1 + 5);
}

/* A loss whose count nobody knows still has its value in the profile; one of no value type has none. */
TEST(losses_are_in_the_profile_by_value)
{
	start((struct collector_options){ .time_resolution = SECOND });
	struct iaprof_record_lost lost = { .begin = 3 * SECOND,
					   .count = IAPROF_COUNT_UNKNOWN,
					   .value = 50,
					   .value_type = 42,
					   .reason = text("full") };
	take(&lost, IAPROF_RECORD_LOST, sizeof lost, 5 * SECOND);
	lost.value_type = 0;
	lost.count = 7;
	take(&lost, IAPROF_RECORD_LOST, sizeof lost, 6 * SECOND);
	ck_assert_uint_eq(collector_lost_count(collector), 7);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(snapshot->profile.value_count, 1);
	const struct iaprof_value *value = iaprof_profile_value(&snapshot->profile, 0);
	const struct iaprof_stack *stack = iaprof_profile_stack(&snapshot->profile, value->stack);
	static const char *const names[] = { "[lost]", "[unknown source]", "full" };
	ck_assert_uint_eq(value->value, 50);
	ck_assert_uint_eq(value->count, 0);
	ck_assert_uint_eq(stack->frame_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(&snapshot->profile, stack->frames[i]);
		ck_assert_str_eq(frame->name, names[i]);
		ck_assert_uint_eq(frame->kind, IAPROF_FRAME_LOST);
	}
	/* Half of it in each of its two seconds. */
	ck_assert_uint_eq(snapshot->profile.time_count, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(iaprof_profile_time(&snapshot->profile, i)->time, (3 + i) * SECOND);
		ck_assert_uint_eq(iaprof_profile_time(&snapshot->profile, i)->value, 25);
		ck_assert_uint_eq(iaprof_profile_time(&snapshot->profile, i)->stack, value->stack);
	}
	ck_assert_uint_eq(snapshot->profile.lost_count, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(iaprof_profile_lost(&snapshot->profile, i)->begin, 3 * SECOND);
		ck_assert_uint_eq(iaprof_profile_lost(&snapshot->profile, i)->end, (5 + i) * SECOND);
		ck_assert_uint_eq(iaprof_profile_lost(&snapshot->profile, i)->unknown, !i);
	}
	snapshot_release(snapshot);
	/* They are not those of the next interval. */
	collector_begin_interval(collector);
	snapshot = collector_snapshot(collector, false);
	ck_assert_uint_eq(snapshot->profile.lost_count + snapshot->profile.value_count, 0);
	snapshot_release(snapshot);
}

/* Each kind of record is in the table where it belongs. */
TEST(records_are_in_their_tables)
{
	struct {
		struct iaprof_record_histogram head;
		uint64_t buckets[2];
	} histogram = {
		.head = { .name = text("latency"), .unit = text("ns"), .count = 3, .sum = 4, .bucket_count = 2 },
		.buckets = { 1, 2 }
	};
	struct iaprof_record_job job = { .submitted = 10, .queued = 20, .started = 30, .state = IAPROF_JOB_DONE };
	struct iaprof_record_finding finding = { .name = text("slow"), .text = text("it is slow") };
	struct iaprof_record_counter counter = { .id = 1, .name = text("kernel-side-time") };
	struct iaprof_record_counter_value value = { .counter = 1, .value = 1234 };
	struct iaprof_record_call_function function = { .id = 1, .name = text("zeInit") };
	struct iaprof_record_call_node node = { .id = 1, .function = 1 };
	struct iaprof_record_call call = { .count = 2, .duration = 7, .self_duration = 5, .node = 1 };
	struct iaprof_record_source source = { .number = 1, .name = text("driver") };
	start((struct collector_options){ .activity = true });
	take(&source, IAPROF_RECORD_SOURCE, sizeof source, 1);
	take(&histogram, IAPROF_RECORD_HISTOGRAM, sizeof histogram, 40);
	take(&job, IAPROF_RECORD_JOB, sizeof job, 40);
	take(&finding, IAPROF_RECORD_FINDING, sizeof finding, 40);
	take(&counter, IAPROF_RECORD_COUNTER, sizeof counter, 40);
	take(&value, IAPROF_RECORD_COUNTER_VALUE, sizeof value, 40);
	take(&function, IAPROF_RECORD_CALL_FUNCTION, sizeof function, 40);
	take(&node, IAPROF_RECORD_CALL_NODE, sizeof node, 40);
	take(&call, IAPROF_RECORD_CALL, sizeof call, 40);
	ck_assert_uint_eq(collector_histograms(collector)->items.count, 3); /* with the two of jobs */
	ck_assert_str_eq(collector_histograms(collector)->items.items[0].name, "latency");
	ck_assert_uint_eq(collector_histograms(collector)->items.items[0].count, 3);
	ck_assert_uint_eq(collector_histograms(collector)->jobs_done, 1);
	ck_assert_uint_eq(collector_findings(collector)->items.count, 1);
	ck_assert_uint_eq(collector_calls(collector)->functions.items[0].sums.duration, 7);
	ck_assert_uint_eq(collector_calls(collector)->nodes.items[0].sums.count, 2);
	ck_assert_uint_eq(collector_statistics(collector).kernel_side_time, 1234);
	ck_assert_uint_eq(collector_statistics(collector).definitions_refused, 0);
	collector_finish(collector);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	const struct iaprof_activity *activity = snapshot->profile.activity;
	ck_assert_ptr_nonnull(activity);
	ck_assert_uint_eq(activity->histogram_count, 3);
	ck_assert_str_eq(iaprof_activity_histogram(activity, 0)->source, "driver");
	ck_assert_uint_eq(activity->finding_count, 1);
	ck_assert_uint_eq(activity->counter_count, 1);
	ck_assert_uint_eq(activity->node_count, 1);
	ck_assert_uint_eq(activity->track_count, 2);
	ck_assert_uint_eq(activity->jobs_done, 1);
	snapshot_release(snapshot);
}

/* A record is evaluated only as its own type: no other type's effects appear. */
TEST(records_are_no_others)
{
	start((struct collector_options){ .live = false });
	struct iaprof_record_source source = { .number = 1, .name = text("driver") };
	struct iaprof_record_metadata metadata = { .key = text("key"), .value = text("value") };
	struct iaprof_record_value_type type = { .id = 7, .name = text("gpu"), .unit = text("count") };
	struct iaprof_record_process process = { .pid = 10, .event = IAPROF_PROCESS_EXISTING };
	struct iaprof_record_mapping mapping = { .pid = 10, .start = 0x1000, .size = 1, .path = text("/lib/a") };
	struct iaprof_record_launch launch = { .pid = 10, .kernel = 1, .count = 100 };
	struct iaprof_record_device device = { .id = 1, .name = text("GPU") };
	struct iaprof_record_code_object object = { .id = 1, .pid = 10 };
	struct iaprof_record_code_object_unload unload = { .id = 1, .pid = 10 };
	struct iaprof_record_kernel kernel = { .id = 1, .pid = 10 };
	struct iaprof_record_lost lost = { .count = 5, .reason = text("full") };
	take(&source, IAPROF_RECORD_SOURCE, sizeof source, 1);
	take(&metadata, IAPROF_RECORD_METADATA, sizeof metadata, 1);
	take(&type, IAPROF_RECORD_VALUE_TYPE, sizeof type, 1);
	take(&process, IAPROF_RECORD_PROCESS, sizeof process, 1);
	take(&mapping, IAPROF_RECORD_MAPPING, sizeof mapping, 1);
	take_sample(10, 0x1000, 1, 2);
	take(&launch, IAPROF_RECORD_LAUNCH, sizeof launch, 2);
	take(&lost, IAPROF_RECORD_LOST, sizeof lost, 2);
	take(&device, IAPROF_RECORD_DEVICE, sizeof device, 2);
	for (int i = 0; i < 2; i++)
		take(&object, IAPROF_RECORD_CODE_OBJECT, sizeof object, 2);
	take(&unload, IAPROF_RECORD_CODE_OBJECT_UNLOAD, sizeof unload, 2);
	for (int i = 0; i < 4; i++)
		take(&kernel, IAPROF_RECORD_KERNEL, sizeof kernel, 2);
	/* As one of a module this would have the path and a build id of 4 bytes. */
	take_names(UINT64_C(4) << 32 | text("/lib/a"), "f", NULL);
	collector_finish(collector);
	struct collector_statistics statistics = collector_statistics(collector);
	ck_assert_uint_eq(statistics.processes, 1);
	ck_assert_uint_eq(statistics.samples, 1);
	ck_assert_uint_eq(statistics.device.launches, 100);
	ck_assert_uint_eq(statistics.device.code_objects, 2);
	ck_assert_uint_eq(statistics.device.kernels, 4);
	ck_assert_uint_eq(statistics.definitions_refused, 0);
	ck_assert_uint_eq(collector_lost_count(collector), 5);
	ck_assert_uint_eq(collector_findings(collector)->items.count, 0);
	ck_assert_uint_eq(collector_histograms(collector)->items.count, 0);
	struct snapshot *snapshot = collector_snapshot(collector, true);
	ck_assert_uint_eq(snapshot->profile.value_type_count, 2);
	ck_assert_uint_eq(snapshot->profile.value_count, 1);
	ck_assert_uint_eq(snapshot->profile.lost_count, 1);
	ck_assert_str_eq(iaprof_profile_lost(&snapshot->profile, 0)->source, "driver");
	ck_assert_uint_eq(snapshot->profile.module_count, 0);
	ck_assert_str_eq(snapshot->profile.metadata[0], "key");
	ck_assert_str_eq(snapshot->profile.metadata[1], "value");
	ck_assert_ptr_null(snapshot->profile.metadata[2]);
	/* No sink requested it. */
	const struct iaprof_activity *activity = snapshot->profile.activity;
	ck_assert_uint_eq(activity->function_count + activity->histogram_count + activity->finding_count, 0);
	ck_assert_uint_eq(activity->counter_count + activity->track_count, 0);
	snapshot_release(snapshot);
	snapshot = collector_snapshot(collector, false);
	ck_assert_ptr_null(snapshot->profile.activity);
	snapshot_release(snapshot);
}

TEST(the_realtime_offset_is_that_of_the_metadata)
{
	start((struct collector_options){ .live = false });
	ck_assert_uint_eq(collector_realtime_offset(collector), 0);
	struct iaprof_record_metadata metadata = { .key = text(METADATA_REALTIME_OFFSET),
						   .value = text("1700000000123456789") };
	take(&metadata, IAPROF_RECORD_METADATA, sizeof metadata, 0);
	ck_assert_uint_eq(collector_realtime_offset(collector), UINT64_C(1700000000123456789));
}

int main(void)
{
	return run_all_tests(0, set_up, end_collector);
}
