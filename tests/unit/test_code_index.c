/* SPDX-License-Identifier: Apache-2.0 */
/* The index of what code was where and when, against the rules and against a plain list of all events. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/sanitizer.h"
#include "symbolizer/device/code_index.h"
#include "../run_suite.h"

static struct code_load load_of(uint64_t start, uint64_t size, uint64_t time, uintptr_t object)
{
	return (struct code_load){ .device = 1,
				   .process = 10,
				   .start = start,
				   .size = size,
				   .time = time,
				   .object = (void *)object,
				   .address = object * 0x100000 };
}

static void load(struct code_index *index, uint64_t start, uint64_t size, uint64_t time, uintptr_t object)
{
	struct code_load one = load_of(start, size, time, object);
	ck_assert_int_eq(code_index_load(index, &one), 0);
}

/* The object's number, 0 none; the address in it must be right, too. */
static uintptr_t find(struct code_index *index, uint64_t address, uint64_t time, uint64_t start)
{
	struct code_found found;
	if (!code_index_find(index, 1, 10, address, time, &found))
		return 0;
	ck_assert_uint_eq(found.process, 10);
	ck_assert_uint_eq(found.address, (uintptr_t)found.object * 0x100000 + (address - start));
	return (uintptr_t)found.object;
}

static struct code_index *make_index(void)
{
	struct code_index *index = code_index_new(&(struct code_index_options){ .window = 1000 });
	ck_assert_ptr_nonnull(index);
	return index;
}

TEST(code_is_there_from_its_load_to_its_unload)
{
	struct code_index *index = make_index();
	load(index, 0x1000, 0x100, 100, 1);
	ck_assert_int_eq(code_index_unload(index, 1, 10, 0x1000, 200), 0);
	ck_assert_uint_eq(find(index, 0x1000, 99, 0x1000), 0);
	ck_assert_uint_eq(find(index, 0x1000, 100, 0x1000), 1);
	ck_assert_uint_eq(find(index, 0x10ff, 199, 0x1000), 1);
	ck_assert_uint_eq(find(index, 0x1100, 150, 0x1000), 0);
	ck_assert_uint_eq(find(index, 0xfff, 150, 0x1000), 0);
	ck_assert_uint_eq(find(index, 0x1000, 200, 0x1000), 0);
	/* The same at the same place again. */
	load(index, 0x1000, 0x100, 300, 1);
	ck_assert_uint_eq(find(index, 0x1000, 299, 0x1000), 0);
	ck_assert_uint_eq(find(index, 0x1000, 300, 0x1000), 1);
	code_index_free(index);
}

TEST(the_newest_wins_from_its_load_on)
{
	struct code_index *index = make_index();
	load(index, 0x1000, 0x1000, 100, 1);
	load(index, 0x1800, 0x100, 200, 2);
	ck_assert_uint_eq(find(index, 0x1800, 199, 0x1000), 1);
	ck_assert_uint_eq(find(index, 0x1800, 200, 0x1800), 2);
	ck_assert_uint_eq(find(index, 0x17ff, 200, 0x1000), 1);
	ck_assert_uint_eq(find(index, 0x1900, 200, 0x1000), 1);
	/* What was there before does not come back. */
	ck_assert_int_eq(code_index_unload(index, 1, 10, 0x1800, 300), 0);
	ck_assert_uint_eq(find(index, 0x1800, 300, 0x1800), 0);
	ck_assert_uint_eq(find(index, 0x1800, 150, 0x1000), 1);
	/* An event that comes late takes its place in time. */
	load(index, 0x1800, 0x100, 150, 3);
	ck_assert_uint_eq(find(index, 0x1800, 149, 0x1000), 1);
	ck_assert_uint_eq(find(index, 0x1800, 199, 0x1800), 3);
	ck_assert_uint_eq(find(index, 0x1800, 200, 0x1800), 2);
	code_index_free(index);
}

TEST(processes_and_devices_are_apart)
{
	struct code_index *index = make_index();
	struct code_load one = load_of(0x1000, 0x100, 100, 1);
	for (uint64_t process = 10; process < 30; process++) {
		one.process = process;
		one.object = (void *)(uintptr_t)process;
		ck_assert_int_eq(code_index_load(index, &one), 0);
	}
	one.device = 2;
	one.object = (void *)(uintptr_t)1000;
	ck_assert_int_eq(code_index_load(index, &one), 0);
	struct code_found found[32];
	for (uint64_t process = 10; process < 30; process++) {
		ck_assert(code_index_find(index, 1, process, 0x1080, 100, found));
		ck_assert_uint_eq((uintptr_t)found->object, process);
	}
	ck_assert(!code_index_find(index, 1, 30, 0x1080, 100, found));
	ck_assert_uint_eq(code_index_find_all_during(index, 1, 0x1080, 100, 100, found, 32), 20);
	for (size_t i = 0; i < 20; i++)
		ck_assert_uint_eq((uintptr_t)found[i].object, found[i].process);
	ck_assert_uint_eq(code_index_find_all_during(index, 1, 0x1080, 100, 100, found, 3), 20);
	ck_assert_uint_eq(code_index_find_all_during(index, 2, 0x1080, 100, 100, found, 32), 1);
	ck_assert_uint_eq(code_index_find_all_during(index, 1, 0x1080, 99, 99, found, 32), 0);
	/* A process ends on all devices. */
	ck_assert_int_eq(code_index_end_process(index, 29, 200), 0);
	ck_assert_uint_eq(code_index_find_all_during(index, 1, 0x1080, 200, 200, found, 32), 19);
	ck_assert_uint_eq(code_index_find_all_during(index, 2, 0x1080, 200, 200, found, 32), 0);
	ck_assert_uint_eq(code_index_find_all_during(index, 2, 0x1080, 199, 199, found, 32), 1);
	/* What ended in an interval, or began and ended in it, was there. */
	ck_assert_uint_eq(code_index_find_all_during(index, 2, 0x1080, 199, 300, found, 32), 1);
	ck_assert_uint_eq(code_index_find_all_during(index, 2, 0x1080, 50, 300, found, 32), 1);
	ck_assert_uint_eq(code_index_find_all_during(index, 2, 0x1080, 200, 300, found, 32), 0);
	ck_assert_uint_eq(code_index_find_all_during(index, 2, 0x1080, 50, 99, found, 32), 0);
	code_index_free(index);
}

/* What find_during() gives of process 10 at an address, as text: the objects' numbers. */
static const char *during(struct code_index *index, uint64_t address, uint64_t begin, uint64_t end)
{
	static char numbers[200];
	struct code_found found[8], all[8];
	size_t length = 0, count = code_index_find_during(index, 1, 10, address, begin, end, found, 8);
	ck_assert_uint_le(count, 8);
	ck_assert_uint_eq(code_index_find_all_during(index, 1, address, begin, end, all, 8), count);
	numbers[0] = 0;
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(found[i].process, 10);
		ck_assert_ptr_eq(found[i].object, all[i].object);
		length += (size_t)snprintf(numbers + length, sizeof numbers - length, "%s%" PRIuPTR, i ? " " : "",
					   (uintptr_t)found[i].object);
	}
	return numbers;
}

TEST(an_interval_gives_all_that_was_there_in_it)
{
	struct code_index *index = make_index();
	struct code_found found[2];
	/* Loaded and unloaded within it. */
	load(index, 0x1000, 0x100, 100, 1);
	ck_assert_int_eq(code_index_unload(index, 1, 10, 0x1000, 150), 0);
	ck_assert_str_eq(during(index, 0x1080, 50, 300), "1");
	ck_assert_str_eq(during(index, 0x1080, 50, 100), "1");
	ck_assert_str_eq(during(index, 0x1080, 149, 149), "1");
	ck_assert_str_eq(during(index, 0x1080, 50, 99), "");
	ck_assert_str_eq(during(index, 0x1080, 150, 300), "");
	ck_assert_str_eq(during(index, 0x1100, 50, 300), "");
	ck_assert_str_eq(during(index, 0x1080, 140, 130), "");
	/* Replaced, by some that never end and one that ends: what they hide does not come back. */
	load(index, 0x1000, 0x1000, 200, 2);
	load(index, 0x800, 0x1000, 250, 3);
	load(index, 0x1040, 0x100, 260, 4);
	ck_assert_int_eq(code_index_unload(index, 1, 10, 0x1040, 270), 0);
	ck_assert_str_eq(during(index, 0x1080, 0, 1000), "1 2 3 4");
	ck_assert_str_eq(during(index, 0x1080, 200, 249), "2");
	ck_assert_str_eq(during(index, 0x1080, 249, 250), "2 3");
	ck_assert_str_eq(during(index, 0x1080, 250, 260), "3 4");
	ck_assert_str_eq(during(index, 0x1080, 270, 300), "");
	ck_assert_str_eq(during(index, 0x1020, 0, 1000), "1 2 3");
	ck_assert_str_eq(during(index, 0x1900, 0, 1000), "2");
	/* Of two loads at the same time, the first is ignored. */
	load(index, 0x5000, 0x100, 300, 5);
	load(index, 0x5000, 0x100, 300, 6);
	ck_assert_str_eq(during(index, 0x5000, 0, 1000), "6");
	/* The end of the process; its id is used again. */
	ck_assert_int_eq(code_index_end_process(index, 10, 400), 0);
	load(index, 0x5000, 0x100, 500, 7);
	ck_assert_str_eq(during(index, 0x5000, 300, 1000), "6 7");
	ck_assert_str_eq(during(index, 0x5000, 400, 499), "");
	ck_assert_str_eq(during(index, 0x5000, 400, 1000), "7");
	ck_assert_uint_eq(code_index_find_during(index, 1, 10, 0x1080, 0, 1000, found, 2), 4);
	ck_assert_uint_eq((uintptr_t)found[0].object, 1);
	ck_assert_uint_eq((uintptr_t)found[1].object, 2);
	ck_assert_uint_eq(code_index_find_during(index, 1, 11, 0x1080, 0, 1000, found, 2), 0);
	/* Before the horizon nobody knows. */
	ck_assert(code_index_forget(index, 260));
	ck_assert_str_eq(during(index, 0x1080, 0, 1000), "4");
	ck_assert_str_eq(during(index, 0x1020, 0, 1000), "3");
	ck_assert_str_eq(during(index, 0x1080, 0, 259), "");
	code_index_free(index);
}

TEST(impossible_events_are_refused_and_counted)
{
	struct code_index *index = make_index();
	struct code_load empty = load_of(0x1000, 0, 100, 1), beyond = load_of(0x1000, UINT64_MAX, 100, 1);
	ck_assert_int_eq(code_index_load(index, &empty), -EINVAL);
	ck_assert_int_eq(code_index_load(index, &beyond), -EINVAL);
	ck_assert_int_eq(code_index_unload(index, 1, 10, 0x1000, 100), -ENOENT);
	load(index, UINT64_MAX - 0x10, 0x10, 100, 1);
	ck_assert_uint_eq(find(index, UINT64_MAX - 1, 100, UINT64_MAX - 0x10), 1);
	ck_assert_uint_eq(find(index, UINT64_MAX, 100, UINT64_MAX - 0x10), 0);
	struct code_index_statistics statistics = code_index_statistics(index);
	ck_assert_uint_eq(statistics.refused, 2);
	ck_assert_uint_eq(statistics.unknown_unloads, 1);
	ck_assert_uint_eq(statistics.kept, 1);
	code_index_free(index);
}

static int64_t references[1024];

static void reference(void *object)
{
	references[(uintptr_t)object]++;
}

static void release(void *object)
{
	references[(uintptr_t)object]--;
}

TEST(memory_is_bounded_and_objects_go_when_nothing_can_find_them)
{
	struct code_index_options options = {
		.window = 1000, .capacity = 100, .reference = reference, .release = release
	};
	struct code_index *index = code_index_new(&options);
	/* Loaded and unloaded for a long time, at few places and by many processes. */
	for (uint64_t i = 0; i < 10000; i++) {
		struct code_load one = load_of(0x1000 * (i % 7), 0x1000, 10 * i, 1 + i % 1000);
		one.process = i / 100;
		ck_assert_int_eq(code_index_load(index, &one), 0);
		ck_assert_int_eq(code_index_unload(index, 1, one.process, one.start, 10 * i + 5), 0);
		ck_assert_uint_le(code_index_statistics(index).kept, 100);
		struct code_found found;
		ck_assert(code_index_find(index, 1, one.process, one.start, 10 * i + 4, &found));
		ck_assert(!code_index_find(index, 1, one.process, one.start, 10 * i + 5, &found));
	}
	ck_assert_uint_gt(code_index_horizon(index), 0);
	ck_assert_uint_gt(code_index_horizon(index), 100000 - 2200);
	int64_t held = 0;
	for (size_t i = 0; i < 1024; i++)
		held += references[i];
	ck_assert_int_eq(held, (int64_t)code_index_statistics(index).kept);
	/* What is loaded and stays cannot be dropped: then a load is refused, and what was there stays right. */
	ck_assert(code_index_forget(index, 200000));
	ck_assert_uint_eq(code_index_statistics(index).kept, 0);
	for (uint64_t i = 0; i < 150; i++) {
		struct code_load one = load_of(0x1000 * i, 0x1000, 200000 + i, 1 + i);
		ck_assert_int_eq(code_index_load(index, &one), i < 100 ? 0 : -ENOSPC);
	}
	ck_assert_uint_eq(code_index_statistics(index).refused, 50);
	for (uint64_t i = 0; i < 150; i++)
		ck_assert_uint_eq(find(index, 0x1000 * i + 8, 200200, 0x1000 * i), i < 100 ? 1 + i : 0);
	/* One unload makes room for one load. */
	struct code_load more = load_of(0x1000 * 200, 0x1000, 200300, 200);
	ck_assert_int_eq(code_index_load(index, &more), -ENOSPC);
	ck_assert_int_eq(code_index_unload(index, more.device, more.process, 0, 200301), 0);
	more.time = 200302;
	ck_assert_int_eq(code_index_load(index, &more), 0);
	ck_assert_int_eq(code_index_load(index, &(struct code_load){ .device = more.device,
								     .process = more.process,
								     .start = 0x1000 * 201,
								     .size = 0x1000,
								     .time = 200303,
								     .object = more.object }),
			 -ENOSPC);
	/* Before the horizon nobody knows, and nothing can be said. */
	struct code_load late = load_of(0x1000, 0x1000, 5, 1);
	uint64_t too_late = code_index_statistics(index).too_late;
	ck_assert_int_eq(code_index_load(index, &late), -ESTALE);
	ck_assert_uint_eq(find(index, 0x1000, 5, 0x1000), 0);
	ck_assert_uint_eq(code_index_statistics(index).too_late, too_late + 2);
	code_index_free(index);
	for (size_t i = 0; i < 1024; i++)
		ck_assert_int_eq(references[i], 0);
}

/* The plain list: every load that ever was, and when it ended. */
struct naive_load {
	struct code_load load;
	uint64_t unloaded;
};

static struct naive_load naive[20000];
static size_t naive_count;

static const struct naive_load *naive_find(uint64_t device, uint64_t process, uint64_t address, uint64_t time)
{
	const struct naive_load *newest = NULL;
	for (size_t i = 0; i < naive_count; i++) {
		const struct naive_load *one = &naive[i];
		if (one->load.device == device && one->load.process == process && address >= one->load.start &&
		    address - one->load.start < one->load.size && one->load.time <= time &&
		    (!newest || one->load.time >= newest->load.time))
			newest = one;
	}
	return newest && time < newest->unloaded ? newest : NULL;
}

#define DURING_MAX 32

/* Returns when a load of the process next begins or ends after time: until then, naive_find() finds the same. */
static uint64_t naive_next_change(uint64_t device, uint64_t process, uint64_t time)
{
	uint64_t next = UINT64_MAX;
	for (size_t i = 0; i < naive_count; i++) {
		const struct naive_load *one = &naive[i];
		if (one->load.device != device || one->load.process != process)
			continue;
		if (one->load.time > time && one->load.time < next)
			next = one->load.time;
		if (one->unloaded > time && one->unloaded < next)
			next = one->unloaded;
	}
	return next;
}

/* Returns the loads that exist at any time of an interval, each once. */
static size_t naive_find_during(uint64_t device, uint64_t process, uint64_t address, uint64_t begin, uint64_t end,
				const struct naive_load **found)
{
	size_t count = 0;
	for (uint64_t time = begin; time <= end; time = naive_next_change(device, process, time)) {
		const struct naive_load *one = naive_find(device, process, address, time);
		bool is_new = one != NULL;
		for (size_t i = 0; i < count; i++)
			is_new &= found[i] != one;
		if (!is_new)
			continue;
		ck_assert_uint_lt(count, DURING_MAX);
		found[count++] = one;
	}
	return count;
}

/* device 0: all. */
static void naive_unload(uint64_t device, uint64_t process, uint64_t start, uint64_t time, bool all)
{
	for (size_t i = 0; i < naive_count; i++)
		if ((!device || naive[i].load.device == device) && naive[i].load.process == process &&
		    (all || naive[i].load.start == start) && naive[i].load.time <= time &&
		    naive[i].unloaded == UINT64_MAX)
			naive[i].unloaded = time;
}

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
	return (random_state >> 11) % limit;
}

static void check_same(const struct code_found *found, const struct naive_load *wanted, uint64_t address)
{
	ck_assert_ptr_eq(found->object, wanted->load.object);
	ck_assert_uint_eq(found->process, wanted->load.process);
	ck_assert_uint_eq(found->address, wanted->load.address + (address - wanted->load.start));
	ck_assert_uint_eq(found->loaded, wanted->load.time);
}

/* Look-ups over an interval, and in all processes (0 to 2); returns how many loads there were at most in one answer. */
static size_t check_during(struct code_index *index, uint64_t device, uint64_t address, uint64_t begin, uint64_t end)
{
	const struct naive_load *wanted[DURING_MAX];
	struct code_found all[3 * DURING_MAX], found[DURING_MAX];
	uint64_t horizon = code_index_horizon(index), known = begin < horizon ? horizon : begin;
	size_t all_count = code_index_find_all_during(index, device, address, begin, end, all, 3 * DURING_MAX);
	size_t sum = 0, most = 0;
	for (uint64_t process = 0; process < 3; process++) {
		size_t count = naive_find_during(device, process, address, known, end, wanted), seen = 0;
		ck_assert_uint_eq(
			code_index_find_during(index, device, process, address, begin, end, found, DURING_MAX), count);
		for (size_t i = 0; i < count; i++)
			check_same(&found[i], wanted[i], address);
		for (size_t i = 0; i < all_count; i++)
			if (all[i].process == process)
				check_same(&all[i], wanted[seen++], address);
		ck_assert_uint_eq(seen, count);
		sum += count;
		most = count > most ? count : most;
	}
	ck_assert_uint_eq(all_count, sum);
	ck_assert_uint_eq(code_index_find_all_during(index, device, address, begin, end, NULL, 0), sum);
	return most;
}

/* Small numbers, so that ranges overlap, nest, touch and come again, at equal times as well. */
TEST_LOOP(any_events_give_what_a_plain_list_gives, 0, HAS_SANITIZER ? 3 : 10)
{
	random_state = 88172645463325252u + (uint64_t)_i * 1000003;
	uint64_t window = 20 + random_below(200);
	struct code_index_options options = {
		.window = window, .capacity = _i % 2 ? 65536 : 400, .reference = reference, .release = release
	};
	struct code_index *index = code_index_new(&options);
	naive_count = 0;
	uint64_t now = 0, several_count = 0, found_count = 0, missed_count = 0, horizon_moves = 0, horizon = 0;
	for (size_t step = 0; step < 4000; step++) {
		now += random_below(3);
		uint64_t time = now - random_below(now < 10 ? now + 1 : 10), process = random_below(3);
		uint64_t device = random_below(8) ? 5 : 6;
		uint64_t kind = random_below(100);
		if (kind < 40) {
			struct code_load one = { .device = device,
						 .process = process,
						 .start = random_below(64),
						 .size = 1 + random_below(random_below(10) ? 8 : 64),
						 .time = time,
						 .object = (void *)(uintptr_t)(1 + random_below(1000)),
						 .address = random_below(1000) };
			if (code_index_load(index, &one) == 0)
				naive[naive_count++] = (struct naive_load){ one, UINT64_MAX };
		} else if (kind < 60) {
			uint64_t start = random_below(64);
			if (code_index_unload(index, device, process, start, time) != -ESTALE)
				naive_unload(device, process, start, time, false);
		} else if (kind < 61) {
			if (code_index_end_process(index, process, time) == 0)
				naive_unload(0, process, 0, time, true);
		} else if (kind < 62) {
			ck_assert(code_index_forget(index, now > window ? now - window : 0));
		}
		horizon_moves += code_index_horizon(index) != horizon;
		horizon = code_index_horizon(index);
		for (size_t i = 0; i < 8; i++) {
			uint64_t address = random_below(130),
				 when = now + 3 - random_below(now < window ? now + 3 : window);
			struct code_found found;
			bool is_found = code_index_find(index, device, process, address, when, &found);
			if (when < horizon) {
				ck_assert(!is_found);
				continue;
			}
			const struct naive_load *wanted = naive_find(device, process, address, when);
			ck_assert_int_eq(is_found, wanted != NULL);
			found_count += is_found;
			missed_count += !is_found;
			if (wanted)
				check_same(&found, wanted, address);
		}
		uint64_t begin = now + 3 - random_below(now < window ? now + 3 : window);
		if (step % 2 == 0)
			several_count +=
				check_during(index, device, random_below(80), begin, begin + random_below(40)) > 1;
	}
	ck_assert_uint_gt(found_count, 2000);
	ck_assert_uint_gt(missed_count, 2000);
	ck_assert_uint_gt(several_count, 200);
	ck_assert_uint_gt(horizon_moves, 5);
	int64_t held = 0;
	for (size_t i = 0; i < 1024; i++)
		held += references[i];
	ck_assert_int_eq(held, (int64_t)code_index_statistics(index).kept);
	code_index_free(index);
	for (size_t i = 0; i < 1024; i++)
		ck_assert_int_eq(references[i], 0);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
