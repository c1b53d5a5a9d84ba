/* SPDX-License-Identifier: Apache-2.0 */
/* The program's command line. */
#pragma once

#include "gpu_jobs.h"
#include "launches.h"

#include <stdbool.h>

#define THREADS_MAX 64
#define RELOADS_MAX 1000

struct options {
	unsigned threads;
	unsigned turns;
	unsigned duration; /* ms; 0: as many turns as said */
	unsigned spans;    /* turns are under so many in turn, and under none */
	unsigned rate;     /* turns a second of each thread; 0: as fast as it goes */
	bool regular_lists;
	bool in_order;       /* immediate lists execute in order */
	unsigned executions; /* of a regular list in a turn */
	unsigned site_launches[SITE_COUNT];
	int site_kernel; /* enum kernel_id that every chosen site launches; -1: each its own */
	bool native[MODULE_COUNT];
	char modules[256]; /* folder */
	const char *product;
	const char *build_flags;
	unsigned reloads;
	bool alternate;        /* every second load creates the modules in the opposite order */
	bool keep;             /* modules of earlier loads stay */
	bool steps;            /* says what it has done and waits to be told to go on */
	const char *jobs_node; /* each launch is a job on this node; NULL: on none */
	uint64_t job_time;     /* ns */
	uint16_t job_engine;   /* GPU_JOBS_COMPUTE or GPU_JOBS_COPY */
	struct gpu_windows windows;
	const char *wait_file;
	bool wait_signal;
	enum { CHILD_NONE, CHILD_FORK, CHILD_EXEC } child;
	const char *truth_file;
	const char *dump_folder;
};

/* Ends the program after --help (status 0) and with one line on a wrong option (status 2). */
void options_read(struct options *options, int argc, char **argv);
