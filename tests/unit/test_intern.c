/* SPDX-License-Identifier: Apache-2.0 */
/* How long an id of a stack is good, and what it is good for. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/bus.h"
#include "bus/intern.h"
#include "../run_suite.h"

static struct intern *intern;

static void set_up(void)
{
	intern = intern_new(NULL);
	ck_assert_ptr_nonnull(intern);
}

static void tear_down(void)
{
	intern_free(intern);
}

static uint32_t add(uint32_t pid, uint64_t address)
{
	return intern_stack(intern, pid, &address, 1);
}

static int define(uint32_t id, uint32_t pid, uint64_t address)
{
	struct {
		struct iaprof_record_stack head;
		uint64_t addresses[1];
	} record = { .head = { .id = id, .count = 1, .pid = pid }, .addresses = { address } };
	return intern_define_stack(intern, &record.head);
}

/* In each epoch, stacks that were last used more than the given number of epochs ago go. */
TEST_LOOP(a_stack_lives_as_many_epochs_as_it_is_given, 0, 4)
{
	uint32_t epochs = (uint32_t)_i, id = add(1, 0x1000);
	for (uint32_t epoch = 0; epoch < epochs; epoch++) {
		intern_begin_epoch(intern);
		intern_expire_stacks(intern, epochs);
		ck_assert_uint_eq(intern_stack_count(intern), 1);
	}
	intern_begin_epoch(intern);
	intern_expire_stacks(intern, epochs);
	ck_assert_uint_eq(intern_stack_count(intern), 0);
	ck_assert_uint_eq(intern_find_stack(intern, id).count, 0);
	ck_assert_ptr_null(intern_find_stack(intern, id).addresses);
}

/* How a stack is used: _i 0: it is sent again, 1: it is looked up. */
TEST_LOOP(each_use_begins_its_life_anew, 0, 2)
{
	uint32_t used = add(1, 0x1000), unused = add(1, 0x2000);
	for (unsigned epoch = 0; epoch < 5; epoch++) {
		intern_begin_epoch(intern);
		if (_i)
			ck_assert_uint_eq(intern_find_stack(intern, used).addresses[0], 0x1000);
		else
			ck_assert_uint_eq(add(1, 0x1000), used);
		intern_expire_stacks(intern, 1);
		ck_assert_uint_eq(intern_stack_count(intern), epoch < 1 ? 2 : 1);
	}
	ck_assert_uint_eq(intern_find_stack(intern, unused).count, 0);
	ck_assert_uint_eq(intern_find_stack(intern, used).pid, 1);
	/* The id of one that is gone is not given to another, nor to the same stack. */
	uint32_t again = add(1, 0x2000);
	ck_assert_uint_gt(again, unused);
	ck_assert_uint_eq(intern_find_stack(intern, again).addresses[0], 0x2000);
	ck_assert_uint_eq(intern_find_stack(intern, unused).count, 0);
}

/* The place of one that is gone is used again, whatever the order. */
TEST(others_are_found_while_stacks_come_and_go)
{
	enum { KEPT = 50, SHORT = 200 };
	uint32_t kept[KEPT];
	for (uint64_t i = 0; i < KEPT; i++)
		kept[i] = add(2, 0x1000 + i);
	for (uint64_t epoch = 0; epoch < 20; epoch++) {
		uint32_t ids[SHORT];
		for (uint64_t i = 0; i < SHORT; i++)
			ids[i] = add(3, epoch * SHORT + i + 1);
		for (uint64_t i = 0; i < SHORT; i++)
			ck_assert_uint_eq(intern_find_stack(intern, ids[i]).addresses[0], epoch * SHORT + i + 1);
		for (uint64_t i = 0; i < KEPT; i++)
			ck_assert_uint_eq(add(2, 0x1000 + i), kept[i]);
		ck_assert_uint_eq(intern_stack_count(intern), KEPT + SHORT);
		intern_begin_epoch(intern);
		intern_expire_stacks(intern, 0);
		ck_assert_uint_eq(intern_stack_count(intern), 0);
		for (uint64_t i = 0; i < KEPT; i++)
			kept[i] = add(2, 0x1000 + i);
	}
}

TEST(defined_ids_are_kept)
{
	ck_assert_int_eq(define(5, 9, 0x1000), 0);
	ck_assert_int_eq(define(5, 9, 0x1000), 0);
	ck_assert_int_eq(define(5, 9, 0x1001), -EINVAL);
	ck_assert_int_eq(define(5, 8, 0x1000), -EINVAL);
	ck_assert_uint_eq(intern_find_stack(intern, 5).pid, 9);
	ck_assert_uint_eq(intern_find_stack(intern, 5).addresses[0], 0x1000);
	/* The next one has the next id; what would have had an earlier one was removed since. */
	ck_assert_uint_eq(add(9, 0x3000), 6);
	ck_assert_int_eq(define(4, 9, 0x4000), 0);
	ck_assert_uint_eq(intern_find_stack(intern, 4).count, 0);
	ck_assert_uint_eq(intern_stack_count(intern), 2);
	ck_assert_int_eq(define(7, 9, 0x5000), 0);
	ck_assert_uint_eq(intern_find_stack(intern, 7).addresses[0], 0x5000);
	ck_assert_uint_eq(intern_find_stack(intern, 0).count, 0);
}

/* The last id there is; after it there are none. */
static int define_text(uint32_t id, const char *text)
{
	struct {
		struct iaprof_record_string head;
		char text[16];
	} record = { .head = { .id = id, .length = (uint32_t)strlen(text) } };
	memcpy(record.text, text, strlen(text));
	record.head.header.size = sizeof record;
	return intern_define_string(intern, &record.head);
}

/* A capture has ids of its own: what a replay adds takes none that a later definition has. */
TEST(added_strings_leave_ids_to_definitions)
{
	ck_assert_int_eq(define_text(1, "compute"), 0);
	uint32_t own = intern_own_text(intern, "[running]");
	for (uint32_t id = 2; id < 100; id++) {
		char name[16];
		snprintf(name, sizeof name, "engine %u", id);
		ck_assert_int_eq(define_text(id, name), 0);
		ck_assert_str_eq(intern_text(intern, id), name);
	}
	ck_assert_str_eq(intern_text(intern, own), "[running]");
	ck_assert_uint_eq(intern_own_text(intern, "compute"), 1);
	/* The same in a capture of a replay. */
	ck_assert_int_eq(define_text(own, "[running]"), 0);
}

TEST(ids_end)
{
	ck_assert_int_eq(define(UINT32_MAX - 1, 9, 0x1000), 0);
	ck_assert_int_eq(define(UINT32_MAX, 9, 0x2000), 0);
	ck_assert_uint_eq(intern_find_stack(intern, UINT32_MAX).addresses[0], 0x2000);
	ck_assert_uint_eq(add(9, 0x1000), UINT32_MAX - 1);
	ck_assert_uint_eq(add(9, 0x3000), 0);
	ck_assert_uint_eq(intern_stack_count(intern), 2);
}

TEST(deep_stacks_are_cut_off)
{
	uint64_t addresses[IAPROF_STACK_DEPTH_MAX + 1];
	for (size_t i = 0; i <= IAPROF_STACK_DEPTH_MAX; i++)
		addresses[i] = i + 1;
	uint32_t whole = intern_stack(intern, 1, addresses, IAPROF_STACK_DEPTH_MAX);
	ck_assert_uint_eq(intern_find_stack(intern, whole).count, IAPROF_STACK_DEPTH_MAX);
	ck_assert_uint_eq(intern_stack(intern, 1, addresses, IAPROF_STACK_DEPTH_MAX + 1), whole);
	uint32_t shorter = intern_stack(intern, 1, addresses, IAPROF_STACK_DEPTH_MAX - 1);
	ck_assert_uint_ne(shorter, whole);
	ck_assert_uint_eq(intern_find_stack(intern, shorter).count, IAPROF_STACK_DEPTH_MAX - 1);
}

/* Those that are kept stay, also if they were passing first; the others go some epochs after their last use. */
TEST(passing_strings_go_and_their_ids_are_not_used_again)
{
	uint32_t kept = intern_text_id(intern, "kept"), passing = intern_passing_string(intern, "passing", 7);
	uint32_t used = intern_passing_string(intern, "used", 4), promoted = intern_passing_string(intern, "both", 4);
	ck_assert_uint_eq(intern_text_id(intern, "both"), promoted);
	ck_assert_uint_eq(intern_passing_own_text(intern, "kept"), kept);
	for (unsigned epoch = 0; epoch < 3; epoch++) {
		intern_begin_epoch(intern);
		ck_assert_uint_eq(intern_passing_string(intern, "used", 4), used);
		intern_expire_strings(intern, 2);
		ck_assert_str_eq(intern_text(intern, passing), epoch < 2 ? "passing" : "");
	}
	ck_assert_str_eq(intern_text(intern, kept), "kept");
	ck_assert_str_eq(intern_text(intern, promoted), "both");
	ck_assert_str_eq(intern_text(intern, used), "used");
	ck_assert_uint_eq(intern_string_count(intern), 3);
	ck_assert_uint_gt(intern_passing_string(intern, "passing", 7), promoted);
}

/* Many more than have room in memory at once; ids of several chunks. */
TEST(passing_strings_come_and_go)
{
	char name[32];
	uint32_t last = intern_text_id(intern, "kept");
	for (unsigned epoch = 0; epoch < 50; epoch++) {
		intern_begin_epoch(intern);
		for (unsigned i = 0; i < 500; i++) {
			int length = snprintf(name, sizeof name, "%u of %u", i, epoch);
			uint32_t id = intern_passing_string(intern, name, (size_t)length);
			ck_assert_uint_eq(id, ++last);
			ck_assert_str_eq(intern_text(intern, id), name);
		}
		intern_expire_strings(intern, 1);
		ck_assert_uint_le(intern_string_count(intern), 1001);
	}
	ck_assert_str_eq(intern_text(intern, 1), "kept");
	ck_assert_str_eq(intern_text(intern, 2), "");
}

TEST(kept_strings_are_limited)
{
	intern_limit_strings(intern, 10);
	uint32_t first = intern_text_id(intern, "12345"), second = intern_text_id(intern, "67890");
	ck_assert_uint_eq(intern_text_id(intern, "a"), 0);
	ck_assert_uint_eq(intern_text_id(intern, "12345"), first);
	ck_assert_uint_ne(intern_passing_string(intern, "a", 1), 0);
	ck_assert_uint_eq(intern_text_id(intern, "a"), 0); /* it would be kept now */
	ck_assert_uint_eq(intern_refused_strings(intern), 2);
	ck_assert_str_eq(intern_text(intern, second), "67890");
}

TEST(texts_end_at_their_length_or_a_nul)
{
	char *longest = malloc(IAPROF_STRING_LENGTH_MAX + 2);
	ck_assert_ptr_nonnull(longest);
	memset(longest, 'x', IAPROF_STRING_LENGTH_MAX + 1);
	longest[IAPROF_STRING_LENGTH_MAX + 1] = '\0';
	uint32_t id = intern_string(intern, longest, IAPROF_STRING_LENGTH_MAX + 1);
	ck_assert_uint_eq(strlen(intern_text(intern, id)), IAPROF_STRING_LENGTH_MAX);
	ck_assert_uint_eq(intern_string(intern, longest, IAPROF_STRING_LENGTH_MAX), id);
	free(longest);
	ck_assert_uint_eq(intern_string_count(intern), 1);
	ck_assert_uint_eq(intern_text_id(intern, NULL), 0);
	ck_assert_uint_eq(intern_text_id(intern, ""), 0);
	ck_assert_str_eq(intern_text(intern, intern_text_id(intern, "name")), "name");
	ck_assert_str_eq(intern_text(intern, intern_value_type(intern, "cpu", "count")), "cpu count");
	char name[256];
	memset(name, 'n', sizeof name);
	name[253] = '\0'; /* with a space, a unit of one letter and the NUL: just no room */
	ck_assert_uint_eq(intern_value_type(intern, name + 1, "us"), intern_value_type(intern, name + 1, "us"));
	ck_assert_uint_eq(intern_value_type(intern, name, "us"), 0);
	ck_assert_uint_ne(intern_value_type(intern, name, "u"), 0);
}

/* Definitions of every size reach the bus whole: those that are put together on the stack, and larger ones. */
TEST(definitions_are_whole)
{
	enum { LONGEST = 600 };
	struct bus *bus = bus_new(1 << 20);
	struct intern *sending = intern_new(bus);
	char text[LONGEST + 1] = "";
	for (size_t length = 1; length <= LONGEST; length++) {
		memset(text, 'a' + (int)(length % 26), length);
		text[length] = '\0';
		ck_assert_uint_eq(intern_string(sending, text, length), length);
	}
	struct block *block = bus_take(bus, 0);
	size_t length = 0;
	for (struct block *next; block; block = next) {
		struct iaprof_batch batch = block_batch(block);
		for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
			const struct iaprof_record_string *string = (const void *)record;
			const char *bytes = iaprof_record_string_text(string);
			ck_assert_uint_eq(string->id, ++length);
			ck_assert_uint_eq(string->length, length);
			ck_assert_uint_eq(strlen(bytes), length);
			ck_assert_int_eq(bytes[length - 1], 'a' + (int)(length % 26));
			ck_assert_uint_lt(record->size - sizeof *string - length - 1, 8);
			for (const char *end = bytes + length; end < (const char *)record + record->size; end++)
				ck_assert_int_eq(*end, 0);
			ck_assert_uint_gt(record->time, 0);
		}
		next = block->next;
		block_release(block);
	}
	ck_assert_uint_eq(length, LONGEST);
	intern_free(sending);
	bus_free(bus);
}

TEST(addresses_are_no_frames_by_name)
{
	static const uint64_t addresses[] = { 0x1000, IAPROF_STACK_NAMED_FRAME | 1,
					      IAPROF_STACK_NAMED_FRAME | UINT32_MAX, UINT64_C(0x8000000100000001),
					      0x2000 };
	static const uint64_t kept[] = { 0x1000, 0, 0, UINT64_C(0x8000000100000001), 0x2000 };
	struct interned_stack stack = intern_find_stack(intern, intern_addresses(intern, 7, addresses, 5));
	ck_assert_uint_eq(stack.count, 5);
	ck_assert_mem_eq(stack.addresses, kept, sizeof kept);
	stack = intern_find_stack(intern, intern_stack(intern, 7, addresses, 5));
	ck_assert_mem_eq(stack.addresses, addresses, sizeof addresses);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
