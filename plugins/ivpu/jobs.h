/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPU jobs as JOB records, from the tracepoint vpu:job (Linux 6.13) or, on older kernels, from the driver's functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "base/keyed_array.h"
#include "job_events.h"
#include "npu/use.h"
#include "records/record_batch.h"

struct bpf_link;
struct npu_job_bpf;
struct ring_buffer;

#define JOB_LINKS_MAX 16u

/* Called for each job when it is submitted. owner: the context, or the process if the context is not known. */
typedef void jobs_begun_callback(void *context, uint32_t owner, uint64_t time);
/*
 * Called for each job when it has ended, besides emitting its record. run_time: of busy_engines_add(). thread_name: ""
 * if not known.
 */
typedef void jobs_done_callback(void *context, const struct iaprof_record_job *job, uint64_t run_time,
				const char *thread_name);

/* Submission time of the most recently submitted job that has ended, by context. */
struct ended_context {
	uint32_t key;
	uint64_t submitted;
};

struct jobs {
	/* Set before jobs_prepare(). */
	uint32_t device;            /* id of the DEVICE record, 0 if unknown */
	jobs_begun_callback *begun; /* NULL if none */
	jobs_done_callback *done;   /* NULL if none */
	void *context;
	struct record_batch *batch;

	const struct iaprof_host *host;
	struct npu_job_bpf *skeleton; /* NULL: not loaded */
	struct bpf_link *links[JOB_LINKS_MAX];
	size_t link_count;
	struct ring_buffer *ring;
	struct job_queue queue;
	bool from_functions;
	bool is_raw; /* the tracepoint's arguments are read */
	KEYED_ARRAY(struct ended_context) ended;
	struct busy_times engines[BUSY_ENGINES];
	struct command_queues queues;
	struct {
		uint64_t begin, end;               /* when the driver's counter of busy time was read; end 0: not yet */
		struct busy_times busy;            /* in which there was a job, of any process, between begin and end */
		uint64_t driver_begin, driver_end; /* ns, the counter */
	} compared;
	struct {
		uint64_t time, ring_full, map_full, unreturned, unended, too_many, missed;
	} reported;         /* losses, and the time of their last report */
	uint64_t left_out;  /* dropped by the queue */
	uint64_t ends_lost; /* jobs whose end was not traced, found at the end of the run */
	/* Of the events that are being read. */
	unsigned int events;
	int error;
};

/* Loads the programs and records the method in the metadata. Returns 0, or a negative errno after host->fail(). */
int jobs_prepare(struct jobs *jobs, const struct iaprof_host *host);
/* Attaches the programs. Returns as above. */
int jobs_start(struct jobs *jobs);

/*
 * Appends the jobs that have ended, a bounded number, several times per second. Returns 0 or a negative errno. One
 * thread at a time.
 */
int jobs_turn(struct jobs *jobs);
/* Detaches and appends the remaining jobs: those in flight are IAPROF_JOB_IN_FLIGHT. Returns as above. */
int jobs_stop(struct jobs *jobs);

/* Returns the number of job events that were not traced, which may include completions. */
uint64_t jobs_missed(const struct jobs *jobs);

void jobs_free(struct jobs *jobs);
