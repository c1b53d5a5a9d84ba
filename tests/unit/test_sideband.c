/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side-band with real events: this program watches copies of itself (see child_main()) and compares what the
 * process table then knows with what the children did, /proc and readelf.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/string_table.h"
#include "broker/broker.h"
#include "process/name_throttle.h"
#include "process/sideband.h"
#include "process_feed.h"
#include "../run_suite.h"

/* A library that this program is not linked with, and which building it needs. */
#define LIBRARY "libdw.so.1"
#define LIBRARY_SYMBOL "dwarf_begin"

/* Bytes per CPU: nothing is lost while other programs start many processes. */
#define LARGE_RING (UINT64_C(2) << 20)

/* Fewer than a ring has room for. */
#define RENAMES 2000
#define LAST_NAME "name-1999"

/* The children: they say each step with a line on standard output, and go on when they get a byte. */

static void child_step(const char *text)
{
	char byte;
	dprintf(STDOUT_FILENO, "%s\n", text);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(1);
}

static void *child_thread(void *link)
{
	prctl(PR_SET_NAME, "a-thread");
	child_step("thread");
	execl(link, link, "wait", (char *)NULL);
	_exit(1);
}

static int child_main(char **arguments)
{
	if (!strcmp(arguments[1], "load")) {
		char text[64];
		child_step("started");
		void *library = dlopen(LIBRARY, RTLD_NOW);
		snprintf(text, sizeof text, "%p", library ? dlsym(library, LIBRARY_SYMBOL) : NULL);
		child_step(text);
	} else if (!strcmp(arguments[1], "wait")) {
		child_step("waiting");
	} else if (!strcmp(arguments[1], "rename")) {
		char name[16];
		for (int i = 0; i < RENAMES; i++) {
			snprintf(name, sizeof name, "name-%d", i);
			prctl(PR_SET_NAME, name);
		}
		child_step("renamed");
	} else if (!strcmp(arguments[1], "execute")) {
		child_step("started");
		execl(arguments[2], arguments[2], "wait", (char *)NULL);
		return EXIT_FAILURE;
	} else { /* the first thread ends; another one goes on, and executes the link */
		pthread_t thread;
		if (pthread_create(&thread, NULL, child_thread, arguments[2]))
			_exit(1);
		pthread_exit(NULL);
	}
	return EXIT_SUCCESS;
}

/* What the tests share: a side-band that feeds a table, and a folder for the names of children. */
static struct watch {
	struct sideband *sideband;
	struct process_table *table;
	struct string_table strings;
	ARRAY(struct iaprof_record_process) events;
	ARRAY(struct iaprof_record_mapping) mappings;
	uint64_t lost, last_time;
	unsigned gaps; /* losses of an unknown number of events */
	bool in_order;
	bool drains; /* reads events while it waits for a child, or those of other programs could fill the rings */
	char folder[32], program[512];
} watch;

static uint32_t watch_intern(void *context, const char *text, size_t length)
{
	return string_table_add(&((struct watch *)context)->strings, text, length, NULL);
}

static int watch_emit(void *context, const struct iaprof_batch *batch)
{
	struct watch *into = context;
	const struct iaprof_record *record = NULL;
	while ((record = iaprof_batch_next(batch, record))) {
		/* The end of a process whose first thread ended before others is reported last. */
		bool is_exit = record->type == IAPROF_RECORD_PROCESS &&
			       ((const struct iaprof_record_process *)record)->event == IAPROF_PROCESS_EXIT;
		if (!is_exit && record->time < into->last_time)
			into->in_order = false;
		if (!is_exit)
			into->last_time = record->time;
		if (record->type == IAPROF_RECORD_PROCESS) {
			const struct iaprof_record_process *process = (const struct iaprof_record_process *)record;
			const char *name = string_table_text(&into->strings, process->name);
			if (!array_push(&into->events, *process) ||
			    process_table_event(into->table, process, name, true))
				return -ENOMEM;
		} else {
			const struct iaprof_record_mapping *mapping = (const struct iaprof_record_mapping *)record;
			const char *path = string_table_text(&into->strings, mapping->path);
			if (!array_push(&into->mappings, *mapping) || process_table_mapping(into->table, mapping, path))
				return -ENOMEM;
		}
	}
	process_table_read_roots(into->table);
	return 0;
}

static void watch_lost(void *context, const char *reason, uint64_t begin, uint64_t count)
{
	ck_assert_ptr_nonnull(reason);
	ck_assert_uint_le(begin, clock_monotonic());
	struct watch *into = context;
	if (count == IAPROF_COUNT_UNKNOWN)
		into->gaps++;
	else
		into->lost += count;
}

static struct sideband_output output = {
	.context = &watch, .intern = watch_intern, .emit = watch_emit, .lost = watch_lost
};

static void watch_start(const uint32_t *pids, uint32_t pid_count, uint64_t ring_size)
{
	struct error error = { 0 };
	watch.table = process_table_new();
	output.broker = broker_new();
	ck_assert_ptr_nonnull(output.broker);
	watch.sideband = sideband_new(&output, pids, pid_count, false, ring_size, &error);
	ck_assert_msg(watch.sideband, "%s", error.text);
	ck_assert_int_eq(sideband_start(watch.sideband, &error), 0);
	ck_assert_int_eq(sideband_scan(watch.sideband, &error), 0);
	watch.in_order = true; /* the events since the start come after what the look through /proc found */
	watch.last_time = 0;
	watch.drains = ring_size == LARGE_RING;
	strcpy(watch.folder, "/tmp/iaprof-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(watch.folder));
	ssize_t length = readlink("/proc/self/exe", watch.program, sizeof watch.program - 1);
	ck_assert_int_gt(length, 0);
}

static void watch_stop(void)
{
	sideband_free(watch.sideband);
	broker_free(STEAL_POINTER(output.broker));
	process_table_free(watch.table);
	string_table_free(&watch.strings);
	array_free(&watch.events);
	array_free(&watch.mappings);
	rmdir(watch.folder);
}

static void drain(void)
{
	watch.last_time = 0;
	ck_assert_int_eq(sideband_drain(watch.sideband), 0);
}

static size_t count_events(uint32_t event, uint32_t pid)
{
	size_t count = 0;
	for (size_t i = 0; i < watch.events.count; i++)
		count += watch.events.items[i].event == event && watch.events.items[i].pid == pid;
	return count;
}

struct child {
	pid_t pid;
	int input;
	FILE *replies;
	char link[64]; /* its program, under the name that it should get */
};

static void child_link(char *link, size_t size, const char *name)
{
	snprintf(link, size, "%s/%s", watch.folder, name);
	ck_assert_int_eq(symlink(watch.program, link), 0);
}

static struct child child_start(const char *name, const char *mode, const char *argument)
{
	int input[2], replies[2];
	struct child child;
	child_link(child.link, sizeof child.link, name);
	ck_assert(!pipe2(input, O_CLOEXEC) && !pipe2(replies, O_CLOEXEC));
	child.pid = fork();
	ck_assert_int_ge(child.pid, 0);
	if (!child.pid) {
		dup2(input[0], STDIN_FILENO);
		dup2(replies[1], STDOUT_FILENO);
		execl(child.link, child.link, mode, argument, (char *)NULL);
		_exit(1);
	}
	close(input[0]);
	close(replies[1]);
	child.input = input[1];
	child.replies = fdopen(replies[0], "r");
	return child;
}

/* Waits until the child has replied or has ended. */
static void child_wait(const struct child *child)
{
	struct pollfd polled[] = { { .fd = fileno(child->replies), .events = POLLIN },
				   { .fd = sideband_descriptor(watch.sideband), .events = POLLIN } };
	while (watch.drains && poll(polled, 2, -1) > 0 && !polled[0].revents)
		drain();
}

/* Waits for the child's next line. */
static const char *child_reply(struct child *child)
{
	static char line[128];
	child_wait(child);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, child->replies));
	line[strcspn(line, "\n")] = 0;
	return line;
}

static void child_go(struct child *child)
{
	ck_assert_int_eq(write(child->input, "", 1), 1);
}

static void child_end(struct child *child)
{
	int status;
	child_go(child);
	child_wait(child);
	ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
	ck_assert_int_eq(status, 0);
	close(child->input);
	fclose(child->replies);
	unlink(child->link);
}

static const struct mapping *mapping_at(uint32_t pid, uint64_t address, uint64_t time)
{
	struct process *process = process_table_find(watch.table, pid, time);
	return process ? process_mapping_at(watch.table, process, address, time) : NULL;
}

/* Compares with stat(2). Overlay and btrfs have another device in mappings, but the same inode. */
static void check_file(const struct mapping *mapping)
{
	struct stat status;
	ck_assert_int_eq(stat(mapping->path, &status), 0);
	ck_assert_uint_eq(mapping->inode, status.st_ino);
	ck_assert_uint_ne(mapping->device_major | mapping->device_minor, 0);
	ck_assert_uint_eq(mapping->build_id_size, 0);
}

static void follow_a_child(void)
{
	watch_start(NULL, 0, LARGE_RING);
	uint64_t before_fork = clock_monotonic();
	struct child child = child_start("side-child", "load", NULL);
	uint32_t pid = (uint32_t)child.pid;
	ck_assert_str_eq(child_reply(&child), "started");
	uint64_t before = clock_monotonic();
	child_go(&child);
	uint64_t address = strtoull(child_reply(&child), NULL, 16);
	uint64_t after = clock_monotonic();
	ck_assert_uint_ne(address, 0);
	child_end(&child);
	uint64_t ended = clock_monotonic();
	drain();

	ck_assert(watch.in_order);
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_FORK, pid), 1);
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXEC, pid), 1);
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXIT, pid), 1);
	struct process *process = process_table_find(watch.table, pid, before);
	ck_assert_str_eq(process->name, "side-child");
	ck_assert_uint_eq(process->parent_pid, (uint32_t)getpid());
	ck_assert_uint_gt(process->begin, before_fork);
	ck_assert_uint_gt(process->end, after);
	ck_assert_uint_lt(process->end, ended);
	/* Between fork and exec it was this program, with its name and mappings. */
	const struct process *fork_image = process_table_find(watch.table, pid, process->begin - 1);
	ck_assert_str_eq(fork_image->name, process_table_find(watch.table, (uint32_t)getpid(), before)->name);
	const struct mapping *own = mapping_at(pid, (uintptr_t)mapping_at, process->begin - 1);
	ck_assert_ptr_nonnull(own);
	ck_assert_str_eq(own->path, watch.program);

	ck_assert_ptr_null(mapping_at(pid, address, before));
	const struct mapping *mapping = mapping_at(pid, address, after);
	ck_assert_ptr_nonnull(mapping);
	ck_assert_ptr_eq(mapping_at(pid, address, ended), mapping);
	ck_assert_uint_gt(mapping->begin, before);
	ck_assert_uint_lt(mapping->begin, after);
	/* The library is a symbolic link to a file with its version in the name. */
	CLEANUP_FREE char *real = realpath(mapping->path, NULL);
	ck_assert_str_eq(real, mapping->path);
	ck_assert_ptr_nonnull(strstr(mapping->path, "/libdw"));
	check_file(mapping);
	watch_stop();
}

TEST(follows_a_child)
{
	follow_a_child();
}

/* Another profiler that asks for build ids: on Linux 6.18, records of the side-band have their flag then. */
TEST(follows_a_child_beside_a_reader_of_build_ids)
{
	struct perf_event_attr attributes = { .size = sizeof attributes,
					      .type = PERF_TYPE_SOFTWARE,
					      .config = PERF_COUNT_SW_DUMMY,
					      .exclude_kernel = 1,
					      .mmap = 1,
					      .mmap2 = 1,
					      .build_id = 1 };
	struct {
		int descriptor;
		void *ring;
	} readers[1024];
	size_t count = 0, size = 9 * (size_t)sysconf(_SC_PAGESIZE);
	for (int cpu = 0; cpu < 1024; cpu++) {
		int descriptor = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (descriptor < 0)
			continue; /* not online, or Linux before 5.12 */
		/* Only an event with a ring has anything written. */
		void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
		ck_assert_ptr_ne(ring, MAP_FAILED);
		readers[count].descriptor = descriptor;
		readers[count++].ring = ring;
	}
	follow_a_child();
	while (count--) {
		munmap(readers[count].ring, size);
		close(readers[count].descriptor);
	}
}

TEST(threads_are_not_processes)
{
	watch_start(NULL, 0, LARGE_RING);
	char link[64];
	child_link(link, sizeof link, "after-thread");
	struct child child = child_start("threads", "threads", link);
	uint32_t pid = (uint32_t)child.pid;
	ck_assert_str_eq(child_reply(&child), "thread");
	drain();
	uint64_t time = clock_monotonic();
	ck_assert_str_eq(process_table_find(watch.table, pid, time)->name, "threads");
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_FORK, pid), 1);

	child_go(&child);
	ck_assert_str_eq(child_reply(&child), "waiting");
	drain();
	ck_assert_str_eq(process_table_find(watch.table, pid, clock_monotonic())->name, "after-thread");
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXIT, pid), 0);
	child_end(&child);
	drain();
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXIT, pid), 1);
	unlink(link);
	watch_stop();
}

/* Names are kept for the whole run: a process cannot have as many as it likes, and still it has its newest one. */
TEST(few_of_many_names_are_told)
{
	watch_start(NULL, 0, LARGE_RING);
	uint64_t begin = clock_monotonic();
	struct child child = child_start("renames", "rename", NULL);
	uint32_t pid = (uint32_t)child.pid;
	ck_assert_str_eq(child_reply(&child), "renamed");
	drain();
	uint64_t renamed = clock_monotonic(), seconds = (renamed - begin) / NANOSECONDS_PER_SECOND + 1;
	ck_assert_uint_ge(count_events(IAPROF_PROCESS_NAME, pid), RENAMES_AT_ONCE);
	ck_assert_uint_le(count_events(IAPROF_PROCESS_NAME, pid), RENAMES_AT_ONCE + seconds);
	ck_assert_str_ne(process_table_find(watch.table, pid, renamed)->name, "renames");

	child_end(&child);
	drain();
	ck_assert(watch.in_order);
	ck_assert_str_eq(process_table_find(watch.table, pid, renamed)->name, LAST_NAME);
	watch_stop();
}

TEST(only_the_pids_that_are_asked_for)
{
	uint32_t own = (uint32_t)getpid();
	watch_start(&own, 1, LARGE_RING);
	struct child child = child_start("other", "wait", NULL);
	child_reply(&child);
	child_end(&child);
	drain();
	ck_assert_uint_gt(watch.events.count, 0);
	for (size_t i = 0; i < watch.events.count; i++)
		ck_assert_uint_eq(watch.events.items[i].pid, own);
	for (size_t i = 0; i < watch.mappings.count; i++)
		ck_assert_uint_eq(watch.mappings.items[i].pid, own);
	watch_stop();
}

/* Executable memory of each kind, in this process; the path that the table should have for it. */
static void *map_file(const char *path, int descriptor)
{
	CLEANUP_CLOSE int file = descriptor >= 0 ? descriptor : open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0700);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(ftruncate(file, 8192), 0);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 4096);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	return memory;
}

TEST(scan_is_what_proc_has)
{
	char odd[64], removed[64];
	pid_t pid = getpid();
	snprintf(odd, sizeof odd, "/tmp/iaprof-test-%d a\nb", pid);
	snprintf(removed, sizeof removed, "/tmp/iaprof-test-%d removed", pid);
	const struct {
		void *memory;
		const char *path;
		uint32_t flags;
		uint64_t file_offset;
	} expected[] = {
		{ map_file(odd, -1), odd, 0, 4096 },
		{ map_file(removed, -1), removed, IAPROF_MAPPING_DELETED, 4096 },
		{ map_file(NULL, memfd_create("jit code", MFD_CLOEXEC)), "/memfd:jit code", IAPROF_MAPPING_DELETED,
		  4096 },
		{ mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "//anon", 0, 0 },
	};
	unlink(removed);
	watch_start(NULL, 0, 0);
	uint64_t now = clock_monotonic();
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		const struct mapping *mapping = mapping_at((uint32_t)pid, (uintptr_t)expected[i].memory, now);
		ck_assert_ptr_nonnull(mapping);
		ck_assert_str_eq(mapping->path, expected[i].path);
		ck_assert_uint_eq(mapping->flags, expected[i].flags | IAPROF_MAPPING_EXISTING);
		ck_assert_uint_eq(mapping->file_offset, expected[i].file_offset);
		ck_assert_uint_eq(mapping->start, (uintptr_t)expected[i].memory);
	}
	unlink(odd);

	/* All of /proc/self/maps that can be executed, and nothing else. */
	size_t lines = 0, records = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024], name[32];
	while (fgets(line, sizeof line, maps)) {
		unsigned long start, end, offset, inode;
		unsigned device_major, device_minor;
		char flags[5], path[512] = "";
		ck_assert_int_ge(sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %511[^\n]", &start, &end, flags, &offset,
					&device_major, &device_minor, &inode, path),
				 7);
		if (flags[2] != 'x')
			continue;
		lines++;
		const struct mapping *mapping = mapping_at((uint32_t)pid, start, now);
		ck_assert_ptr_nonnull(mapping);
		ck_assert_uint_eq(mapping->start, start);
		ck_assert_uint_eq(mapping->end, end);
		ck_assert_uint_eq(mapping->file_offset, offset);
		ck_assert_uint_eq(mapping->inode, inode);
		ck_assert_uint_eq(mapping->device_major, device_major);
		ck_assert_uint_eq(mapping->device_minor, device_minor);
		if (strncmp(path, "/tmp", 4) && strncmp(path, "/memfd", 6) && path[0])
			ck_assert_str_eq(mapping->path, path);
	}
	fclose(maps);
	for (size_t i = 0; i < watch.mappings.count; i++)
		records += watch.mappings.items[i].pid == (uint32_t)pid;
	ck_assert_uint_eq(records, lines);
	FILE *comm = fopen("/proc/self/comm", "re");
	ck_assert_ptr_nonnull(fgets(name, sizeof name, comm));
	fclose(comm);
	name[strcspn(name, "\n")] = 0;
	struct process *process = process_table_find(watch.table, (uint32_t)pid, now);
	ck_assert_str_eq(process->name, name);
	ck_assert_uint_eq(process->parent_pid, (uint32_t)getppid());
	ck_assert_uint_eq(process->begin, 0);
	watch_stop();
}

static pid_t short_process(void)
{
	pid_t pid = vfork();
	if (!pid)
		_exit(0);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* ThreadSanitizer makes a fork many times slower. */
#ifdef __SANITIZE_THREAD__
#define SHORT_PROCESSES 2000
#else
#define SHORT_PROCESSES 20000
#endif

TEST(many_short_processes)
{
	enum { PROCESSES = SHORT_PROCESSES, ROUND = 1000 };
	struct epoll_event event;
	size_t forks = 0, exits = 0, largest = 0; /* in the table, without those that began since the last retirement */
	watch_start(NULL, 0, 0);
	size_t before = process_table_count(watch.table);
	for (int i = 1; i <= PROCESSES; i++) {
		short_process();
		if (epoll_wait(sideband_descriptor(watch.sideband), &event, 1, 0) > 0 || i == PROCESSES)
			drain();
		if (i % ROUND && i != PROCESSES)
			continue;
		size_t begun = 0; /* on the whole machine, whose other programs may be busy, too */
		for (size_t e = 0; e < watch.events.count; e++) {
			const struct iaprof_record_process *record = &watch.events.items[e];
			begun += record->event != IAPROF_PROCESS_EXIT && record->event != IAPROF_PROCESS_NAME;
			if (record->event == IAPROF_PROCESS_FORK && record->parent_pid == (uint32_t)getpid())
				forks++;
			if (record->event == IAPROF_PROCESS_EXIT)
				exits++;
		}
		watch.events.count = watch.mappings.count = 0;
		if (process_table_count(watch.table) > largest + begun)
			largest = process_table_count(watch.table) - begun;
		process_table_retire(watch.table, clock_monotonic(), NULL, NULL);
	}
	/* Each was seen, or counted as lost. */
	ck_assert_uint_le(forks, PROCESSES);
	ck_assert_uint_ge(forks + watch.lost, PROCESSES);
	ck_assert_uint_ge(exits + watch.lost, PROCESSES);
	ck_assert_uint_lt(largest, before + 10 * ROUND);
	if (!watch.lost) /* other processes of the machine may have begun meanwhile */
		ck_assert_uint_lt(process_table_count(watch.table), before + ROUND);
	watch_stop();
}

TEST(what_does_not_fit_is_counted_and_looked_for)
{
	enum { PROCESSES = 1000 };
	watch_start(NULL, 0, (uint64_t)sysconf(_SC_PAGESIZE));
	size_t seen = 0;
	for (int i = 0; i < PROCESSES; i++)
		short_process();
	struct child child = child_start("unseen", "wait", NULL);
	child_reply(&child);
	drain();
	for (int i = 0; i < 10; i++) /* so that an old Linux kernel reports its losses */
		short_process();
	drain();
	for (size_t i = 0; i < watch.events.count; i++)
		seen += watch.events.items[i].event == IAPROF_PROCESS_FORK ||
			watch.events.items[i].event == IAPROF_PROCESS_EXIT;
	ck_assert_uint_gt(watch.lost, 0);
	ck_assert_uint_ge(seen + watch.lost, 2 * PROCESSES);

	/* /proc is looked through once a second at most: the first drain after that second does it. */
	sleep(1);
	drain();
	struct process *process = process_table_find(watch.table, (uint32_t)child.pid, clock_monotonic());
	ck_assert_ptr_nonnull(process);
	ck_assert_str_eq(process->name, "unseen");
	child_end(&child);
	watch_stop();
}

static size_t count_mappings(uint32_t pid)
{
	size_t count = 0;
	for (size_t i = 0; i < watch.mappings.count; i++)
		count += watch.mappings.items[i].pid == pid;
	return count;
}

static const char *name_now(const struct child *child)
{
	const struct process *process = process_table_find(watch.table, (uint32_t)child->pid, clock_monotonic());
	return process ? process->name : "";
}

TEST(while_events_are_stopped_processes_are_found_when_they_are_asked_for)
{
	watch_start(NULL, 0, LARGE_RING);
	struct child early = child_start("early", "wait", NULL);
	child_reply(&early);
	ck_assert(sideband_is_system_wide(watch.sideband));
	ck_assert_uint_eq(watch.gaps, 0);
	watch.drains = false;
	ck_assert_int_eq(sideband_pause(watch.sideband, true), 0);
	ck_assert(sideband_is_paused(watch.sideband));
	ck_assert_uint_eq(watch.gaps, 1);
	ck_assert_str_eq(name_now(&early), "early");

	struct child late = child_start("late", "wait", NULL);
	uint32_t pid = (uint32_t)late.pid;
	child_reply(&late);
	drain();
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_FORK, pid), 0);
	ck_assert_ptr_null(process_table_find(watch.table, pid, clock_monotonic()));
	child_end(&late);

	char link[64];
	child_link(link, sizeof link, "second");
	late = child_start("first", "execute", link);
	pid = (uint32_t)late.pid;
	child_reply(&late);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(sideband_rescan_process(watch.sideband, pid, 1), 0);
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXISTING, pid), 1);
	ck_assert_uint_gt(count_mappings(pid), 1);
	ck_assert_str_eq(name_now(&late), "first");
	uint64_t before = clock_monotonic();
	child_go(&late);
	ck_assert_str_eq(child_reply(&late), "waiting"); /* it has executed the link */
	ck_assert_int_eq(sideband_rescan_process(watch.sideband, pid, 2), 0);
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXIT, pid), 1);
	ck_assert_str_eq(name_now(&late), "second");
	ck_assert_str_eq(process_table_find(watch.table, pid, before - NANOSECONDS_PER_SECOND)->name, "first");

	/* /proc was read when events were stopped, and is read again after a minute, or when they are resumed. */
	child_end(&late);
	child_end(&early);
	unlink(link);
	ck_assert_int_eq(sideband_rescan(watch.sideband), 0);
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXIT, (uint32_t)early.pid), 0);
	ck_assert_int_eq(sideband_pause(watch.sideband, false), 0);
	watch.drains = true;
	ck_assert(!sideband_is_paused(watch.sideband));
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXIT, (uint32_t)early.pid), 1);
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXIT, pid), 2);
	struct child followed = child_start("followed", "wait", NULL);
	child_reply(&followed);
	drain();
	ck_assert_uint_eq(count_events(IAPROF_PROCESS_EXEC, (uint32_t)followed.pid), 1);
	ck_assert_uint_eq(watch.gaps, 1);
	child_end(&followed);
	watch_stop();
}

TEST(failures_say_what_to_do)
{
	struct error error = { 0 };
	ck_assert_ptr_null(sideband_new(&output, NULL, 0, false, 12345, &error));
	ck_assert_int_eq(error.code, -EINVAL);

	struct rlimit limit = { .rlim_cur = 6, .rlim_max = 6 };
	pid_t pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_NOFILE, &limit);
		while (open("/", O_PATH | O_CLOEXEC) >= 0 && errno != EMFILE)
			;
		close(5); /* one for epoll */
		struct sideband *sideband = sideband_new(&output, NULL, 0, false, 0, &error);
		_exit(!sideband && error.code == -EMFILE ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);

	int paranoid = 0;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	ck_assert(file && fscanf(file, "%d", &paranoid) == 1);
	fclose(file);
	if (paranoid < 1)
		return; /* then everybody may */
	pid = fork();
	if (!pid) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		struct sideband *sideband = sideband_new(&output, NULL, 0, false, 0, &error);
		fprintf(stderr, "# %s\n", error.text);
		_exit(!sideband && strstr(error.text, "CAP_PERFMON") && strstr(error.text, "perf_event_paranoid") ? 0
														  : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

int main(int argument_count, char **arguments)
{
	if (argument_count > 1)
		return child_main(arguments);
	struct error error = { 0 };
	struct sideband *probe = sideband_new(&output, NULL, 0, false, 0, &error);
	if (!probe) {
		printf("1..0 # SKIP %s\n", error.text);
		return EXIT_SUCCESS;
	}
	sideband_free(probe);
	return run_all_tests(0, NULL, NULL);
}
