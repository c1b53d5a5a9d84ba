/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line tables, strings, and the merging of native and Python frames (lib/bpf/python_code.h, python_stacks.h), also in
 * stacks that were copied (plugins/cpu-stack/copied_stacks.h).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/python_code.h"
#include "bpf/python_stacks.h"
#include "../../plugins/cpu-stack/copied_stacks.h"
#include "../run_suite.h"

static uint32_t line(uint32_t format, const uint8_t *table, size_t size, int32_t position)
{
	return python_line_find(format, table, size, 10, position);
}
#define LINE(format, table, position) line(IAPROF_PYTHON_LINES_##format, table, sizeof table, position)

TEST(notab)
{
	static const uint8_t table[] = { 0, 1, 8, 2, 6, 253, 2, 0 };
	ck_assert_uint_eq(LINE(NOTAB, table, 0), 11);
	ck_assert_uint_eq(LINE(NOTAB, table, 7), 11);
	ck_assert_uint_eq(LINE(NOTAB, table, 8), 13);
	ck_assert_uint_eq(LINE(NOTAB, table, 14), 10);
	ck_assert_uint_eq(LINE(NOTAB, table, -2), 10);
}

TEST(table_of_ranges)
{
	static const uint8_t table[] = { 4, 1, 2, 128, 6, 1, 2, 254 };
	ck_assert_uint_eq(LINE(TABLE, table, 0), 11);
	ck_assert_uint_eq(LINE(TABLE, table, 4), 0);
	ck_assert_uint_eq(LINE(TABLE, table, 6), 12);
	ck_assert_uint_eq(LINE(TABLE, table, 12), 10);
	ck_assert_uint_eq(LINE(TABLE, table, 14), 0);
}

/* No columns, 2 units, +3; one line, +1; none, 8 units; long, -4; short. */
static const uint8_t locations[] = { 0xe9, 6, 0xd8, 0, 0, 0xff, 0xf0, 9, 0, 0, 0, 0x80, 0 };

TEST(table_of_locations)
{
	ck_assert_uint_eq(LINE(LOCATIONS, locations, 0), 13);
	ck_assert_uint_eq(LINE(LOCATIONS, locations, 2), 13);
	ck_assert_uint_eq(LINE(LOCATIONS, locations, 4), 14);
	ck_assert_uint_eq(LINE(LOCATIONS, locations, 6), 0);
	ck_assert_uint_eq(LINE(LOCATIONS, locations, 20), 0);
	ck_assert_uint_eq(LINE(LOCATIONS, locations, 22), 10);
	ck_assert_uint_eq(LINE(LOCATIONS, locations, 24), 10);
	ck_assert_uint_eq(LINE(LOCATIONS, locations, 26), 0);
	ck_assert_uint_eq(LINE(LOCATIONS, locations, -2), 10);
	ck_assert_uint_eq(line(77, locations, sizeof locations, 0), 0);
}

/* 70 is 6 and 1 in pieces of 6 bits; its half is the difference. */
TEST(large_numbers)
{
	static const uint8_t table[] = { 0xe8, 0x40 | 6, 1 };
	ck_assert_uint_eq(LINE(LOCATIONS, table, 0), 10 + 35);
}

static void check_text(uint32_t width, const void *bytes, uint32_t size, uint64_t length, const char *wanted)
{
	const struct python_text text = { .character = width, .bytes = size, .length = length };
	struct text made = { 0 };
	python_text_append(&made, &text, bytes);
	ck_assert_str_eq(text_string(&made), wanted);
	text_free(&made);
}

TEST(strings)
{
	check_text(1, "gr\xf6\xdf", 4, 4, "gr\u00f6\u00df");
	check_text(2, u"\u5927a", 4, 2, "\u5927a");
	check_text(4, U"\U0001f40d\xd800\x110000", 12, 3, "\U0001f40d??");
	check_text(1, "cut", 3, 9, "cut...");
	check_text(3, "none", 4, 1, "");
}

TEST(sizes_of_copies)
{
	struct python_code *code = calloc(1, sizeof *code);
	size_t head = offsetof(struct python_code, lines);
	ck_assert_ptr_nonnull(code);
	code->line_bytes = 5;
	ck_assert(python_code_is_valid(code, head + 5));
	ck_assert(!python_code_is_valid(code, head + 4));
	code->name.bytes = PYTHON_NAME_BYTES + 1;
	ck_assert(!python_code_is_valid(code, head + 5));
	code->name.bytes = 0;
	code->file.bytes = PYTHON_FILE_BYTES + 1;
	ck_assert(!python_code_is_valid(code, head + 5));
	free(code);
}

/* A host whose ids of frames are what the test reads: the line, or 99 for a frame of another name than "f". */
static uint32_t intern_string(const struct iaprof_host *host, const char *text, size_t length)
{
	return length == 1 && *text == 'f' ? 1 : 2;
}

static uint32_t intern_frame(const struct iaprof_host *host, const struct iaprof_named_frame *frame)
{
	return frame->name == 1 && frame->kind == IAPROF_FRAME_PYTHON ? frame->line : 99;
}

#define PROCESS 7u
#define EXECUTION 3u
/* The interpreter is at 0x1000 to 0x2000, its loop at 0x1100 to 0x1200. */
#define LOOP 0x1180
#define CALLER 0x1800
#define OTHER 0x5000
#define SWITCH 0x7000 /* in the module greenlet */
#define NAMED(line) (IAPROF_STACK_NAMED_FRAME | (line))

/* Frame of the function f whose code object is at 0x100 * n, in line 10 + n. */
#define FRAME(n, flags) PYTHON_FRAME | (flags), 0x100 * (n)
#define BEGINS PYTHON_FRAME_BEGINS

/* Makes an interpreter with the functions of FRAME(1) to FRAME(4). */
static struct python_stacks stacks_new(const struct iaprof_host *host, enum python_choice choice)
{
	struct python_stacks stacks = { .host = host, .choice = choice };
	const struct python_target target = { .key = PROCESS,
					      .execution = EXECUTION,
					      .image = { 0x1000, 0x2000 },
					      .loop = { 0x1100 },
					      .loop_end = { 0x1200 },
					      .greenlet = { 0x7000, 0x7100 } };
	ck_assert_uint_ne(keyed_array_add(&stacks.targets, &target), POSITION_NONE);
	struct python_code *code = calloc(1, sizeof *code);
	ck_assert_ptr_nonnull(code);
	*code = (struct python_code){ .execution = EXECUTION,
				      .process = PROCESS,
				      .name = { .character = 1, .bytes = 1, .length = 1 },
				      .file = { .character = 1, .bytes = 1, .length = 1 },
				      .name_bytes = "f",
				      .file_bytes = "p",
				      .line_format = IAPROF_PYTHON_LINES_LOCATIONS,
				      .line_bytes = 2,
				      .lines = { 0xe8, 0 } };
	for (uint32_t n = 1; n <= 4; n++) {
		code->code = 0x100 * n;
		code->first_line = (int32_t)(10 + n);
		python_stacks_add(&stacks, code, sizeof *code);
	}
	free(code);
	return stacks;
}

static void check_merged(enum python_choice choice, bool is_complete, const uint64_t *elements, uint32_t depth,
			 const uint64_t *wanted, uint32_t count)
{
	const struct iaprof_host host = { .intern_string = intern_string, .intern_frame = intern_frame };
	struct python_stacks stacks = stacks_new(&host, choice);
	uint64_t merged[IAPROF_STACK_DEPTH_MAX];
	uint32_t flags = is_complete ? 0 : STACK_UNREADABLE;
	ck_assert_uint_eq(python_stacks_merge(&stacks, PROCESS, EXECUTION, &flags, elements, depth, merged), count);
	for (uint32_t i = 0; i < count; i++)
		ck_assert_uint_eq(merged[i], wanted[i]);
	python_stacks_free(&stacks);
}
#define CHECK_MERGED(choice, is_complete, elements, ...)                                                               \
	do {                                                                                                           \
		const uint64_t wanted_[] = { __VA_ARGS__ };                                                            \
		check_merged(choice, is_complete, elements, sizeof elements / sizeof *elements, wanted_,               \
			     sizeof wanted_ / sizeof *wanted_);                                                        \
	} while (0)

/* The innermost call of the loop has two functions; the other one is behind another library. */
static const uint64_t nested[] = { OTHER,  LOOP,       CALLER,           OTHER + 1,   CALLER,          LOOP,
				   CALLER, CALLER + 1, FRAME(1, BEGINS), FRAME(2, 0), FRAME(3, BEGINS) };

TEST(mixed)
{
	CHECK_MERGED(PYTHON_MIXED, true, nested, OTHER, NAMED(11), NAMED(12), OTHER + 1, NAMED(13), CALLER + 1);
}

/* The BPF program found the native frames of groups: the innermost call has no function yet, or none any more. */
#define IN_CALL(n, flags, call) PYTHON_FRAME | (flags), 0x100 * (n) | ((call) + 1ull) << PYTHON_CALL_SHIFT
TEST(groups_have_the_calls_that_were_found)
{
	static const uint64_t elements[] = { LOOP,
					     CALLER,
					     LOOP,
					     OTHER,
					     LOOP,
					     OTHER + 1,
					     LOOP,
					     CALLER,
					     IN_CALL(1, BEGINS, 2),
					     FRAME(2, 0),
					     IN_CALL(3, BEGINS, 6) };
	CHECK_MERGED(PYTHON_MIXED, true, elements, LOOP, CALLER, NAMED(11), NAMED(12), OTHER, OTHER + 1, NAMED(13),
		     CALLER);
	/* A call that is not one of the loop is not believed. */
	static const uint64_t forged[] = { OTHER, LOOP, OTHER + 1, IN_CALL(1, BEGINS, 2) };
	CHECK_MERGED(PYTHON_MIXED, true, forged, OTHER, NAMED(11), OTHER + 1);
	static const uint64_t beyond[] = { OTHER, LOOP, OTHER + 1, IN_CALL(1, BEGINS, 900) };
	CHECK_MERGED(PYTHON_MIXED, true, beyond, OTHER, NAMED(11), OTHER + 1);
}

/* The interpreter that is last in the list of interpreters was entered last. */
TEST(interpreters_enter_each_other)
{
	static const uint64_t elements[] = {
		LOOP, OTHER, LOOP, OTHER + 1, IN_CALL(1, BEGINS, 2), IN_CALL(2, BEGINS, 0)
	};
	CHECK_MERGED(PYTHON_MIXED, true, elements, NAMED(12), OTHER, NAMED(11), OTHER + 1);
}

/* Frames outside of the module that switches belong to other greenlets, whether or not the stack could be unwound. */
TEST(a_greenlet_ends_where_it_was_started)
{
	static const uint64_t elements[] = { LOOP,   CALLER, LOOP, SWITCH, SWITCH + 1,
					     CALLER, LOOP,   LOOP, OTHER,  FRAME(1, BEGINS) };
	CHECK_MERGED(PYTHON_MIXED, true, elements, LOOP, CALLER, NAMED(11), SWITCH, SWITCH + 1, NAMED(99));
	CHECK_MERGED(PYTHON_MIXED, false, elements, LOOP, CALLER, NAMED(11), SWITCH, SWITCH + 1, NAMED(99));
	/* About to switch to another greenlet: the innermost frames are in the module, too. */
	static const uint64_t leaves[] = { SWITCH, CALLER, LOOP, OTHER, FRAME(1, BEGINS) };
	CHECK_MERGED(PYTHON_MIXED, true, leaves, SWITCH, CALLER, NAMED(11), OTHER);
}

TEST(python_alone)
{
	CHECK_MERGED(PYTHON_ONLY, true, nested, NAMED(11), NAMED(12), NAMED(13));
}

/* The innermost call of the loop has just begun. */
TEST(call_without_frames)
{
	static const uint64_t elements[] = { LOOP, CALLER, LOOP, OTHER, FRAME(1, BEGINS) };
	CHECK_MERGED(PYTHON_MIXED, true, elements, LOOP, CALLER, NAMED(11), OTHER);
	CHECK_MERGED(PYTHON_MIXED, false, elements, NAMED(11), OTHER);
}

/* A native stack that ends early is followed by the Python frames that it did not reach. */
TEST(early_end)
{
	static const uint64_t elements[] = { OTHER, LOOP, FRAME(1, BEGINS), FRAME(2, BEGINS) };
	CHECK_MERGED(PYTHON_MIXED, false, elements, OTHER, NAMED(11), NAMED(12));
	static const uint64_t stale[] = { OTHER, OTHER + 1, FRAME(1, BEGINS) };
	CHECK_MERGED(PYTHON_MIXED, true, stale, OTHER, OTHER + 1);
}

TEST(unknown)
{
	static const uint64_t elements[] = { LOOP, OTHER, FRAME(9, BEGINS) };
	CHECK_MERGED(PYTHON_MIXED, true, elements, NAMED(99), OTHER);
	static const uint64_t layout[] = { LOOP, OTHER, PYTHON_FRAME | BEGINS, PYTHON_CODE_UNKNOWN_LAYOUT };
	CHECK_MERGED(PYTHON_MIXED, true, layout, NAMED(99), OTHER);
	static const uint64_t native[] = { LOOP, OTHER };
	CHECK_MERGED(PYTHON_MIXED, true, native, LOOP, OTHER);
}

#define SAMPLES_MAX 2
struct copies_host {
	struct iaprof_host host; /* first */
	uint64_t elements[8];
	uint32_t depth;
	uint32_t stacks[SAMPLES_MAX], flags[SAMPLES_MAX]; /* of the samples that were sent */
	uint32_t samples;
};

static uint32_t intern_stack(const struct iaprof_host *host, uint32_t pid, const uint64_t *elements, size_t depth)
{
	struct copies_host *copies = (struct copies_host *)host;
	ck_assert_uint_eq(pid, PROCESS);
	ck_assert_uint_le(depth, 8);
	memcpy(copies->elements, elements, depth * sizeof *elements);
	copies->depth = (uint32_t)depth;
	return 42;
}

static uint64_t clock_of_test(const struct iaprof_host *host)
{
	return 1000;
}

static int emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	struct copies_host *copies = (struct copies_host *)host;
	const struct iaprof_record_sample *samples = (const void *)batch->records;
	ck_assert_uint_eq(batch->count, SAMPLES_MAX);
	ck_assert_uint_eq(batch->size, SAMPLES_MAX * sizeof *samples);
	for (; copies->samples < SAMPLES_MAX; copies->samples++) {
		copies->stacks[copies->samples] = samples[copies->samples].user_stack;
		copies->flags[copies->samples] = samples[copies->samples].flags;
	}
	return 0;
}

/* Python frames come with the sample, addresses from its copy. One copy was unwound to its end, the other was not. */
TEST(copied_stacks)
{
	struct copies_host copies = { .host = { .intern_string = intern_string,
						.intern_frame = intern_frame,
						.intern_stack = intern_stack,
						.clock = clock_of_test,
						.emit = emit } };
	struct python_stacks python = stacks_new(&copies.host, PYTHON_MIXED);
	struct copied_stacks stacks = { .host = &copies.host, .python = &python };
	struct record_batch batch;
	ck_assert_int_eq(record_batch_init(&batch, &copies.host), 0);
	python.ring = (struct ring_buffer *)&python;
	const struct iaprof_record_sample sample = { .header = { .size = sizeof sample, .type = IAPROF_RECORD_SAMPLE },
						     .pid = PROCESS,
						     .flags = IAPROF_SAMPLE_NO_UNWIND_TABLE };
	static const uint64_t addresses[] = { OTHER, LOOP, CALLER, OTHER + 1 };
	static const uint64_t sampled[] = { OTHER, FRAME(1, BEGINS), FRAME(2, 0) };
	struct stack_addresses *stack = calloc(1, sizeof *stack + sizeof sampled);
	ck_assert_ptr_nonnull(stack);
	stack->depth = sizeof sampled / sizeof *sampled;
	memcpy(stack->addresses, sampled, sizeof sampled);
	for (uint64_t key = 1; key <= 2; key++) {
		struct copied_stack held = { .key = key, .time = 900, .execution = EXECUTION, .process = PROCESS };
		for (size_t i = 0; key == 1 && i < sizeof addresses / sizeof *addresses; i++)
			ck_assert(array_push(&held.addresses, addresses[i]));
		ck_assert_uint_ne(keyed_array_add(&stacks.held, &held), POSITION_NONE);
		ck_assert(copied_stacks_hold(&stacks, key, &sample, stack));
	}
	ck_assert(!copied_stacks_hold(&stacks, 3, &sample, stack));
	ck_assert_int_eq(copied_stacks_emit(&stacks, &batch, true), 0);
	ck_assert_int_eq(record_batch_flush(&batch), 0);
	static const uint64_t wanted[] = { OTHER, NAMED(11), NAMED(12), OTHER + 1 };
	ck_assert_uint_eq(copies.depth, sizeof wanted / sizeof *wanted);
	ck_assert_mem_eq(copies.elements, wanted, sizeof wanted);
	ck_assert_uint_eq(copies.samples, SAMPLES_MAX);
	/* The last is sent first. */
	ck_assert_uint_eq(copies.stacks[0], 0);
	ck_assert_uint_eq(copies.flags[0], IAPROF_SAMPLE_NO_UNWIND_TABLE);
	ck_assert_uint_eq(copies.stacks[1], 42);
	ck_assert_uint_eq(copies.flags[1], 0);
	ck_assert_uint_eq(stacks.held.count, 0);
	free(stack);
	python.ring = NULL;
	copied_stacks_free(&stacks);
	python_stacks_free(&python);
	record_batch_free(&batch);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
