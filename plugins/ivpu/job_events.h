/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's job events: where the tracepoint vpu:job has its fields, and which job has ended where the driver's
 * functions only indicate that one has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "job_shared.h"

/* Field offsets of the tracepoint, from its file `format` in tracefs: they differ between Linux kernels. */
struct job_format {
	uint32_t event, context, engine, id; /* offsets in bytes */
};

/* Returns false if a field is missing or has an unexpected size. */
bool job_format_parse(struct job_format *format, const char *text);

/* Reads the file from tracefs. Returns false if the driver lacks the tracepoint or has a different one. */
bool job_format_read(struct job_format *format);

/* Returns whether "job" names one event only: raw tracepoints have names without a system. */
bool job_name_is_unique(void);

/* Completions that precede the return of their submission: as many threads may be submitting at once. */
#define JOB_QUEUE_EARLY 64u

/* Context numbers: up to IVPU_USER_CONTEXT_MAX_SSID, 65 (drivers/accel/ivpu/ivpu_drv.h, Linux 6.12). */
#define JOB_QUEUE_CONTEXTS 128u

/*
 * Jobs end in submission order. With several programs and hardware scheduling this holds per program only: a job's
 * number includes its context, and the owner of a context is learned while only one program has jobs. Initialise with
 * {0}.
 */
struct job_queue {
	struct job_event waiting[JOBS_MAX]; /* a ring */
	uint32_t first, count;
	struct job_event early[JOB_QUEUE_EARLY];
	uint32_t early_count;
	uint32_t owners[JOB_QUEUE_CONTEXTS]; /* pid by context, 0 if unknown */
};

enum job_queue_result {
	JOB_QUEUE_NOTHING = 0,
	JOB_QUEUE_JOB = 1, /* *job has ended */
	JOB_QUEUE_FULL = 2 /* a job was dropped */
};

/* These handle events of type SUBMIT and END, in order. */
enum job_queue_result job_queue_submit(struct job_queue *queue, const struct job_event *submit, struct job_event *job);
/* A completion without a job belongs to a job submitted before the run. */
enum job_queue_result job_queue_end(struct job_queue *queue, const struct job_event *end, struct job_event *job);

/* Removes the oldest job in flight. */
bool job_queue_take(struct job_queue *queue, struct job_event *job);
