/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened on the NPU in a run, in numbers: what findings rest on. Filled from events, one at a time, whether they
 * come from a trace or from the running driver. What is not known is 0 and judged by nobody. Belongs to one thread.
 */
#ifndef IAPROF_PLUGINS_IVPU_TALLY_H
#define IAPROF_PLUGINS_IVPU_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include "families.h"

/* Jobs that wait for their completion at a time; of more, the oldest ones are watched. */
#define TALLY_JOBS_MAX 1024u

struct ivpu_tally {
	double seconds;      /* from the first event to the last; 0: no times */
	uint64_t contexts;   /* files opened */
	uint64_t messages;   /* of the firmware, without those the driver polls for while it boots */
	double message_rate; /* most messages in a second, of whole seconds of the run; 0 not known */
	double usual_rate;   /* the mean of the other seconds that had messages; 0 not known */
	uint64_t ipc_calls;  /* functions of the IPC family, without those while it boots; 0 not known */
	uint64_t jobs, jobs_done;
	bool sees_done;         /* completions would be seen */
	uint64_t ends_missed;   /* things that happened to jobs and were not seen: ends may be among them */
	double longest_job;     /* seconds that a job took, or has waited until the end; 0 not known */
	uint64_t page_maps;     /* of 4 KiB */
	uint64_t mappings;      /* of buffers */
	uint64_t created_bytes; /* of all buffers that programs asked for; 0 not known */
	uint64_t buffers_created, buffers_freed;
	bool sees_freed;        /* buffers that are freed would be seen */
	uint64_t buffers_max;   /* the most that there were at a time, of those created in the run */
	uint64_t buffers_first; /* how many there were at the first job, */
	uint64_t buffers_half;  /* in the middle of the jobs (at the last power of two up to half of them), */
	uint64_t buffers_last;  /* and at the last one */
	uint64_t boots, resumes, recoveries, resets;
};

/* The tally of a run that goes on. Initialise with {0}; the last members are its own. */
struct ivpu_running {
	struct ivpu_tally tally;
	uint64_t first_time, last_time; /* 0 none */
	uint64_t second_begin, second_messages, seconds_counted, messages_before;
	uint64_t buffers_at_power[2]; /* at the last powers of two of jobs: the one before the last, and the last */
	uint64_t waiting[TALLY_JOBS_MAX];
	uint32_t waiting_first, waiting_count;
	uint64_t not_watched; /* jobs behind those in waiting */
};

/* Something happened count times at a time (ns of any clock that does not go back; 0: not known). */
void ivpu_running_add(struct ivpu_running *running, enum ivpu_event event, uint64_t count, uint64_t time);
void ivpu_running_add_messages(struct ivpu_running *running, uint64_t count, uint64_t time);
/* Messages of a window that is so many ns long, about a second or longer: for who counts them by windows only. */
void ivpu_running_add_window(struct ivpu_running *running, uint64_t messages, uint64_t length);
/* Time goes by without an event. */
void ivpu_running_advance(struct ivpu_running *running, uint64_t time);

/* What is known until now. */
struct ivpu_tally ivpu_running_tally(const struct ivpu_running *running);

#endif
