/* SPDX-License-Identifier: Apache-2.0 */
/* The NPU's jobs as JOB records: from the tracepoint vpu:job of Linux 6.13, or from the driver's functions before. */
#ifndef IAPROF_PLUGINS_IVPU_JOBS_H
#define IAPROF_PLUGINS_IVPU_JOBS_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "record_batch.h"

struct job_watch;

/* What a job is told to, besides its record. */
typedef void jobs_done_callback(void *context, const struct iaprof_record_job *job);

struct jobs {
	/* Set before jobs_prepare(). */
	uint32_t device;          /* id of the DEVICE record, 0 not known */
	bool in_order;            /* the jobs of an engine run one after the other: sched_mode is OS */
	jobs_done_callback *done; /* NULL none */
	void *context;

	struct job_watch *watch;
};

/* Loads the programs and says in metadata which way it is. Returns 0, or a negative errno after host->fail(). */
int jobs_prepare(struct jobs *jobs, const struct iaprof_host *host);
/* Attaches them; the same. */
int jobs_start(struct jobs *jobs);

/*
 * Appends the jobs that are over to the batch; several times a second, a bounded number of them at once. Returns 0 or a
 * negative errno. One thread at a time.
 */
int jobs_turn(struct jobs *jobs, struct record_batch *batch);
/* Detaches, and appends all the rest: jobs that are not over are IAPROF_JOB_IN_FLIGHT, of now. The same. */
int jobs_stop(struct jobs *jobs, struct record_batch *batch);

/* How many things that happened to jobs were not seen until now: ends may be among them. */
uint64_t jobs_missed(const struct jobs *jobs);

void jobs_free(struct jobs *jobs);

#endif
