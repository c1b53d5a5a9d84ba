/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the statistics of an NPU run with limits. Pure; any thread. */
#pragma once

#include <stdint.h>
#include "npu/statistics.h"

/* A limit of 0 disables the check. */
struct ivpu_limits {
	uint64_t ipc_rate;      /* messages per second; steady inference has 50 to 200 */
	uint64_t ipc_growth;    /* multiple of the usual rate, from 50 messages per second on */
	uint64_t ipc_per_job;   /* IPC calls per job */
	uint64_t map_ratio;     /* mappings per buffer and open file */
	uint64_t buffer_growth; /* additional buffers in each half of the jobs */
	uint64_t hang;          /* ns, latency of a job */
	uint64_t boots;         /* minimum number of firmware boots, if there are fewer than boot_jobs jobs per boot */
	uint64_t boot_jobs;
	uint64_t boot_wait;    /* ns, time of a firmware boot */
	uint64_t boot_polls;   /* polls per firmware boot, if times are not known */
	uint64_t submit_pages; /* pages mapped per job in submissions, median */
	uint64_t turns;        /* percent of jobs that waited for a job of another program */
	uint64_t cold_start;   /* percent of the time of few jobs that their start took */
};

/* The defaults; the option table has them as text. */
#define IVPU_LIMITS_DEFAULT                                                                                            \
	{                                                                                                              \
		.ipc_rate = 200, .ipc_growth = 10, .ipc_per_job = 10000, .map_ratio = 4, .buffer_growth = 32,          \
		.hang = 5000000000u, .boots = 5, .boot_jobs = 2, .boot_wait = 500000000, .boot_polls = 20000,          \
		.submit_pages = 256, .turns = 50, .cold_start = 10                                                     \
	}

struct ivpu_finding {
	uint32_t severity; /* enum iaprof_finding_severity */
	const char *name;  /* stable identifier, such as "npu-ipc-storm" */
	char text[400];    /* a sentence with the value, the limit and the remedy */
	double value, threshold;
};

/* Emits the findings of a run, most severe first. A finding is valid only during the call. */
void ivpu_findings(const struct ivpu_statistics *statistics, const struct ivpu_limits *limits,
		   void (*emit)(void *context, const struct ivpu_finding *finding), void *context);
