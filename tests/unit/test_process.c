/* SPDX-License-Identifier: Apache-2.0 */
/* The process table: images and mappings over time, in order and not, and that it forgets. */
#include <malloc.h>

#include "process/address_space.h"
#include "process_feed.h"
#include "../run_suite.h"

static struct process_table *table;

static void setup(void)
{
	table = process_table_new();
	ck_assert_ptr_nonnull(table);
}

static void teardown(void)
{
	process_table_free(table);
}

TEST(fork_exec_exit)
{
	EXISTING(table, 50, 1, 0, "shell");
	MAP_EXISTING(table, 50, 1, 0x1000, 0x3000, "/bin/shell");
	FORK(table, 100, 2, 1);
	EXEC(table, 200, 2, "worker");
	MAP(table, 210, 2, 0x1000, 0x2000, "/bin/worker");
	EXIT(table, 300, 2);

	ck_assert_str_eq(NAME_AT(table, 2, 150), "shell");
	ck_assert_str_eq(NAME_AT(table, 2, 250), "worker");
	ck_assert_str_eq(NAME_AT(table, 2, 1000), "worker"); /* a sample on its way out */
	ck_assert_str_eq(NAME_AT(table, 2, 90), "shell");    /* a sample before its first record: the oldest image */
	ck_assert_uint_eq(process_table_find(table, 2, 250)->parent_pid, 1);
	ck_assert_ptr_null(process_table_find(table, 3, 250));

	ck_assert_str_eq(ask_path(table, 10, 1, 0x1000), "/bin/shell"); /* there since before we looked */
	ck_assert_str_eq(ask_path(table, 150, 2, 0x2fff), "/bin/shell");
	ck_assert_str_eq(ask_path(table, 150, 2, 0x3000), "");
	ck_assert_str_eq(ask_path(table, 205, 2, 0x1000), "");
	ck_assert_str_eq(ask_path(table, 210, 2, 0x1000), "/bin/worker");
	ck_assert_str_eq(ask_path(table, 250, 2, 0x2000), ""); /* an exec leaves nothing of the parent's */
	ck_assert_str_eq(ask_path(table, 300, 2, 0x1fff), "/bin/worker");
}

TEST(overlap_replaces_from_its_time_on)
{
	MAP(table, 10, 1, 0x1000, 0x9000, "/a");
	MAP(table, 20, 1, 0x3000, 0x5000, "/b");
	MAP(table, 30, 1, 0x4000, 0xa000, "/c");

	const struct {
		uint64_t time, address;
		const char *path;
	} expected[] = {
		{ 9, 0x1000, "" },    { 15, 0x3000, "/a" }, { 15, 0x8fff, "/a" }, { 25, 0x2fff, "/a" },
		{ 25, 0x3000, "/b" }, { 25, 0x4fff, "/b" }, { 25, 0x5000, "/a" }, { 35, 0x1000, "/a" },
		{ 35, 0x3fff, "/b" }, { 35, 0x4000, "/c" }, { 35, 0x9fff, "/c" }, { 35, 0xa000, "" },
		{ 29, 0x9000, "" },   { 20, 0x3000, "/b" }, { 19, 0x3000, "/a" },
	};
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		ck_assert_str_eq(ask_path(table, expected[i].time, 1, expected[i].address), expected[i].path);

	/* What is left of a mapping is still that mapping: offsets are counted from its start. */
	const struct mapping *mapping = process_mapping_at(table, process_table_find(table, 1, 35), 0x3800, 35);
	ck_assert_uint_eq(mapping->start, 0x3000);
	ck_assert_uint_eq(mapping->end, 0x5000);
}

TEST(child_has_mappings_as_of_the_fork)
{
	MAP(table, 10, 1, 0x1000, 0x2000, "/old");
	FORK(table, 20, 2, 1);
	MAP(table, 30, 1, 0x1000, 0x2000, "/new");
	MAP(table, 30, 1, 0x5000, 0x6000, "/late");
	FORK(table, 40, 3, 2);
	MAP(table, 50, 3, 0x1800, 0x2000, "/own");

	ck_assert_str_eq(ask_path(table, 35, 1, 0x1000), "/new");
	ck_assert_str_eq(ask_path(table, 35, 2, 0x1000), "/old");
	ck_assert_str_eq(ask_path(table, 35, 2, 0x5000), "");
	ck_assert_str_eq(ask_path(table, 60, 3, 0x17ff), "/old");
	ck_assert_str_eq(ask_path(table, 60, 3, 0x1800), "/own");
	ck_assert_str_eq(ask_path(table, 45, 3, 0x1800), "/old");

	/* The ancestors end and are forgotten; the child's mappings are not. */
	uint32_t serial = process_mapping_at(table, process_table_find(table, 3, 60), 0x1000, 60)->serial;
	EXIT(table, 70, 1);
	EXIT(table, 71, 2);
	process_table_retire(table, 80, NULL, NULL);
	ck_assert_uint_eq(process_table_count(table), 1);
	ck_assert_ptr_null(process_table_find(table, 1, 35));
	ck_assert_str_eq(ask_path(table, 90, 3, 0x17ff), "/old");
	ck_assert_str_eq(ask_path(table, 90, 3, 0x1800), "/own");
	ck_assert_uint_eq(process_mapping_at(table, process_table_find(table, 3, 90), 0x1000, 90)->serial, serial);
}

TEST(exec_after_later_mapping)
{
	MAP(table, 10, 1, 0x1000, 0x2000, "/first");
	NAME(table, 10, 1, "first");
	MAP(table, 105, 1, 0x1000, 0x2000, "/second");
	MAP(table, 106, 1, 0x7000, 0x8000, "/library");
	FORK(table, 110, 2, 1);
	EXEC(table, 100, 1, "second");

	ck_assert_str_eq(NAME_AT(table, 1, 99), "first");
	ck_assert_str_eq(NAME_AT(table, 1, 100), "second");
	ck_assert_str_eq(ask_path(table, 99, 1, 0x1000), "/first");
	ck_assert_str_eq(ask_path(table, 101, 1, 0x1000), "");
	ck_assert_str_eq(ask_path(table, 105, 1, 0x1000), "/second");
	ck_assert_str_eq(ask_path(table, 99, 1, 0x7000), "");
	ck_assert_str_eq(ask_path(table, 120, 2, 0x7000), "/library"); /* the fork went with the newer image */
	ck_assert_uint_eq(process_table_find(table, 1, 50)->end, 100);
}

TEST(look_through_proc_races_with_events)
{
	/* The events came first: the look is of the same process. */
	FORK(table, 100, 2, 1);
	EXEC(table, 110, 2, "new");
	MAP(table, 120, 2, 0x1000, 0x3000, "/new");
	EXISTING(table, 150, 2, 1, "new");
	MAP_EXISTING(table, 150, 2, 0x1000, 0x2000, "/new"); /* the same thing, in parts */
	MAP_EXISTING(table, 150, 2, 0x2000, 0x3000, "/new");
	MAP_EXISTING(table, 150, 2, 0x8000, 0x9000, "/unheard");
	MAP_EXISTING(table, 119, 2, 0x1000, 0x3000, "/older"); /* looked at before the event */
	ck_assert_uint_eq(process_table_count(table), 3);      /* the parent, the fork, the exec */
	const struct mapping *mapping = process_mapping_at(table, process_table_find(table, 2, 160), 0x1000, 160);
	ck_assert_uint_eq(mapping->end, 0x3000);
	ck_assert_uint_eq(mapping->begin, 120);
	ck_assert_str_eq(ask_path(table, 130, 2, 0x8000), "/unheard");

	/* The look came first, and the events that led there after it. */
	EXISTING(table, 250, 5, 1, "program");
	MAP_EXISTING(table, 250, 5, 0x1000, 0x2000, "/program");
	FORK(table, 200, 5, 1);
	EXEC(table, 210, 5, "program");
	MAP(table, 220, 5, 0x1000, 0x2000, "/program");
	ck_assert_str_eq(NAME_AT(table, 5, 230), "program");
	ck_assert_uint_eq(process_table_find(table, 5, 230)->begin, 210);
	ck_assert_str_eq(ask_path(table, 230, 5, 0x1000), "/program");
	ck_assert_str_eq(ask_path(table, 205, 5, 0x1000), "");

	/* An exit that the look did not see, then a new process with the same pid that it did see. */
	EXISTING(table, 10, 7, 1, "old");
	EXISTING(table, 300, 7, 1, "young");
	EXIT(table, 280, 7);
	FORK(table, 290, 7, 1);
	ck_assert_str_eq(NAME_AT(table, 7, 295), "young");
	ck_assert_uint_eq(process_table_find(table, 7, 100)->end, 280);

	/* All we know is of the process after the one that exits. */
	EXISTING(table, 400, 8, 1, "after");
	EXIT(table, 390, 8);
	ck_assert_uint_eq(process_table_find(table, 8, 500)->end, UINT64_MAX);
}

TEST(look_through_proc_finds_what_was_lost)
{
	MAP(table, 100, 1, 0x1000, 0x2000, "/before");
	MAP_EXISTING(table, 200, 1, 0x1000, 0x2000, "/after");
	ck_assert_str_eq(ask_path(table, 150, 1, 0x1000), "/before");
	ck_assert_str_eq(ask_path(table, 200, 1, 0x1000), "/after");
}

TEST(names_by_time)
{
	EXISTING(table, 100, 1, 0, "");
	FORK(table, 110, 2, 1); /* whose parent's name is not known yet */
	NAME(table, 130, 1, "newest");
	NAME(table, 120, 1, "older");
	ck_assert_str_eq(NAME_AT(table, 1, 200), "newest");
	ck_assert_str_eq(NAME_AT(table, 2, 200), "newest");
	NAME(table, 125, 2, "own");
	ck_assert_str_eq(NAME_AT(table, 2, 200), "own");
}

TEST(a_child_has_its_parents_name_until_it_has_its_own)
{
	EXISTING(table, 100, 1, 0, "parent");
	FORK(table, 110, 2, 1);
	NAME(table, 120, 1, "renamed");
	FORK(table, 130, 3, 1);
	EXIT(table, 140, 1);
	ck_assert_str_eq(NAME_AT(table, 2, 200), "parent");
	ck_assert_str_eq(NAME_AT(table, 3, 200), "renamed");
	EXEC(table, 150, 3, "program");
	ck_assert_str_eq(NAME_AT(table, 3, 200), "program");
	ck_assert_str_eq(NAME_AT(table, 3, 149), "renamed");
	ck_assert_uint_eq(process_table_find(table, 3, 200)->parent_pid, 1);
}

/* What is mapped at the very time of a fork is the child's as well; later it is not. */
TEST(the_time_of_a_fork_belongs_to_both)
{
	MAP(table, 100, 1, 0x1000, 0x2000, "/before");
	FORK(table, 200, 2, 1);
	MAP(table, 201, 1, 0x1000, 0x2000, "/after");
	MAP(table, 150, 1, 0x3000, 0x4000, "/late"); /* reported late */
	ck_assert_str_eq(ask_path(table, 200, 2, 0x1000), "/before");
	ck_assert_str_eq(ask_path(table, 300, 2, 0x1000), "/before");
	ck_assert_str_eq(ask_path(table, 300, 2, 0x3000), "/late");
	ck_assert_str_eq(ask_path(table, 300, 1, 0x1000), "/after");
}

TEST(protection_changed_back_and_forth_adds_nothing)
{
	for (uint64_t time = 1; time < 100000; time++)
		MAP(table, time, 1, 0x1000 + time % 16 * 0x1000, 0x12000, "//anon");
	struct process *process = process_table_find(table, 1, 100000);
	ck_assert_uint_le(process_mapping_at(table, process, 0x1000, 100000)->serial, 17);
}

TEST(damaged_records_are_harmless)
{
	FORK(table, 10, 1, 2);
	FORK(table, 10, 2, 1); /* each other's parent */
	FORK(table, 10, 3, 3);
	MAP(table, 20, 1, 0x2000, 0x1000, "/negative");
	feed_mapping(table, 20, 1, UINT64_MAX - 10, UINT64_MAX, 0, "/last");
	feed_process(table, 20, 99, 1, 0, "no such event");
	ck_assert_str_eq(ask_path(table, 30, 2, 0x1500), "");
	ck_assert_str_eq(ask_path(table, 30, 1, UINT64_MAX - 1), "/last");
	ck_assert_str_eq(NAME_AT(table, 1, 30), "");
}

static void count_gone(void *context, struct process *process)
{
	ck_assert_ptr_nonnull(process_mapping_at(table, process, 0x1000, process->end));
	++*(size_t *)context;
}

TEST(short_processes_leave_nothing)
{
	size_t gone = 0, memory = 0;
	uint64_t time = 100;
	MAP(table, 10, 1, 0x1000, 0x2000, "/shell");
	for (uint32_t i = 0; i < 100000; i++, time += 10) {
		uint32_t pid = 2 + i % 30000; /* pids come again */
		FORK(table, time, pid, 1);
		if (i % 2) {
			EXEC(table, time + 1, pid, "short");
			MAP(table, time + 2, pid, 0x1000, 0x3000, "/short");
			MAP(table, time + 3, pid, 0x2000, 0x4000, "/library");
		}
		EXIT(table, time + 4, pid);
		if (i % 1000 == 999) {
			process_table_retire(table, time - 5000, count_gone, &gone);
			ck_assert_uint_le(process_table_count(table), 1600);
			if (i == 9999)
				memory = mallinfo2().uordblks;
		}
	}
	process_table_retire(table, time, count_gone, &gone);
	ck_assert_uint_eq(gone, 150000);
	ck_assert_uint_eq(process_table_count(table), 1);
	ck_assert_uint_le(mallinfo2().uordblks, memory);
}

TEST(chain_of_forks_stays_flat)
{
	size_t memory = 0;
	MAP(table, 1, 1, 0x1000, 0x2000, "/daemon");
	for (uint32_t i = 1; i <= 100000; i++) {
		FORK(table, i * 10, i + 1, i);
		EXIT(table, i * 10 + 5, i);
		if (i % 100 == 0)
			process_table_retire(table, i * 10 + 6, NULL, NULL);
		if (i == 1000)
			memory = mallinfo2().uordblks;
	}
	ck_assert_uint_eq(process_table_count(table), 1);
	ck_assert_uint_le(mallinfo2().uordblks, memory + 4096);
	ck_assert_str_eq(ask_path(table, 2000000, 100001, 0x1800), "/daemon");
}

TEST(one_process_cannot_use_up_memory)
{
	MAP(table, 0, 1, 0x1000, 0x2000, "/stale");
	MAP(table, 1, 1, 0x1000, 0x2000, "/forgotten");
	for (uint64_t i = 1; i <= 2 * ADDRESS_SPACE_PIECES_MAX; i++) {
		MAP(table, i, 1, i * 0x2000, i * 0x2000 + 0x1000, i % 2 ? "/a" : "/b");
		if (i == ADDRESS_SPACE_PIECES_MAX + 1)
			ck_assert_str_eq(ask_path(table, UINT64_MAX, 1, 0x1000), "");
	}
	uint64_t dropped = process_table_dropped(table);
	ck_assert_uint_ge(dropped, ADDRESS_SPACE_PIECES_MAX);
	ck_assert_str_eq(ask_path(table, UINT64_MAX, 1, 2 * (uint64_t)ADDRESS_SPACE_PIECES_MAX * 0x2000), "/b");
	for (uint64_t i = 1; i <= 2 * ADDRESS_SPACE_PIECES_MAX; i++)
		MAP(table, 1000000 + i, 2, 0x1000, 0x2000, i % 2 ? "/a" : "/b");
	ck_assert_uint_gt(process_table_dropped(table), dropped);
	ck_assert_str_eq(ask_path(table, UINT64_MAX, 2, 0x1000), "/b");
}

/* The latest name counts, and of those of one time the one that came last; none is no name. */
TEST(the_latest_name_counts)
{
	FORK(table, 100, 2, 0);
	NAME(table, 200, 2, "second");
	NAME(table, 199, 2, "first");
	ck_assert_str_eq(NAME_AT(table, 2, 300), "second");
	NAME(table, 200, 2, "third");
	ck_assert_str_eq(NAME_AT(table, 2, 300), "third");
	NAME(table, 300, 2, "");
	ck_assert_str_eq(NAME_AT(table, 2, 300), "third");
	/* An exec that is reported late replaces the names from its time on. */
	EXEC(table, 200, 2, "");
	ck_assert_str_eq(NAME_AT(table, 2, 199), "");
	ck_assert_str_eq(NAME_AT(table, 2, 200), "third");
	EXEC(table, 250, 2, "fourth");
	ck_assert_str_eq(NAME_AT(table, 2, 249), "third");
	ck_assert_str_eq(NAME_AT(table, 2, 250), "fourth");
	ck_assert_uint_eq(process_table_count(table), 3);
}

/* A program ends once, at the earliest time that was reported; at that time it is still there. */
TEST(a_program_has_one_end)
{
	FORK(table, 100, 2, 1);
	ck_assert_uint_eq(process_table_end(table, 2, 100), UINT64_MAX);
	ck_assert_uint_eq(process_table_end(table, 9, 100), UINT64_MAX);
	EXIT(table, 300, 2);
	EXIT(table, 350, 2);
	EXIT(table, 400, 9); /* nobody heard of it */
	ck_assert_uint_eq(process_table_end(table, 2, 100), 300);
	ck_assert_uint_eq(process_table_end(table, 2, 300), 300);
	ck_assert_uint_eq(process_table_end(table, 2, 301), UINT64_MAX);
	EXIT(table, 200, 2);
	ck_assert_uint_eq(process_table_end(table, 2, 100), 200);
	ck_assert_uint_eq(process_table_find(table, 2, 150)->begin, 100);
	/* The next program with its pid begins when it is heard of, at that time or later. */
	MAP(table, 200, 2, 0x1000, 0x2000, "/same");
	ck_assert_uint_eq(process_table_count(table), 2); /* with the parent */
	MAP(table, 201, 2, 0x1000, 0x2000, "/next");
	ck_assert_uint_eq(process_table_count(table), 3);
	ck_assert_uint_eq(process_table_find(table, 2, 201)->begin, 200);
	ck_assert_uint_eq(process_table_find(table, 2, 201)->end, UINT64_MAX);
	ck_assert_uint_eq(process_table_find(table, 2, 199)->end, 200);
	/* It is forgotten when it ended before a time, and not at it. */
	process_table_retire(table, 200, NULL, NULL);
	ck_assert_uint_eq(process_table_count(table), 3);
	process_table_retire(table, 201, NULL, NULL);
	ck_assert_uint_eq(process_table_count(table), 2);
	ck_assert_uint_eq(process_table_find(table, 2, 199)->begin, 200);
	ck_assert_ptr_null(process_table_by_serial(table, 1));
	ck_assert_uint_eq(process_table_by_serial(table, 3)->pid, 2);
}

/* The end of one program, reported late, divides what was known of its pid. */
TEST(a_late_end_divides)
{
	FORK(table, 100, 2, 0);
	MAP(table, 150, 2, 0x1000, 0x2000, "/before");
	MAP(table, 250, 2, 0x3000, 0x4000, "/after");
	EXIT(table, 200, 2);
	ck_assert_uint_eq(process_table_count(table), 2);
	ck_assert_uint_eq(process_table_end(table, 2, 150), 200);
	ck_assert_str_eq(ask_path(table, 300, 2, 0x3000), "/after");
	ck_assert_str_eq(ask_path(table, 300, 2, 0x1000), "");
	ck_assert_str_eq(ask_path(table, 199, 2, 0x1000), "/before");
	/* What nothing was heard of before the end is the later program's alone. */
	MAP(table, 250, 3, 0x1000, 0x2000, "/after");
	EXIT(table, 240, 3);
	ck_assert_uint_eq(process_table_find(table, 3, 250)->begin, 240);
	ck_assert_uint_eq(process_table_find(table, 3, 250)->end, UINT64_MAX);
	ck_assert_uint_eq(process_table_count(table), 3);
	MAP(table, 250, 4, 0x1000, 0x2000, "/at");
	EXIT(table, 250, 4);
	ck_assert_uint_eq(process_table_end(table, 4, 250), 250);
	ck_assert_uint_eq(process_table_count(table), 4);
}

/* A name is looked for in so many generations, which had none when they were forked. */
TEST(names_are_inherited_over_generations)
{
	enum { GENERATIONS = 16 };
	for (uint32_t i = 1; i <= GENERATIONS + 1; i++)
		FORK(table, 100 + i, i + 1, i);
	NAME(table, 50, 1, "ancestor");
	ck_assert_str_eq(NAME_AT(table, GENERATIONS + 2, 200), "");
	ck_assert_str_eq(NAME_AT(table, GENERATIONS + 1, 200), "ancestor");
	ck_assert_str_eq(NAME_AT(table, GENERATIONS + 2, 200), "ancestor"); /* of its parent now */
	ck_assert_uint_eq(process_table_find(table, 2, 200)->parent_pid, 1);
}

/* A scan of /proc provides an unknown parent; an exec keeps it. */
TEST(parents_are_the_first_that_are_reported)
{
	EXISTING(table, 10, 5, 4, "a");
	EXISTING(table, 20, 5, 3, "a");
	ck_assert_uint_eq(process_table_find(table, 5, 30)->parent_pid, 4);
	EXEC(table, 40, 5, "b");
	ck_assert_uint_eq(process_table_find(table, 5, 40)->parent_pid, 4);
	feed_process(table, 50, IAPROF_PROCESS_EXEC, 6, 2, "c");
	ck_assert_uint_eq(process_table_find(table, 6, 50)->parent_pid, 2);
	/* An exec that was reported before its fork. */
	EXEC(table, 120, 7, "d");
	EXEC(table, 130, 7, "e");
	FORK(table, 110, 7, 5);
	ck_assert_uint_eq(process_table_find(table, 7, 110)->parent_pid, 5);
	ck_assert_uint_eq(process_table_find(table, 7, 120)->parent_pid, 5);
	ck_assert_uint_eq(process_table_find(table, 7, 130)->parent_pid, 5);
	ck_assert_str_eq(NAME_AT(table, 7, 115), "b");
}

static void map_record(struct iaprof_record_mapping record)
{
	record.header = (struct iaprof_record){ .size = sizeof record, .type = IAPROF_RECORD_MAPPING, .time = 10 };
	record.pid = 1;
	ck_assert_int_eq(process_table_mapping(table, &record, "/file"), 0);
}

/* What a record cannot say is left out; the rest is kept as it is. */
TEST(mappings_are_kept_as_they_are_reported)
{
	map_record((struct iaprof_record_mapping){ .start = 0x1000 });
	map_record((struct iaprof_record_mapping){ .start = 0x1000, .size = UINT64_MAX - 0xfff + 1 });
	map_record((struct iaprof_record_mapping){
		.start = 0x1000, .size = 8, .build_id_size = IAPROF_BUILD_ID_SIZE_MAX + 1 });
	ck_assert_ptr_null(process_table_find(table, 1, 10));
	struct iaprof_record_mapping record = { .start = 0x1000,
						.size = UINT64_MAX - 0x1000,
						.file_offset = 1,
						.inode = 2,
						.inode_generation = 3,
						.device_major = 4,
						.device_minor = 5,
						.flags = IAPROF_MAPPING_DELETED,
						.build_id_size = IAPROF_BUILD_ID_SIZE_MAX };
	memset(record.build_id, 7, sizeof record.build_id);
	map_record(record);
	const struct mapping *mapping = process_mapping_at(table, process_table_find(table, 1, 10), 0x1000, 10);
	ck_assert_uint_eq(mapping->start, 0x1000);
	ck_assert_uint_eq(mapping->end, UINT64_MAX);
	ck_assert_uint_eq(mapping->file_offset, 1);
	ck_assert_uint_eq(mapping->inode, 2);
	ck_assert_uint_eq(mapping->inode_generation, 3);
	ck_assert_uint_eq(mapping->device_major, 4);
	ck_assert_uint_eq(mapping->device_minor, 5);
	ck_assert_uint_eq(mapping->serial, 1);
	ck_assert_uint_eq(mapping->flags, IAPROF_MAPPING_DELETED);
	ck_assert_uint_eq(mapping->begin, 10);
	ck_assert_mem_eq(mapping->build_id, record.build_id, sizeof record.build_id);
	map_record(record); /* the same again has no number */
	record.start += 1;
	record.size -= 1;
	record.inode++;
	record.build_id[19]++;
	map_record(record);
	ck_assert_uint_eq(process_mapping_at(table, process_table_find(table, 1, 10), 0x1001, 10)->serial, 2);
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
