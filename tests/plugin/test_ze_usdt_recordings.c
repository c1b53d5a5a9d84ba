/* SPDX-License-Identifier: Apache-2.0 */
/* What ze-usdt keeps of command lists: bounded, and each launch that is dropped still has its count. */
#include <check.h>
#include <stdlib.h>

#include "ze-usdt/recordings.h"
#include "ze-usdt/pointer_map.h"
#include "../run_suite.h"

/* recordings.c: LAUNCHES_MAX, RECORDINGS_MAX. */
#define LAUNCHES_MAX 262144u
#define RECORDINGS_MAX 131072u

static struct ze_launch_key key_of(uint32_t process, uint64_t list, uint64_t kernel, uint64_t stack)
{
	return (struct ze_launch_key){
		.process = { .id = process, .program = 1 }, .list = list, .kernel = kernel, .user_stack = stack
	};
}

static const struct stack_addresses *stack_of(uint64_t address)
{
	static uint64_t words[3];
	words[0] = 2;
	words[1] = address;
	words[2] = 0x1000;
	return (const void *)words;
}

static bool add(struct recordings *recordings, uint32_t process, uint64_t list, uint64_t kernel, uint64_t count)
{
	struct ze_launch_key key = key_of(process, list, kernel, kernel % 100 + 1);
	return recordings_add(recordings, &key, count, (uint32_t)kernel, kernel % 2 + 1,
			      stack_of(0x400000 + kernel % 100));
}

static const struct recording *find(struct recordings *recordings, uint32_t process, uint64_t list)
{
	struct ze_process who = { .id = process, .program = 1 };
	return recordings_find(recordings, &who, list);
}

TEST(launches_add_up)
{
	struct recordings recordings = { 0 };
	ck_assert(add(&recordings, 5, 1, 10, 3));
	ck_assert(add(&recordings, 5, 1, 11, 4));
	ck_assert(add(&recordings, 5, 1, 10, 5));
	ck_assert(add(&recordings, 6, 1, 10, 100)); /* the same number in another process */
	const struct recording *recording = find(&recordings, 5, 1);
	ck_assert_ptr_nonnull(recording);
	ck_assert_uint_eq(recording->launches.count, 2);
	ck_assert_uint_eq(recording->launch_count, 12);
	ck_assert_uint_eq(recording->launches.items[0].count, 8);
	ck_assert_uint_eq(recording->launches.items[0].stack->depth, 2);
	ck_assert_uint_eq(recording->launches.items[0].stack->addresses[0], 0x400000 + 10);
	ck_assert_uint_eq(recording->launches.items[0].stack->users, 2); /* of both processes */
	ck_assert_ptr_null(find(&recordings, 5, 2));
	recordings_free(&recordings);
}

TEST(processes_and_modules_are_forgotten)
{
	struct recordings recordings = { 0 };
	for (uint64_t list = 1; list <= 100; list++) {
		ck_assert(add(&recordings, 5, list, list, 1));
		ck_assert(add(&recordings, 5, list, list + 1, 2));
		ck_assert(add(&recordings, 6, list, list, 1));
	}
	struct ze_process process = { .id = 5, .program = 1 };
	recordings_forget_module(&recordings, &process, 2); /* odd kernels */
	for (uint64_t list = 1; list <= 100; list++) {
		const struct recording *recording = find(&recordings, 5, list);
		ck_assert_uint_eq(recording->launches.count, 1);
		ck_assert_uint_eq(recording->launch_count, list % 2 ? 2 : 1);
		ck_assert_uint_eq(recording->launches.items[0].kernel % 2, 0);
	}
	/* The id is in use again: only what was before goes. */
	struct ze_process before = { .id = 5, .program = 0 };
	recordings_forget_process(&recordings, &before);
	ck_assert_ptr_nonnull(find(&recordings, 5, 50));
	recordings_forget_process(&recordings, &process);
	ck_assert_ptr_null(find(&recordings, 5, 50));
	ck_assert_ptr_nonnull(find(&recordings, 6, 50));
	ck_assert_uint_eq(recordings.held, 100);
	struct ze_process later = { .id = 6, .program = 2 };
	recordings_forget_process(&recordings, &later);
	ck_assert_uint_eq(recordings.held, 0);
	ck_assert_uint_eq(recordings.stacks.count, 0);
	ck_assert_uint_eq(recordings.table.count, 0);
	recordings_free(&recordings);
}

/* A program that records without end: the oldest lose their launches, but not how many there were. */
TEST(memory_is_bounded)
{
	struct recordings recordings = { 0 };
	for (uint64_t list = 1; list <= 100000; list++)
		for (uint64_t kernel = 1; kernel <= 8; kernel++)
			ck_assert(add(&recordings, 5, list, kernel, kernel));
	ck_assert_uint_le(recordings.held, LAUNCHES_MAX);
	const struct recording *oldest = find(&recordings, 5, 1), *newest = find(&recordings, 5, 100000);
	ck_assert(oldest->dropped && oldest->launches.count == 0);
	ck_assert_uint_eq(oldest->launch_count, 36);
	ck_assert(!newest->dropped && newest->launches.count == 8);
	ck_assert_uint_eq(recordings.forgotten, 0);
	for (uint64_t list = 100001; list <= 2 * RECORDINGS_MAX; list++)
		ck_assert(add(&recordings, 5, list, 1, 1));
	ck_assert_uint_le(recordings.table.count, RECORDINGS_MAX);
	ck_assert_uint_eq(recordings.table.count + recordings.forgotten, 2 * RECORDINGS_MAX);
	ck_assert_ptr_null(find(&recordings, 5, 2));
	recordings_free(&recordings);
}

/* One recording alone does not push out all others. */
TEST(one_endless_recording_is_dropped)
{
	struct recordings recordings = { 0 };
	ck_assert(add(&recordings, 5, 1, 1, 1));
	for (uint64_t kernel = 1; kernel <= LAUNCHES_MAX; kernel++)
		ck_assert(add(&recordings, 5, 2, kernel, 1));
	ck_assert(find(&recordings, 5, 2)->dropped);
	ck_assert_uint_eq(find(&recordings, 5, 2)->launch_count, LAUNCHES_MAX);
	ck_assert(!find(&recordings, 5, 1)->dropped);
	recordings_free(&recordings);
}

static bool nest(struct recordings *recordings, uint64_t parent, uint64_t child, uint64_t times)
{
	struct ze_process process = { .id = 5, .program = 1 };
	return recordings_nest(recordings, &process, parent, child, times);
}

TEST(recordings_contain_others)
{
	struct recordings recordings = { .copies_left = 4 };
	ck_assert(add(&recordings, 5, 1, 10, 3));
	ck_assert(add(&recordings, 5, 1, 11, 4));
	ck_assert(add(&recordings, 5, 2, 10, 1));
	ck_assert(nest(&recordings, 2, 1, 5));
	ck_assert(nest(&recordings, 2, 99, 5)); /* without kernels */
	ck_assert(nest(&recordings, 2, 2, 5));  /* impossible */
	const struct recording *recording = find(&recordings, 5, 2);
	ck_assert_uint_eq(recording->launches.count, 2);
	ck_assert_uint_eq(recording->launches.items[0].count, 16);
	ck_assert_uint_eq(recording->launches.items[1].count, 20);
	ck_assert_uint_eq(recording->launch_count, 36);
	ck_assert_uint_eq(recording->launches.items[1].stack->users, 2);
	ck_assert_uint_eq(recordings.held, 4);
	/* A recording of its own, which remains when its parts go. */
	ck_assert(nest(&recordings, 3, 2, 1));
	ck_assert_uint_eq(find(&recordings, 5, 3)->launch_count, 36);
	/* No copies are left: how many there are is known. */
	ck_assert(nest(&recordings, 4, 3, 2));
	ck_assert(find(&recordings, 5, 4)->dropped);
	ck_assert_uint_eq(find(&recordings, 5, 4)->launches.count, 0);
	ck_assert_uint_eq(find(&recordings, 5, 4)->launch_count, 72);
	recordings.copies_left = 100;
	ck_assert(nest(&recordings, 3, 4, 1));
	ck_assert(find(&recordings, 5, 3)->dropped);
	ck_assert_uint_eq(find(&recordings, 5, 3)->launch_count, 108);
	ck_assert_uint_eq(recordings.held, 4);
	recordings_free(&recordings);
}

/* Appended to one another, recordings double: what is held does not. */
TEST(nested_recordings_are_bounded)
{
	struct recordings recordings = { .copies_left = UINT64_MAX };
	for (uint64_t kernel = 1; kernel <= 1000; kernel++)
		ck_assert(add(&recordings, 5, 1, kernel, 1));
	for (uint64_t list = 2; list <= 3000; list++)
		ck_assert(nest(&recordings, list, 1, 1));
	ck_assert_uint_le(recordings.held, LAUNCHES_MAX + LAUNCHES_MAX / 2);
	recordings_free(&recordings);
}

static bool value_is_odd(void *value, void *context)
{
	return *(const uint64_t *)value % 2;
}

/* Against a plain array: what was added and not taken out is found. */
TEST(tables_find_what_is_there)
{
	enum { COUNT = 4096 };
	static uint64_t values[COUNT];
	static bool there[COUNT];
	struct pointer_map table = { 0 };
	uint64_t random = 1, count = 0;

	for (uint64_t i = 0; i < COUNT; i++)
		values[i] = i;
	for (unsigned step = 0; step < 200000; step++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint64_t i = (random >> 33) % COUNT;
		if (there[i]) {
			ck_assert_ptr_eq(pointer_map_remove(&table, i * 7), &values[i]);
			count--;
		} else {
			ck_assert_ptr_null(pointer_map_find(&table, i * 7));
			ck_assert(pointer_map_add(&table, i * 7, &values[i]));
			count++;
		}
		there[i] = !there[i];
		ck_assert_uint_eq(table.count, count);
	}
	for (uint64_t i = 0; i < COUNT; i++)
		ck_assert_ptr_eq(pointer_map_find(&table, i * 7), there[i] ? &values[i] : NULL);
	pointer_map_sweep(&table, value_is_odd, NULL);
	for (uint64_t i = 0; i < COUNT; i++)
		ck_assert_ptr_eq(pointer_map_find(&table, i * 7), there[i] && i % 2 == 0 ? &values[i] : NULL);
	free(table.slots);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
