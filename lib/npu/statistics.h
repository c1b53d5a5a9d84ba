/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of an NPU run, on which the findings are based. Filled with events one at a time, from a trace or from
 * live tracing. Unknown values are 0 and are not checked. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "npu/driver_functions.h"

/* Jobs in flight whose latency is tracked, oldest first. */
#define STATISTICS_JOBS_MAX 1024u
/* Jobs whose work is kept for the medians: evenly chosen if there are more. */
#define STATISTICS_SAMPLES_MAX 2048u

/* The work of one job: everything from its submission to the next one. */
struct ivpu_job_work {
	uint32_t messages, mappings, pages, buffers;
};

/* Programs, jobs and contexts that findings are about; "" if not known. */
struct ivpu_names {
	char boots[64];       /* whose calls waited for most boots */
	char jobs[64];        /* who submitted most jobs */
	char buffers[64];     /* who holds most of its buffers */
	char mappings[64];    /* who mapped most */
	char longest_job[96]; /* such as "job 5 of matmul (1234), context 2" */
	char turns[2][80];    /* the contexts with most jobs: they take turns, if there are two */
	double turns_queue;   /* seconds per job of all contexts, in the queue; 0 if unknown */
};

struct ivpu_statistics {
	struct ivpu_names names;
	double seconds;    /* from the first event to the last; 0: no timestamps */
	uint64_t contexts; /* files opened */
	uint64_t resumes, recoveries, resets;
	struct {
		uint64_t count;     /* from the firmware, without those that the driver polls for during boot */
		double rate;        /* maximum per whole second; 0 if unknown */
		uint64_t rate_jobs; /* jobs submitted in that second */
		double usual_rate;  /* mean of the other seconds with messages; 0 if unknown */
		uint64_t ipc_calls; /* calls of the IPC family, without those during boot; 0 if unknown */
	} messages;
	struct {
		uint64_t count, done;
		bool sees_done;              /* completions are traced */
		uint64_t ends_missed;        /* events that were not traced, which may include completions */
		double longest;              /* seconds, including a job in flight at the end; 0 if unknown */
		double usual;                /* seconds, mean of the others; 0 if unknown */
		double seconds;              /* in which a job was on the NPU; 0 if unknown */
		bool knows_owners;           /* the process or context of each job is known */
		uint64_t turns;              /* jobs whose predecessor was of another owner */
		uint64_t turns_waited;       /* of these, those submitted before the predecessor ended */
		struct ivpu_job_work median; /* per job; 0 in fewer than two jobs */
	} jobs;
	struct {
		uint64_t count, submit_count; /* mapped buffers; of these, in submissions */
		uint64_t pages, submit_pages; /* mapped pages of 4 KiB */
		double seconds;               /* in which buffers were mapped; 0 if unknown */
	} mappings;
	struct {
		uint64_t created, freed;
		uint64_t bytes;   /* size of all that programs allocated; 0 if unknown */
		bool sees_freed;  /* frees are traced */
		uint64_t maximum; /* at a time, of those created in the run */
		uint64_t first;   /* number at the first job, */
		uint64_t half;    /* in the middle of the jobs (at the last power of two up to half of them), */
		uint64_t last;    /* and at the last job */
	} buffers;
	struct {
		uint64_t count, polls; /* polls for the firmware's first message, in all boots */
		bool knows_time;
		double seconds; /* in all boots; 0 if unknown */
		double longest; /* seconds; 0 if unknown */
	} boots;
};

/* The numbers at the head of an NPU run's summary. */
struct ivpu_overview {
	uint64_t calls; /* all */
	uint64_t family_counts[IVPU_FAMILY_COUNT];
	bool knows_messages, knows_polls; /* of the firmware: the functions that indicate them were traced, in order */
	uint32_t hot_functions_left_out;  /* called for each page, and not traced */
};

/* Statistics in progress. Initialise with {0}; the last members are private. */
struct ivpu_running {
	struct ivpu_statistics statistics;
	uint64_t first_time, last_time; /* 0 if none */
	uint64_t second_begin, second_messages, second_jobs, seconds_counted, messages_before;
	bool is_rate_excess; /* in the second of the largest rate, there were more messages than its jobs need */
	uint64_t buffers_at_power[2]; /* at the last two powers of two of jobs */
	struct {
		uint64_t time;
		uint32_t owner;
	} waiting[STATISTICS_JOBS_MAX];
	uint32_t waiting_first, waiting_count;
	uint64_t not_watched; /* jobs beyond those in waiting */
	double job_seconds;   /* of completed jobs */
	uint64_t jobs_timed;
	uint32_t last_owner;
	struct ivpu_job_work work, samples[STATISTICS_SAMPLES_MAX];
	uint32_t sample_count, sample_stride;
	double boot_seconds; /* of the current boot */
};

/* A job has one message, its completion; this many allow for those of its context, queue and power state. */
#define IVPU_MESSAGES_PER_JOB 16
/* Messages in a second that its jobs explain; the last ones of a job may be in the next second. */
static inline double ivpu_messages_explained(uint64_t jobs)
{
	return IVPU_MESSAGES_PER_JOB * ((double)jobs + 1);
}

/* Adds count events at a time (ns of any monotonic clock; 0: unknown). */
void ivpu_running_add(struct ivpu_running *running, enum ivpu_event event, uint64_t count, uint64_t time);
void ivpu_running_add_messages(struct ivpu_running *running, uint64_t count, uint64_t time);
/* Removes the last message, which was none. */
void ivpu_running_take_back_message(struct ivpu_running *running);
/* Adds messages and counts jobs of a window of about a second or longer (ns). */
void ivpu_running_add_window(struct ivpu_running *running, uint64_t messages, uint64_t jobs, uint64_t length);
/* Adds the submission of a job by a process or context (0: unknown). */
void ivpu_running_submit(struct ivpu_running *running, uint32_t owner, uint64_t time);
/* Adds messages to the work of the current job alone. */
void ivpu_running_add_job_messages(struct ivpu_running *running, uint64_t count);
/* Adds time (ns) spent in firmware boots. is_new: another boot began. */
void ivpu_running_add_boot_time(struct ivpu_running *running, uint64_t time, bool is_new);
/* Adds the total time (ns) of firmware boots whose individual times are not known. */
void ivpu_running_add_boots(struct ivpu_running *running, uint64_t time, uint64_t count);
/* Adds events IVPU_EVENT_PAGE_MAP or _MAPPING in a submission, which are also added by ivpu_running_add(). */
void ivpu_running_add_in_submit(struct ivpu_running *running, enum ivpu_event event, uint64_t count);
/* Advances the time without an event. */
void ivpu_running_advance(struct ivpu_running *running, uint64_t time);

/* Returns the statistics so far. */
struct ivpu_statistics ivpu_running_statistics(const struct ivpu_running *running);
