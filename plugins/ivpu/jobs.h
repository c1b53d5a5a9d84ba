/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPU jobs as JOB records, from the tracepoint vpu:job (Linux 6.13) or, on older kernels, from the driver's functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "records/record_batch.h"

struct job_watch;

/* Called for each job when it is submitted. owner: the context, or the process if the context is not known. */
typedef void jobs_begun_callback(void *context, uint32_t owner, uint64_t time);
/* Called for each job when it has ended, besides emitting its record. thread_name: "" if not known. */
typedef void jobs_done_callback(void *context, const struct iaprof_record_job *job, const char *thread_name);

struct jobs {
	/* Set before jobs_prepare(). */
	uint32_t device;            /* id of the DEVICE record, 0 if unknown */
	jobs_begun_callback *begun; /* NULL if none */
	jobs_done_callback *done;   /* NULL if none */
	void *context;

	struct job_watch *watch;
};

/* Loads the programs and records the method in the metadata. Returns 0, or a negative errno after host->fail(). */
int jobs_prepare(struct jobs *jobs, const struct iaprof_host *host);
/* Attaches the programs. Returns as above. */
int jobs_start(struct jobs *jobs);

/*
 * Appends the jobs that have ended, a bounded number, several times per second. Returns 0 or a negative errno. One
 * thread at a time.
 */
int jobs_turn(struct jobs *jobs, struct record_batch *batch);
/* Detaches and appends the remaining jobs: those in flight are IAPROF_JOB_IN_FLIGHT. Returns as above. */
int jobs_stop(struct jobs *jobs, struct record_batch *batch);

/* Returns the number of job events that were not traced, which may include completions. */
uint64_t jobs_missed(const struct jobs *jobs);

void jobs_free(struct jobs *jobs);
