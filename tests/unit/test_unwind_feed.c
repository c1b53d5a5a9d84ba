/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feed of unwind tables, with real files and processes, and records of processes that do not exist: these have
 * ended before anybody could read their mappings.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "process/proc_reader.h"
#include "symbolizer/unwind/unwind_feed.h"
#include "symbolizer/unwind/unwind_processes.h"
#include "../run_suite.h"

#define PATIENCE (200 * NANOSECONDS_PER_SECOND)
/* Above the largest possible pid. */
#define GONE 4200000u
/* A user without an account. */
#define OTHER 61234u

struct told {
	uint32_t pid;
	uint64_t execution;
	uint32_t count; /* mappings */
	uint32_t tables;
	struct iaprof_unwind_mapping mappings[64]; /* the first ones */
};

static struct unwind_feed *feed;
static ARRAY(struct told) told;
static uint64_t tables;

static void take(void *context, const struct iaprof_unwind_table *table, const struct iaprof_unwind_process *process)
{
	if (table) {
		tables = table->id > tables ? table->id : tables;
		return;
	}
	struct told now = { .pid = process->pid, .execution = process->execution, .count = process->mapping_count };
	for (uint32_t i = 0; i < process->mapping_count; i++) {
		ck_assert_uint_le(process->mappings[i].table, tables);
		ck_assert_uint_lt(process->mappings[i].start, process->mappings[i].end);
		now.tables += process->mappings[i].table > 0;
		if (i < 64)
			now.mappings[i] = process->mappings[i];
	}
	ck_assert(array_push(&told, now));
}

static void set_up(void)
{
	ck_assert_int_eq(setenv("IAPROF_CACHE", "", 1), 0);
	feed = unwind_feed_new();
	ck_assert_ptr_nonnull(feed);
}

static void tear_down(void)
{
	unwind_feed_free(feed);
	array_free(&told);
	tables = 0;
}

/* Returns what was told of a process with this many mappings and tables, which may have been replaced since. */
static const struct told *find_told(uint32_t pid, uint32_t count, uint32_t with_table)
{
	for (size_t i = told.count; i-- > 0;)
		if (told.items[i].pid == pid && told.items[i].count == count && told.items[i].tables == with_table)
			return &told.items[i];
	return NULL;
}

/* Returns the last thing that was told of a process. */
static const struct told *last_of(uint32_t pid)
{
	for (size_t i = told.count; i-- > 0;)
		if (told.items[i].pid == pid)
			return &told.items[i];
	return NULL;
}

/* Waits until a process has been told with this many tables and mappings. */
static const struct told *wait_for(uint32_t pid, uint32_t count, uint32_t with_table)
{
	uint64_t end = clock_monotonic() + PATIENCE;
	unwind_feed_wake(feed); /* records wait for it */
	while (clock_monotonic() < end) {
		struct pollfd polled = { .fd = unwind_feed_descriptor(feed), .events = POLLIN };
		const struct told *found = find_told(pid, count, with_table);
		if (found)
			return found;
		poll(&polled, 1, 100);
		unwind_feed_deliver(feed, take, NULL);
	}
	const struct told *last = last_of(pid);
	ck_abort_msg("process %" PRIu32 " has %" PRIu32 " mappings and %" PRIu32 " tables", pid, last ? last->count : 0,
		     last ? last->tables : 0);
}

static uint64_t now(void)
{
	return clock_monotonic();
}

static void send_event(uint32_t event, uint32_t pid, uint32_t parent)
{
	struct iaprof_record_process record = {
		.header = { .type = IAPROF_RECORD_PROCESS, .size = sizeof record, .time = now() },
		.pid = pid,
		.parent_pid = parent,
		.event = event
	};
	unwind_feed_take(feed, &record.header, "");
}

/* The executable mapping of this test's C library, as of another process. */
static struct iaprof_record_mapping own_mapping(uint32_t pid, char path[256])
{
	static struct proc_maps maps;
	struct broker *broker = broker_new();
	struct process_mapping mapping;
	struct iaprof_record_mapping record = {
		.header = { .type = IAPROF_RECORD_MAPPING, .size = sizeof record, .time = now() }, .pid = pid
	};
	proc_maps_begin(&maps, broker, (uint32_t)getpid());
	while (proc_maps_read(&maps) > 0)
		while (proc_maps_take(&maps, &mapping) > 0) {
			snprintf(path, 256, "%.*s", (int)mapping.path_length, mapping.path);
			if (!mapping.executable || !strstr(path, "/libc.so"))
				continue;
			record.start = mapping.start;
			record.size = mapping.end - mapping.start;
			record.file_offset = mapping.file_offset;
			record.inode = mapping.inode;
			record.device_major = mapping.device_major;
			record.device_minor = mapping.device_minor;
			broker_free(broker);
			return record;
		}
	ck_abort_msg("no C library");
}

/* Numbers of executable mappings of a process, and of those that have a file. */
static void count_mappings(uint32_t pid, uint32_t *count, uint32_t *files)
{
	static struct proc_maps maps;
	struct broker *broker = broker_new();
	struct process_mapping mapping;
	*count = *files = 0;
	proc_maps_begin(&maps, broker, pid);
	while (proc_maps_read(&maps) > 0)
		while (proc_maps_take(&maps, &mapping) > 0)
			if (mapping.executable) {
				(*count)++;
				*files += mapping.path_length && (mapping.path[0] == '/' || mapping.path[1] == 'v') &&
					  memmem(mapping.path, mapping.path_length, "vsyscall", 8) == NULL;
			}
	broker_free(broker);
}

TEST(a_running_process_has_tables)
{
	uint32_t count, files, pid = (uint32_t)getpid();
	count_mappings(pid, &count, &files);
	ck_assert_uint_ge(files, 4);
	unwind_feed_request(feed, pid, 7);
	const struct told *process = wait_for(pid, count, files);
	ck_assert_uint_eq(process->execution, 7);
	for (uint32_t i = 1; i < count && i < 64; i++)
		ck_assert_uint_ge(process->mappings[i].start, process->mappings[i - 1].end);
}

TEST(a_process_that_has_ended_has_tables_and_is_then_forgotten)
{
	char path[256];
	struct iaprof_record_mapping mapping = own_mapping(GONE, path);
	send_event(IAPROF_PROCESS_FORK, GONE, (uint32_t)getpid());
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	mapping.header.time = now();
	unwind_feed_take(feed, &mapping.header, path);
	send_event(IAPROF_PROCESS_EXIT, GONE, 0);
	unwind_feed_request(feed, GONE, 3);
	const struct told *process = wait_for(GONE, 1, 1);
	ck_assert_uint_eq(process->execution, 3);
	ck_assert_uint_eq(process->mappings[0].start, mapping.start);
	ck_assert_uint_eq(process->mappings[0].end, mapping.start + mapping.size);
	/* The bias makes an address in the file of one in the process: the library's first page of code is there. */
	ck_assert_uint_eq(process->mappings[0].bias % 4096, 0);
	ck_assert_uint_le(process->mappings[0].bias, mapping.start);
	wait_for(GONE, 0, 0);
}

TEST(a_fork_has_the_tables_of_its_parent_at_once)
{
	uint32_t count, files, pid = (uint32_t)getpid();
	count_mappings(pid, &count, &files);
	unwind_feed_request(feed, pid, 7);
	wait_for(pid, count, files);
	send_event(IAPROF_PROCESS_FORK, GONE, pid);
	const struct told *process = wait_for(GONE, count, files);
	ck_assert_uint_eq(process->execution, 7);
	/* Also that of a fork, and not that of another process. */
	send_event(IAPROF_PROCESS_FORK, GONE + 1, GONE);
	wait_for(GONE + 1, count, files);
	send_event(IAPROF_PROCESS_FORK, GONE + 2, 1);
	send_event(IAPROF_PROCESS_FORK, GONE + 3, GONE);
	wait_for(GONE + 3, count, files);
	ck_assert_ptr_null(last_of(GONE + 2));
}

/* The test forks GONE, which has all mappings of the test. */
static void fork_gone(void)
{
	uint32_t count, files, pid = (uint32_t)getpid();
	count_mappings(pid, &count, &files);
	unwind_feed_request(feed, pid, 7);
	wait_for(pid, count, files);
	send_event(IAPROF_PROCESS_FORK, GONE, pid);
	wait_for(GONE, count, files);
}

/* GONE maps the C library, and is asked for. */
static const struct told *map_library(uint64_t execution)
{
	char path[256];
	struct iaprof_record_mapping mapping = own_mapping(GONE, path);
	unwind_feed_take(feed, &mapping.header, path);
	unwind_feed_request(feed, GONE, execution);
	return wait_for(GONE, 1, 1);
}

/* Its sample, and the copy of its stack, are from before. */
TEST(a_fork_that_was_sampled_has_the_tables_of_its_parent_after_it_ran_a_program)
{
	uint32_t count, files, pid = (uint32_t)getpid();
	count_mappings(pid, &count, &files);
	unwind_feed_request(feed, pid, 7);
	wait_for(pid, count, files);
	send_event(IAPROF_PROCESS_FORK, GONE, pid);
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	unwind_feed_request(feed, GONE, 7);
	ck_assert_uint_eq(wait_for(GONE, count, files)->execution, 7);
	wait_for(GONE, 0, 0);
	ck_assert_uint_eq(map_library(8)->execution, 8);
	/* The same for one that has ended. */
	send_event(IAPROF_PROCESS_FORK, GONE + 1, pid);
	send_event(IAPROF_PROCESS_EXIT, GONE + 1, 0);
	unwind_feed_request(feed, GONE + 1, 7);
	ck_assert_uint_eq(wait_for(GONE + 1, count, files)->execution, 7);
	wait_for(GONE + 1, 0, 0);
}

TEST(exec_replaces_the_mappings)
{
	fork_gone();
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	wait_for(GONE, 0, 0);
	ck_assert_uint_eq(map_library(8)->execution, 8);
}

TEST(a_mapping_that_comes_later_is_added)
{
	char path[256];
	struct iaprof_record_mapping mapping = own_mapping(GONE, path);
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	mapping.header.time = now();
	unwind_feed_take(feed, &mapping.header, path);
	unwind_feed_request(feed, GONE, 1);
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	mapping.header.time = now();
	unwind_feed_take(feed, &mapping.header, path);
	unwind_feed_request(feed, GONE, 2);
	wait_for(GONE, 1, 1);
	mapping.header.time = now();
	mapping.start += UINT64_C(1) << 40;
	unwind_feed_take(feed, &mapping.header, path);
	const struct told *process = wait_for(GONE, 2, 2);
	ck_assert_uint_eq(process->mappings[0].table, process->mappings[1].table);
	ck_assert_uint_eq(process->mappings[1].bias - process->mappings[0].bias, UINT64_C(1) << 40);
}

TEST(what_is_prepared_is_there_when_it_is_asked_for)
{
	uint32_t count, files, pid = (uint32_t)getpid();
	count_mappings(pid, &count, &files);
	unwind_feed_prepare(feed, pid);
	unwind_feed_wait(feed, now() + PATIENCE, take, NULL);
	ck_assert_uint_gt(tables, 0);
	ck_assert_ptr_null(last_of(pid));
	uint64_t before = tables;
	unwind_feed_request(feed, pid, 1);
	wait_for(pid, count, files);
	ck_assert_uint_eq(tables, before);
}

TEST(a_pid_that_is_used_again_is_another_process)
{
	fork_gone();
	send_event(IAPROF_PROCESS_EXIT, GONE, 0);
	send_event(IAPROF_PROCESS_FORK, GONE, 1);
	wait_for(GONE, 0, 0);
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	map_library(7);
}

TEST(an_unreadable_file_is_counted)
{
	struct iaprof_record_mapping mapping = {
		.header = { .type = IAPROF_RECORD_MAPPING, .size = sizeof mapping, .time = now() },
		.pid = GONE,
		.start = 0x10000,
		.size = 0x1000,
		.inode = 7
	};
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	mapping.header.time = now();
	unwind_feed_take(feed, &mapping.header, "/no/such/file");
	unwind_feed_request(feed, GONE, 1);
	wait_for(GONE, 1, 0);
	unwind_feed_end(feed);
	struct unwind_feed_summary summary = unwind_feed_summarize(feed);
	ck_assert_uint_eq(summary.refusal_count, 1);
	ck_assert_str_eq(summary.refusals[0].path, "/no/such/file");
	ck_assert_str_eq(summary.refusals[0].reason, strerror(ENOENT));
	ck_assert_uint_eq(summary.refusals[0].count, 1);
}

TEST(requests_after_the_end_are_not_kept)
{
	unwind_feed_end(feed);
	for (uint32_t i = 0; i < 100000; i++)
		unwind_feed_prepare(feed, GONE + i);
	ck_assert_uint_eq(unwind_feed_summarize(feed).dropped, 0);
}

/* Starts a process of an untrusted user, which the feed knows. */
static uint32_t start_other(void)
{
	int ready[2];
	char byte;
	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setgid(OTHER) || setuid(OTHER) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	send_event(IAPROF_PROCESS_EXISTING, (uint32_t)pid, 0);
	return (uint32_t)pid;
}

static void stop_other(uint32_t pid)
{
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
}

/* Six processes of 4,096 mappings each are three quarters of a user's share, the rest of which is for smaller ones. */
TEST(a_user_has_a_share_of_the_mappings)
{
	char path[256];
	uint32_t count, files, other = start_other(), small = start_other(), own = (uint32_t)getpid();
	struct iaprof_record_mapping mapping = own_mapping(other, path);
	for (uint64_t i = 0; i < 4000; i++) {
		mapping.start = (i + 1) << 30;
		mapping.header.time = now();
		unwind_feed_take(feed, &mapping.header, path);
	}
	unwind_feed_request(feed, other, 1);
	wait_for(other, 4000, 4000);
	for (uint32_t i = 0; i < 10; i++)
		send_event(IAPROF_PROCESS_FORK, GONE + i, other);
	count_mappings(own, &count, &files);
	unwind_feed_request(feed, own, 7);
	wait_for(own, count, files);
	for (uint32_t i = 0; i < 10; i++)
		ck_assert_msg(!last_of(GONE + i) == (i >= 5), "fork %" PRIu32, i);
	/* What a process that has ended had is given to the next one. */
	send_event(IAPROF_PROCESS_EXIT, GONE, 0);
	send_event(IAPROF_PROCESS_FORK, GONE + 20, other);
	wait_for(GONE + 20, 4000, 4000);
	wait_for(GONE, 0, 0);
	mapping = own_mapping(small, path);
	unwind_feed_take(feed, &mapping.header, path);
	unwind_feed_request(feed, small, 1);
	wait_for(small, 1, 1);
	unwind_feed_end(feed);
	struct unwind_feed_summary summary = unwind_feed_summarize(feed);
	ck_assert_uint_eq(summary.users->count, 1);
	ck_assert_uint_eq(summary.users->items[0].user, OTHER);
	ck_assert_uint_eq(summary.users->items[0].refused, 5);
	stop_other(small);
	stop_other(other);
}

TEST(a_user_has_a_share_of_the_files)
{
	enum { MORE = 6, COUNT = 1024 + MORE };
	char folder[] = "/tmp/iaprof-files-XXXXXX", path[256], command[64];
	struct iaprof_record_mapping mapping = own_mapping(GONE, path);
	struct stat status;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	send_event(IAPROF_PROCESS_EXEC, GONE, 0);
	char *paths = calloc(COUNT, 64);
	for (uint64_t i = 0; i < COUNT; i++) {
		char *name = paths + 64 * i;
		snprintf(name, 64, "%s/%" PRIu64, folder, i);
		int descriptor = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
		ck_assert(!fchown(descriptor, OTHER, OTHER) && !fstat(descriptor, &status));
		close(descriptor);
		mapping.start = (i + 1) << 30;
		mapping.inode = status.st_ino;
		mapping.device_major = major(status.st_dev);
		mapping.device_minor = minor(status.st_dev);
		mapping.header.time = now();
		unwind_feed_take(feed, &mapping.header, name);
	}
	unwind_feed_request(feed, GONE, 1);
	wait_for(GONE, COUNT, 0);
	unwind_feed_end(feed);
	struct unwind_feed_summary summary = unwind_feed_summarize(feed);
	ck_assert_uint_eq(summary.files, 1024);
	ck_assert_uint_eq(summary.refusal_count, MORE);
	ck_assert_str_eq(summary.refusals[0].reason, "too many files of its owner");
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
	free(paths);
}

/* The numbers of rows of the tables, by id; 0: withdrawn. */
static size_t rows_of[256];

static void note_table(void *context, uint32_t id, struct unwind_table *table)
{
	ck_assert_uint_lt(id, 256);
	rows_of[id] = table->rows.count;
	unwind_table_free(table);
}

/* Mappings have only tables that are there. */
static void note_process(void *context, uint32_t pid, uint64_t execution, unwind_mapping_array *mappings)
{
	for (size_t i = 0; i < mappings->count; i++)
		if (mappings->items[i].table) {
			ck_assert_uint_gt(rows_of[mappings->items[i].table], 0);
			++*(size_t *)context;
		}
	array_free(mappings);
}

/* Follows this process until all of its files were read. Returns how many of its mappings have a table. */
static size_t follow_self(struct unwind_files *files)
{
	static struct unwind_processes processes;
	size_t count = 0;
	uint64_t end = clock_monotonic() + PATIENCE;
	processes = (struct unwind_processes){ .files = files, .deliver = note_process, .context = &count };
	ck_assert_int_eq(unwind_processes_init(&processes), 0);
	unwind_processes_request(&processes, (uint32_t)getpid(), 1);
	while (unwind_files_read(files) && clock_monotonic() < end) {
		struct pollfd polled[UNWIND_READS_MAX];
		poll(polled, unwind_files_poll(files, polled), 100);
		unwind_files_finish(files);
		count = 0;
		/* Otherwise, what changed is delivered later. */
		for (size_t i = 0; i < processes.items.count; i++)
			processes.items.items[i].is_sent = false;
		unwind_processes_update(&processes);
	}
	unwind_processes_free(&processes);
	return count;
}

TEST(a_table_that_is_not_used_is_withdrawn_and_read_again)
{
	static struct unwind_files files;
	size_t before[256];
	files.deliver = note_table;
	ck_assert_int_eq(unwind_files_init(&files), 0);
	size_t count = follow_self(&files);
	ck_assert_uint_gt(count, 1);
	memcpy(before, rows_of, sizeof before);
	unwind_files_release(&files, 0);
	ck_assert_int_eq(memcmp(before, rows_of, sizeof before), 0);
	unwind_files_release(&files, UINT64_MAX);
	for (uint32_t id = 0; id < 256; id++)
		if (before[id] && (files.vdso == POSITION_NONE || files.items.items[files.vdso].table != id))
			ck_assert_uint_eq(rows_of[id], 0);
	ck_assert_uint_eq(follow_self(&files), count);
	ck_assert_int_eq(memcmp(before, rows_of, sizeof before), 0);
	unwind_files_free(&files);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP root is required\n");
		return 0;
	}
	return run_all_tests(220, set_up, tear_down);
}
