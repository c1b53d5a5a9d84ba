/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine made by construction, for tests of the side-band without the real one: the perf ring buffers of its CPUs,
 * whose bytes a test writes as Linux would; its /proc, in a temporary folder; its clock. Programs are linked with
 * --wrap (meson.build), so that the core's system calls reach this machine. Also receives what the side-band sends, and
 * keeps it as text.
 */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

#include "process/sideband.h"

#define MACHINE_CPUS 8u
/* Time of the machine when a test begins. Times in the texts below, and those that tests pass, count from here. */
#define MACHINE_BEGIN UINT64_C(100000000000)
#define SECOND UINT64_C(1000000000)

struct machine_ring {
	int descriptor;  /* iaprof's end; -1: not open */
	int other_end;   /* what is written here, iaprof reads as the count of lost records */
	unsigned opened; /* how often */
	bool enabled;
	uint64_t lost; /* records without room since it was opened */
	struct perf_event_attr attributes;
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	unsigned char *data;
	size_t size;
};

extern struct machine {
	char folder[32];
	uint64_t now;    /* since MACHINE_BEGIN */
	uint64_t step;   /* time that each reading of the clock takes */
	bool has_lost;   /* PERF_FORMAT_LOST, since Linux 6.0 */
	int open_error;  /* errno of perf_event_open(2); 0: none */
	int map_error;   /* of the mmap(2) of ring buffers */
	int start_error; /* of PERF_EVENT_IOC_ENABLE */
	int offline;     /* the CPU whose event cannot be opened; -1: none */
	int emit_result;
	const char *refused_path; /* open(2) fails with refused_error */
	int refused_error;
	struct machine_ring rings[MACHINE_CPUS];
	char *log; /* a line for each record and each loss */
	size_t log_size;
	unsigned batches;
} machine;

extern const struct sideband_output machine_output;

/* With CPUs 0 and 1, and an empty /proc. */
void machine_begin(void);
void machine_end(void);
/* Sets the list of CPUs that are online, such as "0-1". */
void machine_cpus(const char *list);

/* Writes a file, whose folders are made: "/proc/12/stat". */
void machine_file(const char *path, const char *text);
void machine_link(const char *path, const char *to);
void machine_remove(const char *path);
/* Sets the user who owns /proc/PID. */
void machine_owner(uint32_t pid, uint32_t user);
/* A process in /proc with one thread and the memory map. */
void machine_process(uint32_t pid, uint32_t parent, const char *name, const char *maps);
/* Writes its stat: state, flags and number of threads as in proc_pid_stat(5), and the start in clock ticks. */
void machine_status(uint32_t pid, uint32_t parent, const char *name, char state, unsigned flags, unsigned threads,
		    unsigned start);
/* The process has ended, and was waited for. */
void machine_gone(uint32_t pid);

/* Appends bytes to a ring buffer as Linux does: whole, or not at all if there is no room, which counts as lost. */
bool ring_put(unsigned cpu, const void *bytes, size_t size);
/* Has the next read(2) of the event return the number of lost records. */
void ring_count_lost(unsigned cpu);
/* The CPU went offline: its event hangs up. */
void ring_hang_up(unsigned cpu);

/* Records as Linux writes them. Each returns whether there was room. */
bool put_fork(unsigned cpu, uint64_t time, uint32_t pid, uint32_t parent);
bool put_thread(unsigned cpu, uint64_t time, uint32_t pid, uint32_t tid);
bool put_exit(unsigned cpu, uint64_t time, uint32_t pid, uint32_t tid);
bool put_name(unsigned cpu, uint64_t time, uint32_t pid, uint32_t tid, const char *name);
bool put_exec(unsigned cpu, uint64_t time, uint32_t pid, const char *name);
bool put_mapping(unsigned cpu, uint64_t time, uint32_t pid, uint64_t start, uint32_t protection, const char *path);
bool put_lost(unsigned cpu, uint64_t time, uint64_t count);

/* Compares what was sent since the last call with these lines, in this order. */
void expect(const char *lines);
/* The same for a number of lines that begin so, in any order and among others; forgets nothing. */
size_t count_lines(const char *begin);
void forget(void);
