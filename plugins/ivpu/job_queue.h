/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which job is over, where the driver's functions tell only that one is: jobs end in the order in which they were
 * submitted. With several programs under hardware scheduling that is so for each of them only: a job's number has its
 * context, and whose a context is shows when only one program has jobs.
 */
#ifndef IAPROF_PLUGINS_IVPU_JOB_QUEUE_H
#define IAPROF_PLUGINS_IVPU_JOB_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "job_shared.h"

/* Ends that came before their submission returned: as many threads may submit at once. */
#define JOB_QUEUE_EARLY 64u

/* Numbers of contexts: up to IVPU_USER_CONTEXT_MAX_SSID, 65 (drivers/accel/ivpu/ivpu_drv.h, Linux 6.12). */
#define JOB_QUEUE_CONTEXTS 128u

/* All zero is one without jobs. */
struct job_queue {
	struct job_event waiting[JOBS_MAX]; /* a ring */
	uint32_t first, count;
	struct job_event early[JOB_QUEUE_EARLY];
	uint32_t early_count;
	uint32_t owners[JOB_QUEUE_CONTEXTS]; /* pid by context, 0 not known */
};

enum job_queue_result {
	JOB_QUEUE_NOTHING = 0,
	JOB_QUEUE_JOB = 1, /* *job is over */
	JOB_QUEUE_FULL = 2 /* a job was left out */
};

/* Take events of type SUBMIT and END, in their order. */
enum job_queue_result job_queue_submit(struct job_queue *queue, const struct job_event *submit, struct job_event *job);
/* One without a job was submitted before the run. */
enum job_queue_result job_queue_end(struct job_queue *queue, const struct job_event *end, struct job_event *job);

/* Takes the oldest one that is not over out. */
bool job_queue_take(struct job_queue *queue, struct job_event *job);

#endif
