/* SPDX-License-Identifier: Apache-2.0 */
/* What a user should know of a run on the NPU: numbers of a tally held against limits. Pure; any thread. */
#ifndef IAPROF_PLUGINS_IVPU_FINDINGS_H
#define IAPROF_PLUGINS_IVPU_FINDINGS_H

#include <stdint.h>
#include "tally.h"

/* A limit of 0 says that nothing is held against it. */
struct ivpu_limits {
	uint64_t ipc_rate;      /* messages in a second; a steady inference shows 50 to 200 */
	uint64_t ipc_growth;    /* times the usual rate, from 50 messages in a second on */
	uint64_t ipc_per_job;   /* IPC calls for each job */
	uint64_t map_ratio;     /* times that a buffer is mapped, for each file that was opened */
	uint64_t buffer_growth; /* more buffers in each half of the jobs */
	uint64_t hang;          /* ns that a job takes */
	uint64_t boots;         /* boots of the firmware, when there is more than one for boot_jobs jobs */
	uint64_t boot_jobs;
};

/* The defaults, which the options of the plugin have as text. */
#define IVPU_LIMITS_DEFAULT                                                                                            \
	{                                                                                                              \
		.ipc_rate = 200, .ipc_growth = 10, .ipc_per_job = 10000, .map_ratio = 4, .buffer_growth = 32,          \
		.hang = 5000000000u, .boots = 5, .boot_jobs = 2                                                        \
	}

struct ivpu_finding {
	uint32_t severity; /* enum iaprof_finding_severity */
	const char *name;  /* of its kind, which never changes: "npu-ipc-storm" */
	char text[400];    /* a sentence: the number, what it is held against, and what to do */
	double value, threshold;
};

/* Emits what is to be said of a run, most severe things first; the findings are borrowed for the time of the call. */
void ivpu_findings(const struct ivpu_tally *tally, const struct ivpu_limits *limits,
		   void (*emit)(void *context, const struct ivpu_finding *finding), void *context);

#endif
