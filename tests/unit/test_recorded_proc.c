/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of /proc on a /proc made by construction (recorded_machine.h), and how the side-band uses them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc_reader.h"
#include "process/process_stat.h"
#include "process/sideband.h"
#include "recorded_machine.h"
#include "../run_suite.h"

/* Flags of proc_pid_stat(5), include/linux/sched.h. */
#define EXITING 0x00000004u
#define KERNEL_THREAD 0x00200000u

#define A_MAPPING "1000-2000 r-xp 00003000 fe:01 4711 /bin/a\n"

static struct sideband *sideband;
static struct error error;

static void begin(const uint32_t *pids, uint32_t pid_count, bool children)
{
	error = (struct error){ 0 };
	sideband = sideband_new(&machine_output, pids, pid_count, children, 0, &error);
	ck_assert_msg(sideband, "%s", error.text);
	ck_assert_int_eq(sideband_start(sideband, &error), 0);
}

static void scan(void)
{
	ck_assert_int_eq(sideband_scan(sideband, &error), 0);
}

static void end(void)
{
	sideband_free(sideband);
	sideband = NULL;
	machine_end();
}

TEST(a_scan_writes_processes_and_their_executable_mappings)
{
	begin(NULL, 0, false);
	machine_process(10, 1, "a (b) c",
			A_MAPPING "2000-3000 rw-p 00000000 fe:01 4711 /bin/a\n"
				  "7f00-7f10 --xp 00000000 00:00 0 \n"
				  "8000-9000 r-xs 00001000 00:01 5 /memfd:a\\012b (deleted)\n");
	machine.now = 7;
	scan();
	expect("7 existing 10 of 1 a (b) c\n7 map 10 1000+1000 3000 /bin/a existing\n7 map 10 7f00+10 0 //anon "
	       "existing\n"
	       "7 map 10 8000+1000 1000 /memfd:a\nb deleted existing\n");
	ck_assert_uint_eq(sideband_process_count(sideband), 1);
}

/* Programs copy their code to huge pages: what is mapped beside it is left of the file. */
TEST(anonymous_code_between_mappings_of_a_file_may_be_a_copy)
{
	begin(NULL, 0, false);
	machine_process(10, 1, "copies",
			/* After a mapping that is not executable, in two parts. */
			"10000-11000 r--p 00000000 fe:01 4711 /bin/a\n"
			"11000-13000 r-xp 00000000 00:00 0 \n"
			"13000-14000 r-xp 00000000 00:00 0 \n"
			"14000-15000 r--p 00004000 fe:01 4711 /bin/a\n"
			/* Before one; what would begin before the file is none. */
			"20000-21000 r-xp 00000000 00:00 0 \n"
			"21000-22000 r-xp 00003000 fe:01 4711 /bin/a\n"
			"30000-32000 r-xp 00000000 00:00 0 \n"
			"32000-33000 r-xp 00001000 fe:01 4711 /bin/a\n"
			/* Not beside one: after other memory, and at a distance. */
			"33000-34000 rw-p 00000000 00:00 0 \n"
			"34000-35000 r-xp 00000000 00:00 0 \n"
			"40000-41000 r--p 00000000 fe:01 4711 /bin/a\n"
			"42000-43000 r-xp 00000000 00:00 0 \n"
			/* A buffer for generated code is no program. */
			"50000-51000 rw-s 00000000 00:01 5 /memfd:jit (deleted)\n"
			"51000-52000 r-xp 00000000 00:00 0 \n");
	scan();
	expect("0 existing 10 of 1 copies\n"
	       "0 map 10 11000+2000 1000 /bin/a existing copied\n"
	       "0 map 10 13000+1000 3000 /bin/a existing copied\n"
	       "0 map 10 20000+1000 2000 /bin/a existing copied\n"
	       "0 map 10 21000+1000 3000 /bin/a existing\n"
	       "0 map 10 30000+2000 0 //anon existing\n"
	       "0 map 10 32000+1000 1000 /bin/a existing\n"
	       "0 map 10 34000+1000 0 //anon existing\n"
	       "0 map 10 42000+1000 0 //anon existing\n"
	       "0 map 10 51000+1000 0 //anon existing\n");
}

TEST(a_scan_finds_what_runs)
{
	begin(NULL, 0, false);
	machine_process(10, 1, "runs", A_MAPPING);
	machine_process(11, 1, "kernel", A_MAPPING);
	machine_status(11, 1, "kernel", 'S', KERNEL_THREAD, 1, 5);
	machine_process(12, 1, "zombie", A_MAPPING);
	machine_status(12, 1, "zombie", 'Z', 0, 1, 5);
	machine_process(13, 1, "dead", A_MAPPING);
	machine_status(13, 1, "dead", 'X', 0, 1, 5);
	machine_process(14, 1, "exiting", A_MAPPING);
	machine_status(14, 1, "exiting", 'R', EXITING, 1, 5);
	machine_process(15, 1, "leader", A_MAPPING);
	machine_status(15, 1, "leader", 'Z', 0, 2, 5);
	machine_process(16, 1, "leader", A_MAPPING);
	machine_status(16, 1, "leader", 'X', 0, 3, 5);
	machine_process(17, 1, "last-thread", A_MAPPING);
	machine_status(17, 1, "last-thread", 'S', EXITING, 2, 5);
	machine_file("/proc/18/stat", "no status");
	machine_file("/proc/19/other", "ended meanwhile");
	machine_file("/proc/self/stat", "20 (self) S 1 7 7 0 -1 0 1 2 3 4 5 6 0 0 20 0 1 0 5 8 9\n");
	machine_file("/proc/21x/stat", "21 (none) S 1 7 7 0 -1 0 1 2 3 4 5 6 0 0 20 0 1 0 5 8 9\n");
	machine_file("/proc/0/stat", "0 (none) S 1 7 7 0 -1 0 1 2 3 4 5 6 0 0 20 0 1 0 5 8 9\n");
	machine_file("/proc/4294967306/stat", "22 (none) S 1 7 7 0 -1 0 1 2 3 4 5 6 0 0 20 0 1 0 5 8 9\n");
	machine_process(4294967295, 1, "greatest", "");
	scan();
	ck_assert_uint_eq(count_lines("0 existing 10 of 1 runs\n"), 1);
	ck_assert_uint_eq(count_lines("0 existing 11 of 1 kernel\n"), 1);
	ck_assert_uint_eq(count_lines("0 existing 15 of 1 leader\n"), 1);
	ck_assert_uint_eq(count_lines("0 existing 16 of 1 leader\n"), 1);
	ck_assert_uint_eq(count_lines("0 existing 17 of 1 last-thread\n"), 1);
	ck_assert_uint_eq(count_lines("0 existing 4294967295 of 1 greatest\n"), 1);
	ck_assert_uint_eq(count_lines("0 map 10 "), 1);
	ck_assert_uint_eq(count_lines("0 map 17 "), 1);
	ck_assert_uint_eq(count_lines("0 unreadable 15"), 1);
	ck_assert_uint_eq(count_lines("0 unreadable 16"), 1);
	ck_assert_uint_eq(count_lines("lost"), 0);
	ck_assert_uint_eq(count_lines(""), 10);
	ck_assert_uint_eq(sideband_process_count(sideband), 6);
	/* Reported once. */
	forget();
	machine.now = 5;
	scan();
	ck_assert_uint_eq(count_lines("5 unreadable"), 0);
	ck_assert_uint_eq(count_lines("5 existing"), 6);
}

/* A process that has threads ends with the last one. */
TEST(a_scan_finds_threads)
{
	begin(NULL, 0, false);
	machine_process(10, 1, "threads", "");
	machine_status(10, 1, "threads", 'S', 0, 2, 5);
	machine_process(11, 1, "single", "");
	scan();
	forget();
	put_exit(0, 1, 10, 10);
	put_exit(0, 1, 11, 11);
	machine.now = 2;
	ck_assert_int_eq(sideband_drain(sideband), 0);
	expect("1 exit 11\n");
}

TEST(what_may_not_be_read_is_reported)
{
	static const struct {
		const char *path;
		int code;
		size_t processes, mappings, unreadable;
	} refused[] = {
		{ "/proc/10/stat", EACCES, 0, 0, 1 },  { "/proc/10/stat", EPERM, 0, 0, 1 },
		{ "/proc/10/stat", EIO, 0, 0, 0 },     { "/proc/10/stat", ENOENT, 0, 0, 0 },
		{ "/proc/10/maps", EACCES, 1, 0, 1 },  { "/proc/10/maps", EIO, 1, 0, 1 },
		{ "/proc/10/maps", ENOENT, 1, 0, 0 },  { "/proc/10/maps", ESRCH, 1, 0, 0 },
		{ "/proc/10/other", EACCES, 1, 1, 0 },
	};
	machine_process(10, 1, "secret", A_MAPPING);
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		begin(NULL, 0, false);
		machine.refused_path = refused[i].path;
		machine.refused_error = refused[i].code;
		scan();
		ck_assert_uint_eq(count_lines("0 existing"), refused[i].processes);
		ck_assert_uint_eq(count_lines("0 map"), refused[i].mappings);
		ck_assert_uint_eq(count_lines("0 unreadable 10"), refused[i].unreadable);
		ck_assert_uint_eq(count_lines("lost"), 0);
		forget();
		sideband_free(sideband);
		sideband = NULL;
		for (size_t cpu = 0; cpu < 2; cpu++)
			close(machine.rings[cpu].other_end);
	}
}

TEST(a_machine_without_proc_is_an_error)
{
	const uint32_t pid = 10;
	machine.refused_path = "/proc";
	machine.refused_error = ENOENT;
	begin(NULL, 0, false);
	ck_assert_int_eq(sideband_scan(sideband, &error), -ENOENT);
	ck_assert_str_eq(error.text, "cannot scan /proc: No such file or directory");
	sideband_free(sideband);
	begin(&pid, 1, true);
	ck_assert_int_eq(sideband_scan(sideband, &error), -ENOENT);
	ck_assert_str_eq(error.text, "cannot scan /proc: No such file or directory");
	sideband_free(sideband);
	machine.refused_path = NULL;
	begin(NULL, 0, false);
	machine_process(10, 1, "a", "");
	machine.emit_result = -EPIPE;
	ck_assert_int_eq(sideband_scan(sideband, &error), -EPIPE);
	ck_assert_str_eq(error.text, "records of processes: Broken pipe");
}

/* Events have the path as the process sees it. */
TEST(the_root_of_a_process_is_no_part_of_paths)
{
	begin(NULL, 0, false);
	machine_process(
		10, 1, "chroot",
		"1000-2000 r-xp 00000000 fe:01 1 /srv/root/bin/a\n2000-3000 r-xp 00000000 fe:01 1 /srv/rootbin/a\n"
		"3000-4000 r-xp 00000000 fe:01 1 /srv/root\n4000-5000 r-xp 00000000 fe:01 1 /bin/a\n"
		"5000-6000 r-xp 00000000 fe:01 1 /srv/roo7/bin/a\n");
	machine_link("/proc/10/root", "/srv/root");
	scan();
	expect("0 existing 10 of 1 chroot\n0 map 10 1000+1000 0 /bin/a existing\n0 map 10 2000+1000 0 /srv/rootbin/a "
	       "existing\n"
	       "0 map 10 3000+1000 0 /srv/root existing\n0 map 10 4000+1000 0 /bin/a existing\n"
	       "0 map 10 5000+1000 0 /srv/roo7/bin/a existing\n");
	/* Unknown: as they are. */
	machine_remove("/proc/10/root");
	machine.now = 1;
	scan();
	ck_assert_uint_eq(count_lines("1 map 10 1000+1000 0 /srv/root/bin/a existing\n"), 1);
}

/* The root of one process is not that of the next. */
TEST(each_process_has_its_own_root)
{
	const uint32_t pids[] = { 10, 11 };
	begin(pids, 2, false);
	machine_process(10, 1, "chroot", "1000-2000 r-xp 00000000 fe:01 1 /srv/root/bin/a\n");
	machine_link("/proc/10/root", "/srv/root");
	machine_process(11, 1, "other", "1000-2000 r-xp 00000000 fe:01 1 /srv/root/bin/a\n");
	scan();
	expect("0 existing 10 of 1 chroot\n0 map 10 1000+1000 0 /bin/a existing\n0 existing 11 of 1 other\n"
	       "0 map 11 1000+1000 0 /srv/root/bin/a existing\n");
}

TEST(malformed_lines_are_counted_and_the_others_read)
{
	enum { LONG = PROC_MAPS_SIZE + 4000 };
	CLEANUP_FREE char *text = calloc(1, LONG + 1000);
	begin(NULL, 0, false);
	strcpy(text, "no mapping\n");
	memset(text + strlen(text), 'x', LONG);
	strcat(text, "\n" A_MAPPING "2000-1000 r-xp 00000000 fe:01 1 /b\n4000-5000 r-xp 00000000 fe:01 1 /cut-off");
	machine_process(10, 1, "odd", text);
	scan();
	/* The longest line is refused when the buffer is full, and so is its rest. */
	expect("lost since 0: 4 malformed lines in /proc/PID/maps\n0 existing 10 of 1 odd\n"
	       "0 map 10 1000+1000 3000 /bin/a existing\n");
}

/* A memory map of several times the buffer: each line once, wherever a piece ends. */
TEST(large_maps_are_read_piece_by_piece)
{
	enum { LINES = 5000 };
	char line[128];
	CLEANUP_FREE char *text = malloc(LINES * sizeof line);
	size_t size = 0;
	begin(NULL, 0, false);
	for (uint32_t i = 1; i <= LINES; i++)
		size += (size_t)sprintf(text + size, "%x000-%x800 r-xp 00000000 fe:01 1 /%.*s\n", i, i, (int)(i % 37),
					"abcdefghijklmnopqrstuvwxyz0123456789");
	ck_assert_uint_gt(size, 3 * PROC_MAPS_SIZE);
	machine_process(10, 1, "large", text);
	scan();
	ck_assert_uint_eq(count_lines(""), 1 + LINES);
	const char *at = strchr(machine.log, '\n') + 1;
	for (uint32_t i = 1; i <= LINES; i++) {
		snprintf(line, sizeof line, "0 map 10 %x000+800 0 /%.*s existing\n", i, (int)(i % 37),
			 "abcdefghijklmnopqrstuvwxyz0123456789");
		if (strncmp(at, line, strlen(line)) != 0)
			ck_abort_msg("%s", line);
		at += strlen(line);
	}
}

/* Returns a memory map of at least so many pieces, with a mapping in each line; the caller frees it. */
static char *pieces(size_t count)
{
	static const char line[] = "1000-2000 r-xp 00000000 fe:01 1 /a\n";
	size_t lines = count * PROC_MAPS_SIZE / (sizeof line - 1) + 1;
	char *text = malloc(lines * (sizeof line - 1) + 1);
	for (size_t i = 0; i < lines; i++)
		memcpy(text + i * (sizeof line - 1), line, sizeof line);
	return text;
}

/* Reading takes as long as the owner of a process likes: the machine's clock goes on with each look at it. */
TEST(the_time_for_memory_maps_of_a_user_is_limited)
{
	static const uint32_t pids[] = { 10, 11, 12, 13, 14, 15 };
	static const uint32_t users[] = { 1, 1, 2, 3, 4, 0 };
	CLEANUP_FREE char *text = pieces(4);
	char line[128];
	size_t counts[6];
	for (size_t i = 0; i < 6; i++) {
		machine_process(pids[i], 1, "slow", text);
		machine_owner(pids[i], users[i] ? geteuid() + 1000 + users[i] : 0);
	}
	begin(pids, 6, false);
	machine.step = SECOND / 10;
	scan();
	for (size_t i = 0; i < 6; i++) {
		counts[i] = 0;
		snprintf(line, sizeof line, " map %" PRIu32 " ", pids[i]);
		for (const char *at = machine.log; (at = strstr(at, line)); at++)
			counts[i]++;
	}
	/* 100 ms, 200 ms: two pieces; 300 ms are too long. That is 399 ms of the user beyond what is usual. */
	ck_assert_uint_eq(counts[0], 2 * PROC_MAPS_SIZE / 35);
	ck_assert_uint_eq(counts[1], 0);
	ck_assert_uint_eq(counts[2], 2 * PROC_MAPS_SIZE / 35);
	/* All untrusted users have a second: 199 ms more of the first, 399 ms of the second, and 100 ms. */
	ck_assert_uint_eq(counts[3], 0);
	ck_assert_uint_eq(counts[4], 0);
	ck_assert_uint_eq(counts[5], 4 * PROC_MAPS_SIZE / 35 + 1);
	for (unsigned user = 1; user <= 4; user++) {
		snprintf(line, sizeof line, "mappings of processes of user %u (reading takes too long)\n",
			 geteuid() + 1000 + user);
		const char *found = strstr(machine.log, line);
		ck_assert_ptr_nonnull(found);
		ck_assert_int_eq(found[-2], user == 1 ? '2' : '1');
	}
	ck_assert_uint_eq(count_lines("lost"), 4);
	/* Told once. */
	forget();
	machine.step = 0;
	const uint32_t none = 99;
	sideband_free(sideband);
	begin(&none, 1, false);
	scan();
	expect("");
}

/* What is usual is free, however often. */
TEST(usual_memory_maps_are_always_read)
{
	begin(NULL, 0, false);
	machine_process(10, 1, "usual", A_MAPPING);
	machine_owner(10, geteuid() + 1000);
	machine.step = SECOND / 1000 / 2 - 1;
	for (size_t i = 0; i < 2000; i++) {
		scan();
		ck_assert_uint_eq(count_lines("lost"), 0);
		const char *mapping = strstr(machine.log, "/bin/a existing\n");
		ck_assert_ptr_nonnull(mapping);
		forget();
	}
}

TEST(one_process_is_looked_at_again_if_it_runs_another_program)
{
	begin(NULL, 0, false);
	machine_process(10, 1, "first", A_MAPPING);
	scan();
	forget();
	machine.now = 1;
	ck_assert_int_eq(sideband_rescan_process(sideband, 10, 3), 0);
	expect("1 existing 10 of 1 first\n1 map 10 1000+1000 3000 /bin/a existing\n");
	machine.now = 2;
	ck_assert_int_eq(sideband_rescan_process(sideband, 10, 3), 0);
	expect("");
	machine_process(10, 1, "second", "");
	ck_assert_int_eq(sideband_rescan_process(sideband, 10, 4), 0);
	expect("1 exit 10\n2 existing 10 of 1 second\n");
	/* The pid of another process, which executed as often. */
	machine_status(10, 1, "third", 'S', 0, 1, 7);
	machine.now = 3;
	ck_assert_int_eq(sideband_rescan_process(sideband, 10, 4), 0);
	expect("2 exit 10\n3 existing 10 of 1 third\n");
	/* Unreadable now: it may still run. */
	machine.refused_path = "/proc/10/stat";
	machine.refused_error = EACCES;
	machine.now = 4;
	ck_assert_int_eq(sideband_rescan_process(sideband, 10, 4), 0);
	expect("");
	machine.refused_path = NULL;
	machine_gone(10);
	machine.now = 5;
	ck_assert_int_eq(sideband_rescan_process(sideband, 10, 4), 0);
	expect("5 exit 10\n");
	ck_assert_int_eq(sideband_rescan_process(sideband, 11, 1), 0);
	expect("");
	machine_process(11, 1, "new", "");
	ck_assert_int_eq(sideband_rescan_process(sideband, 11, 0), 0);
	expect("5 existing 11 of 1 new\n");
	ck_assert_int_eq(sideband_rescan_process(sideband, 11, 0), 0);
	expect("");
	machine.emit_result = -EPIPE;
	ck_assert_int_eq(sideband_rescan_process(sideband, 11, 1), -EPIPE);
	ck_assert_uint_eq(sideband_process_count(sideband), 1);
}

/* A process that forked and was never scanned has no start to compare. */
TEST(a_process_is_not_ended_for_an_unknown_start)
{
	begin(NULL, 0, false);
	scan();
	put_fork(0, 1, 10, 1);
	machine.now = 2;
	ck_assert_int_eq(sideband_drain(sideband), 0);
	machine_process(10, 1, "forked", "");
	forget();
	put_lost(0, 3, 1);
	machine.now = SECOND;
	ck_assert_int_eq(sideband_drain(sideband), 0);
	ck_assert_uint_eq(count_lines("1000000000 exit"), 0);
	ck_assert_uint_eq(count_lines("1000000000 existing 10 of 1 forked\n"), 1);
}

TEST(the_status_of_a_process_is_read)
{
	char text[PROC_STATUS_SIZE];
	struct proc_status status;
	machine_status(10, 4, "a b", 'S', 64, 3, 77);
	ck_assert_int_eq(proc_status_read(10, text, &status), 0);
	ck_assert_uint_eq(status.parent_pid, 4);
	ck_assert_uint_eq(status.threads, 3);
	ck_assert_uint_eq(status.start_ticks, 77);
	ck_assert_uint_eq(status.name_length, 3);
	ck_assert_int_eq(proc_status_read(11, text, &status), -ENOENT);
	machine_file("/proc/12/stat", "12 (a");
	ck_assert_int_eq(proc_status_read(12, text, &status), -EINVAL);
	machine_file("/proc/13/stat/folder", "");
	ck_assert_int_eq(proc_status_read(13, text, &status), -EISDIR);

	static const struct {
		char state;
		unsigned flags, threads;
		bool has_ended;
	} states[] = { { 'S', 0, 1, false },       { 'Z', 0, 1, true },  { 'X', 0, 1, true },
		       { 'R', EXITING, 1, true },  { 'Z', 0, 2, false }, { 'X', 0, 2, false },
		       { 'R', EXITING, 2, false }, { 'Z', 0, 0, true },  { 'R', ~EXITING, 1, false } };
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		machine_status(20, 1, "p", states[i].state, states[i].flags, states[i].threads, 5);
		ck_assert_int_eq(proc_has_ended(20), states[i].has_ended);
	}
	ck_assert(proc_has_ended(21));
	const struct proc_status zombie = { .state = 'Z', .threads = 1 };
	ck_assert(proc_reading_has_ended(-ESRCH, &zombie) && proc_reading_has_ended(-ENOENT, &zombie));
	ck_assert(!proc_reading_has_ended(-EACCES, &zombie));
	ck_assert_uint_eq(proc_ticks_to_ns((uint64_t)sysconf(_SC_CLK_TCK) * 3), 3 * SECOND);
}

TEST(maps_are_read_until_their_end)
{
	struct process_mapping mapping;
	CLEANUP_FREE struct proc_maps *maps = malloc(sizeof *maps);
	machine_file("/proc/10/maps", A_MAPPING A_MAPPING);
	proc_maps_begin(maps, NULL, 10);
	ck_assert_int_eq(proc_maps_take(maps, &mapping), 0);
	ck_assert_int_eq(proc_maps_read(maps), 1);
	ck_assert_int_eq(proc_maps_take(maps, &mapping), 1);
	ck_assert_uint_eq(mapping.start, 0x1000);
	ck_assert_int_eq(proc_maps_take(maps, &mapping), 1);
	ck_assert_int_eq(proc_maps_take(maps, &mapping), 0);
	ck_assert_int_eq(proc_maps_read(maps), 0);
	ck_assert_int_eq(proc_maps_read(maps), 0);
	proc_maps_begin(maps, NULL, 11);
	ck_assert_int_eq(proc_maps_read(maps), -ENOENT);
	machine_file("/proc/12/maps/folder", "");
	proc_maps_begin(maps, NULL, 12);
	ck_assert_int_eq(proc_maps_read(maps), -EISDIR);
}

TEST(the_identity_of_a_process_is_read)
{
	struct proc_identity identity;
	uint32_t user;
	machine_file("/proc/10/status", "Name:\tUid: 1 2\nUid:\t1000\t1001\t1002\t1003\nGid:\t2000\t2001\t2002\t2003\n"
					"NSpid:\t4711\t12\t1\nUid:\t1\t2\t3\t4\n");
	ck_assert(proc_identity_read(10, &identity));
	ck_assert_uint_eq(identity.user, 1001);
	ck_assert_uint_eq(identity.group, 2001);
	ck_assert_uint_eq(identity.namespace_pid, 1);
	machine_file("/proc/11/status", "Uid:\t0\t0\t0\t0\n");
	ck_assert(proc_identity_read(11, &identity));
	ck_assert_uint_eq(identity.user, 0);
	ck_assert_uint_eq(identity.namespace_pid, 0);
	machine_file("/proc/12/status", "Gid:\t1\t2\t3\t4\nNSpid:\t12\n");
	ck_assert(!proc_identity_read(12, &identity));
	ck_assert_uint_eq(identity.group, 2);
	ck_assert_uint_eq(identity.namespace_pid, 12);
	ck_assert(!proc_identity_read(13, &identity));
	ck_assert_uint_eq(identity.group, 0);

	machine_owner(12, 4711);
	ck_assert(process_user(12, &user));
	ck_assert_uint_eq(user, 4711);
	ck_assert(!process_user(13, &user));
}

int main(void)
{
	return run_all_tests(60, machine_begin, end);
}
