/* SPDX-License-Identifier: Apache-2.0 */
/* An address space by itself: what is the same mapping, its bounds, and what forks and splits keep. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "process/address_space.h"
#include "../run_suite.h"

static struct address_space *space;
static uint64_t dropped;
static uint32_t serial;

static void set_up(void)
{
	space = address_space_new();
	ck_assert_ptr_nonnull(space);
	dropped = serial = 0;
}

static void tear_down(void)
{
	address_space_disown(space);
}

static const char file[] = "/lib/a", other_file[] = "/lib/b", memory[] = "//anon";

static struct mapping make(uint64_t start, uint64_t end, const char *path)
{
	return (struct mapping){ .start = start, .end = end, .serial = ++serial, .path = path };
}

/* Returns whether it was news. */
static bool add(struct address_space *to, struct mapping mapping, uint64_t time)
{
	int result = address_space_add(to, &mapping, time, NULL, &dropped);
	ck_assert_int_ge(result, 0);
	return result;
}

static const char *path_at(const struct address_space *of, uint64_t address, uint64_t time)
{
	const struct mapping *mapping = address_space_find(of, address, time);
	return mapping ? mapping->path : "";
}

static struct mapping whole(void)
{
	struct mapping mapping = make(0x1000, 0x3000, file);
	mapping.file_offset = 0x500;
	mapping.inode = 7;
	mapping.inode_generation = 3;
	mapping.device_major = 8;
	mapping.device_minor = 1;
	mapping.build_id_size = 4;
	memcpy(mapping.build_id, "abcd", 4);
	return mapping;
}

/* A look through /proc finds what is known, and something else where anything that identifies the file differs. */
TEST(a_file_is_distinguished_by_what_identifies_it)
{
	static const struct {
		const char *path;
		int64_t start, offset, inode, generation, major, minor; /* differences */
		uint32_t build_id_size;                                 /* of both */
		const char *build_id;
		bool has_no_inode, is_same;
	} cases[] = {
		{ .path = file, .is_same = true },
		{ .path = other_file },
		{ .path = file, .start = 0x800, .offset = 0x800, .is_same = true },
		{ .path = file, .start = 0x800, .offset = 0x801 },
		{ .path = file, .offset = 1 },
		{ .path = file, .inode = 1 },
		{ .path = file, .major = 1 },
		{ .path = file, .minor = 1 },
		{ .path = file, .generation = 1 },
		{ .path = file, .generation = -3, .is_same = true },
		{ .path = file, .inode = -7, .is_same = true },
		{ .path = file, .inode = 1, .build_id = "abcd", .build_id_size = 4, .is_same = true },
		{ .path = file, .build_id = "abce", .build_id_size = 4 },
		{ .path = file, .build_id = "abc", .build_id_size = 3 },
		{ .path = file, .build_id = "", .build_id_size = 0, .is_same = true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mapping first = whole(), second = whole();
		if (!cases[i].build_id)
			first.build_id_size = second.build_id_size = 0;
		else
			memcpy(second.build_id, cases[i].build_id, second.build_id_size = cases[i].build_id_size);
		second.path = cases[i].path;
		second.start += (uint64_t)cases[i].start;
		second.file_offset += (uint64_t)cases[i].offset;
		second.inode += (uint64_t)cases[i].inode;
		second.inode_generation += (uint64_t)cases[i].generation;
		second.device_major += (uint32_t)cases[i].major;
		second.device_minor += (uint32_t)cases[i].minor;
		second.flags = IAPROF_MAPPING_EXISTING;
		struct address_space *of = address_space_new();
		ck_assert(add(of, first, 10));
		ck_assert_msg(add(of, second, 20) == !cases[i].is_same, "case %zu", i);
		const struct mapping *found = address_space_find(of, 0x2000, 20);
		ck_assert_uint_eq(found->serial, cases[i].is_same ? first.serial : second.serial);
		ck_assert_uint_eq(address_space_find(of, 0x2000, 19)->serial, first.serial);
		address_space_disown(of);
	}
}

/* An event that something was mapped is news unless it is certainly the same; what is no file is known by its name. */
TEST(events_are_news_unless_certain)
{
	struct mapping without = make(0x1000, 0x3000, file);
	ck_assert(add(space, without, 10));
	ck_assert(add(space, without, 20));
	without.inode = 5;
	ck_assert(add(space, without, 30));
	ck_assert(!add(space, without, 40));
	without.inode = 0;
	ck_assert(add(space, without, 50));
	struct mapping heap = make(0x5000, 0x8000, memory);
	ck_assert(add(space, heap, 10));
	heap.inode = 9;
	heap.file_offset = 0x123;
	ck_assert(!add(space, heap, 20));
	heap.path = "[heap]";
	ck_assert(add(space, heap, 30));
}

/* A look does not replace what an event of the same time or later said. */
TEST(a_look_is_older_than_an_event_of_its_time)
{
	ck_assert(add(space, make(0x1000, 0x2000, file), 10));
	struct mapping look = make(0x1000, 0x2000, other_file);
	look.flags = IAPROF_MAPPING_EXISTING;
	ck_assert(!add(space, look, 10));
	ck_assert(add(space, look, 9)); /* it was there before the event */
	ck_assert_str_eq(path_at(space, 0x1000, 0), other_file);
	ck_assert_str_eq(path_at(space, 0x1000, 9), other_file);
	ck_assert_str_eq(path_at(space, 0x1000, 11), file);
	ck_assert(add(space, look, 11));
	ck_assert_str_eq(path_at(space, 0x1000, 10), file);
	ck_assert_str_eq(path_at(space, 0x1000, 11), other_file);
	/* What nobody heard of was there from the beginning. */
	look.start = 0x5000;
	look.end = 0x6000;
	ck_assert(add(space, look, 30));
	ck_assert_str_eq(path_at(space, 0x5000, 0), other_file);
}

/* Of a mapping over others only what they do not show is news, and that is one part where it is in one piece. */
TEST(only_what_differs_is_news)
{
	ck_assert(add(space, make(0x3000, 0x4000, memory), 10));
	ck_assert(add(space, make(0x6000, 0x7000, file), 10));
	ck_assert(add(space, make(0x1000, 0x9000, memory), 20));
	/* 0x1000 to 0x3000, the old part, 0x4000 to 0x9000 over the file. */
	ck_assert_uint_eq(space->current.count, 3);
	ck_assert_uint_eq(space->history.count, 1);
	static const uint64_t starts[] = { 0x1000, 0x3000, 0x4000 }, ends[] = { 0x3000, 0x4000, 0x9000 };
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(space->current.items[i].start, starts[i]);
		ck_assert_uint_eq(space->current.items[i].end, ends[i]);
		ck_assert_uint_eq(space->current.items[i].begin, i == 1 ? 10 : 20);
	}
	ck_assert_uint_eq(space->history.items[0].until, 20);
	ck_assert_str_eq(path_at(space, 0x6fff, 19), file);
	ck_assert_str_eq(path_at(space, 0x6000, 20), memory);
	ck_assert_str_eq(path_at(space, 0x5fff, 19), "");
	ck_assert_str_eq(path_at(space, 0x8fff, 20), memory);
	ck_assert_str_eq(path_at(space, 0x9000, 20), "");
}

/* Many parts at once, and in the past. */
TEST_LOOP(mappings_over_many_others_are_placed, 49, 51)
{
	enum { COUNT = 100 };
	for (uint64_t i = 1; i <= COUNT; i++)
		ck_assert(add(space, make(i * 0x2000, i * 0x2000 + 0x1000, file), 50));
	ck_assert(add(space, make(0x1000, COUNT * 0x2000 + 0x2000, memory), (uint64_t)_i));
	for (uint64_t i = 1; i <= COUNT; i++) {
		ck_assert_str_eq(path_at(space, i * 0x2000 - 1, 100), memory);
		ck_assert_str_eq(path_at(space, i * 0x2000, 100), _i < 50 ? file : memory);
		ck_assert_str_eq(path_at(space, i * 0x2000 + 0xfff, 49), _i < 50 ? memory : "");
		ck_assert_str_eq(path_at(space, i * 0x2000 + 0x1000, 100), memory);
	}
}

/* So many pieces there may be; with one more a quarter goes, the oldest first, and all that was before them. */
TEST(current_pieces_are_bounded)
{
	enum { ROOM = ADDRESS_SPACE_PIECES_MAX, GONE = ROOM + 1 - ROOM / 4 * 3 };
	const uint64_t top = (ROOM + 2) * 0x2000;
	ck_assert(add(space, make(top, top + 0x1000, file), 1)); /* the oldest has the highest address */
	ck_assert(add(space, make(0x1000, 0x2000, other_file), 2));
	for (uint64_t i = 1; i < ROOM; i++)
		ck_assert(add(space, make(i * 0x2000 - 0x1000, i * 0x2000, file), 2 + i));
	ck_assert_uint_eq(dropped, 0);
	ck_assert_uint_eq(space->history.count, 1);
	ck_assert(add(space, make(ROOM * 0x2000, ROOM * 0x2000 + 0x1000, file), 2 + ROOM));
	ck_assert_uint_eq(dropped, GONE + 1);
	ck_assert_uint_eq(space->current.count, ROOM / 4 * 3);
	ck_assert_str_eq(path_at(space, 0x1000, 2), "");
	ck_assert_str_eq(path_at(space, top, UINT64_MAX), "");
	ck_assert_str_eq(path_at(space, (GONE - 1) * 0x2000 - 0x1000, UINT64_MAX), "");
	ck_assert_str_eq(path_at(space, GONE * 0x2000 - 0x1000, UINT64_MAX), file);
}

TEST(history_is_bounded)
{
	enum { ROOM = ADDRESS_SPACE_PIECES_MAX, GONE = ROOM + 1 - ROOM / 4 * 3 };
	for (uint64_t i = 0; i <= ROOM; i++)
		ck_assert(add(space, make(0x1000, 0x2000, i % 2 ? file : other_file), 1 + i));
	ck_assert_uint_eq(dropped, 0);
	ck_assert_uint_eq(space->history.count, ROOM);
	ck_assert(add(space, make(0x1000, 0x2000, "[last]"), 2 + ROOM));
	ck_assert_uint_eq(dropped, GONE);
	ck_assert_uint_eq(space->history.count, ROOM / 4 * 3);
	ck_assert_str_eq(path_at(space, 0x1000, GONE), "");
	ck_assert_str_eq(path_at(space, 0x1000, GONE + 1), GONE % 2 ? file : other_file);
	ck_assert_str_eq(path_at(space, 0x1000, UINT64_MAX), "[last]");
}

/* What was reported from a time on goes, and so do the forks of then. */
TEST(a_split_is_by_the_time_of_reports)
{
	struct address_space *later = address_space_new(), *before = address_space_new(), *at = address_space_new();
	add(space, make(0x1000, 0x2000, file), 10);
	add(space, make(0x1000, 0x2000, other_file), 19);
	add(space, make(0x3000, 0x4000, file), 19);
	add(space, make(0x3000, 0x4000, other_file), 20);
	add(space, make(0x5000, 0x6000, file), 20);
	address_space_fork(before, space, 19);
	address_space_fork(at, space, 20);
	ck_assert_int_eq(address_space_split(space, 20, later), 0);
	ck_assert_ptr_eq(before->parent, space);
	ck_assert_ptr_eq(at->parent, later);
	ck_assert_uint_eq(at->fork_time, 20);
	ck_assert_str_eq(path_at(space, 0x1000, 18), file);
	ck_assert_str_eq(path_at(space, 0x1000, 30), other_file);
	ck_assert_str_eq(path_at(space, 0x3000, 30), file);
	ck_assert_str_eq(path_at(space, 0x5000, 30), "");
	ck_assert_str_eq(path_at(later, 0x1000, 30), "");
	ck_assert_str_eq(path_at(later, 0x3000, 30), other_file);
	ck_assert_str_eq(path_at(later, 0x5000, 20), file);
	ck_assert_str_eq(path_at(before, 0x3000, 30), file);
	ck_assert_str_eq(path_at(at, 0x3000, 30), other_file);
	address_space_disown(later);
	address_space_disown(before);
	address_space_disown(at);
}

/* Nothing was reported later: the space stays as it is. */
TEST(a_split_of_nothing_moves_nothing)
{
	struct address_space *later = address_space_new();
	add(space, make(0x1000, 0x2000, file), 10);
	ck_assert_int_eq(address_space_split(space, 11, later), 0);
	ck_assert_uint_eq(later->current.count + later->history.count, 0);
	ck_assert_str_eq(path_at(space, 0x1000, 11), file);
	address_space_disown(later);
}

/* History that ended before a time goes, unless a fork began while it was there. */
TEST(history_goes_unless_forks_need_it)
{
	struct address_space *forks[3];
	for (uint64_t i = 0; i < 5; i++) /* [10, 20), ... [40, 50), and the current one */
		add(space, make(0x1000, 0x2000, i % 2 ? file : other_file), 10 + 10 * i);
	static const uint64_t times[] = { 20, 29, 40 };
	for (size_t i = 0; i < 3; i++) {
		forks[i] = address_space_new();
		address_space_fork(forks[i], space, times[i]);
	}
	address_space_prune(space, 30);
	ck_assert_uint_eq(space->history.count, 3); /* those from 20, 30 and 40 on */
	ck_assert_uint_eq(space->history.items[0].begin, 20);
	address_space_prune(space, 39);
	ck_assert_uint_eq(space->history.count, 3);
	address_space_prune(space, 40);
	ck_assert_uint_eq(space->history.count, 2);
	address_space_disown(forks[0]);
	address_space_prune(space, 60);
	ck_assert_uint_eq(space->history.count, 2);
	ck_assert_str_eq(path_at(forks[1], 0x1000, 100), file);
	address_space_disown(forks[1]);
	address_space_prune(space, 60);
	ck_assert_uint_eq(space->history.count, 1);
	ck_assert_str_eq(path_at(forks[2], 0x1000, 100), file);
	address_space_disown(forks[2]);
	address_space_prune(space, 60);
	ck_assert_uint_eq(space->history.count, 0);
	ck_assert_str_eq(path_at(space, 0x1000, 60), other_file);
}

/* A space whose program has ended hands what its only fork sees down to it, and keeps it for two. */
TEST(forks_keep_what_they_saw)
{
	struct address_space *parent = address_space_new(), *first = address_space_new(), *second = address_space_new();
	add(parent, make(0x1000, 0x2000, file), 10);
	add(parent, make(0x3000, 0x4000, other_file), 10);
	add(parent, make(0x5000, 0x6000, file), 30);
	address_space_fork(space, parent, 20);
	address_space_fork(first, parent, 30);
	address_space_fork(second, first, 40);
	add(parent, make(0x1000, 0x2000, memory), 31);
	add(first, make(0x3000, 0x4000, memory), 35);
	add(second, make(0x1800, 0x2000, other_file), 50);
	address_space_disown(parent);
	ck_assert_ptr_eq(space->parent, parent); /* two forks need it */
	address_space_disown(first);
	ck_assert_ptr_eq(second->parent, parent);
	ck_assert_uint_eq(second->fork_time, 30);
	ck_assert_str_eq(path_at(second, 0x3000, 100), memory);
	ck_assert_str_eq(path_at(second, 0x5000, 100), file);
	ck_assert_str_eq(path_at(second, 0x17ff, 100), file);
	ck_assert_str_eq(path_at(second, 0x1800, 100), other_file);
	ck_assert_str_eq(path_at(second, 0x1800, 49), file);
	ck_assert_str_eq(path_at(space, 0x5000, 100), "");
	ck_assert_str_eq(path_at(space, 0x1000, 100), file);
	address_space_disown(second);
	ck_assert_ptr_null(space->next_sibling);
	ck_assert_ptr_null(space->previous_sibling);
	ck_assert_str_eq(path_at(space, 0x3000, 100), other_file);
}

/* What the parent showed at the fork is no news when /proc shows it of the child; what began later is. */
TEST(inherited_mappings_are_no_news)
{
	struct address_space *parent = address_space_new();
	add(parent, make(0x1000, 0x3000, memory), 10);
	add(parent, make(0x5000, 0x6000, memory), 21);
	address_space_fork(space, parent, 20);
	struct mapping look = make(0x1000, 0x3000, memory);
	look.flags = IAPROF_MAPPING_EXISTING;
	ck_assert(!add(space, look, 30));
	look.start = 0x2000;
	ck_assert(!add(space, look, 30));
	look.end = 0x3001; /* one byte more than the parent's */
	ck_assert(add(space, look, 30));
	look = make(0x5000, 0x6000, memory);
	look.flags = IAPROF_MAPPING_EXISTING;
	ck_assert(add(space, look, 30));
	look = make(0x1000, 0x2000, memory);
	ck_assert(add(space, look, 31)); /* an event: it was mapped again */
	address_space_disown(parent);
}

/* No space is its own ancestor, and the first parent stays. */
TEST(forks_make_no_circle)
{
	struct address_space *child = address_space_new(), *grandchild = address_space_new();
	address_space_fork(space, space, 10);
	ck_assert_ptr_null(space->parent);
	address_space_fork(child, space, 10);
	address_space_fork(grandchild, child, 20);
	address_space_fork(space, grandchild, 30);
	ck_assert_ptr_null(space->parent);
	address_space_fork(grandchild, space, 40);
	ck_assert_ptr_eq(grandchild->parent, child);
	ck_assert_uint_eq(grandchild->fork_time, 20);
	address_space_disown(child);
	address_space_disown(grandchild);
	ck_assert_ptr_null(space->first_child);
}

/* What a list has is what a search at each address finds. */
static void check_list(const struct address_space *of, uint64_t time, size_t expected)
{
	size_t count;
	struct mapped_range *ranges = address_space_list(of, time, 100, &count);
	ck_assert_uint_eq(count, expected);
	for (uint64_t address = 0, at = 0; address < 0x9000; address += 0x800) {
		while (at < count && ranges[at].end <= address)
			at++;
		const struct mapping *listed = at < count && ranges[at].start <= address ? ranges[at].mapping : NULL;
		ck_assert_ptr_eq(listed, address_space_find(of, address, time));
	}
	free(ranges);
}

TEST(a_list_has_what_a_search_finds)
{
	struct address_space *fork = address_space_new(), *next = address_space_new();
	check_list(space, 5, 0);
	add(space, make(0x1000, 0x5000, file), 10);
	add(space, make(0x2000, 0x3000, other_file), 20);
	add(space, make(0x6000, 0x7000, memory), 30);
	check_list(space, 9, 0);
	check_list(space, 10, 1);
	check_list(space, 25, 3);
	check_list(space, 30, 4);
	address_space_fork(fork, space, 25);
	add(fork, make(0x4000, 0x8000, memory), 40);
	add(space, make(0x1000, 0x8000, other_file), 50);
	check_list(fork, 30, 3);
	check_list(fork, 60, 4);
	address_space_fork(next, fork, 45);
	check_list(next, 60, 4);
	check_list(space, 60, 1);
	size_t count;
	struct mapped_range *ranges = address_space_list(fork, 60, 2, &count);
	ck_assert_uint_eq(count, 2);
	free(ranges);
	address_space_disown(next);
	address_space_disown(fork);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
