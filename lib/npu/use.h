/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums the use of the NPU by phase, process and context: calls, time, mapped pages and jobs, of a text trace or a live
 * run. Bounded. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "npu/statistics.h"
#include <iaprof/record.h>

/* Processes, and contexts, beyond these are not summed, but counted as dropped. */
#define NPU_USE_PROCESSES_MAX 1024u
#define NPU_USE_COMM_SIZE 64u
struct phase_sums {
	uint64_t calls;
	uint64_t driver_time; /* ns, without nested calls; 0 if unknown */
	uint64_t elapsed;     /* ns; 0 if unknown */
	uint64_t pages;       /* mapped */
};

struct npu_process {
	uint32_t key; /* process id */
	char comm[NPU_USE_COMM_SIZE];
	bool is_user; /* it made a request: a thread of the Linux kernel works for others */
	uint64_t calls, jobs, buffers, buffers_freed, mappings, pages;
	uint64_t boot_time; /* ns, in which its calls waited for a firmware boot; 0 if unknown */
	uint64_t memory;    /* largest number of bytes on the NPU; 0 if unknown */
	uint64_t allocated; /* bytes of buffers that it created; 0 if unknown */
	struct phase_sums phases[IVPU_PHASE_COUNT];
};

/* A context, which is an open file of a process: a program usually has one for each model. */
struct npu_context {
	struct {
		uint32_t pid, context; /* 0: not known */
	} key;
	uint64_t jobs, aborted, timed; /* jobs whose times are known */
	uint64_t queue_time, run_time; /* ns */
	uint64_t calls, pages;         /* of its driver calls, where their context is known */
	uint64_t boot_time;            /* as in struct npu_process */
	uint64_t allocated;            /* as in struct npu_process */
	struct phase_sums phases[IVPU_PHASE_COUNT];
};

/* Initialise with {0}. */
struct npu_use {
	struct phase_sums phases[IVPU_PHASE_COUNT];
	KEYED_ARRAY(struct npu_process) processes;
	KEYED_ARRAY(struct npu_context) contexts;
	uint64_t dropped;      /* calls and jobs of processes and contexts that did not fit */
	uint64_t submit_pages; /* mapped in submissions */
	uint64_t run_time;     /* ns, of all jobs */
	struct {
		uint64_t duration; /* ns, from submission to completion, or to the end of the run */
		uint32_t id, pid, context;
	} longest; /* job */
};

/* Calls that share a place and a process. */
struct npu_calls {
	const struct ivpu_function *function;
	struct ivpu_place place;
	uint32_t pid;     /* 0: an interrupt, or not known */
	uint32_t context; /* 0: not known */
	const char *comm; /* of the process, if it is new */
	uint64_t count;
	uint64_t driver_time; /* ns, without nested calls; 0 if unknown */
};

void npu_use_free(struct npu_use *use);

void npu_use_add(struct npu_use *use, const struct npu_calls *calls);
/* Adds the driver time of calls that were added without it. */
void npu_use_spend(struct npu_use *use, enum ivpu_phase phase, uint32_t pid, uint64_t driver_time);
/* Sets the name of a process, which need not be a user. */
void npu_use_name(struct npu_use *use, uint32_t pid, const char *comm);
/*
 * Adds a job that has ended, or is in flight at the end. Its times are 0 if they are not known. run_time: the part of
 * its time that no other job has, from busy_engines_add().
 */
void npu_use_add_job(struct npu_use *use, const struct iaprof_record_job *job, uint64_t run_time);
/* Adds the size of buffers that a process created, for a context if it is not 0. */
void npu_use_add_allocated(struct npu_use *use, uint32_t pid, uint32_t context, uint64_t bytes);
/* Sets the memory that a process has now. */
void npu_use_set_memory(struct npu_use *use, uint32_t pid, uint64_t bytes);
/* Adds the time that a process waited for a firmware boot, and its context if it is not 0. */
void npu_use_add_boot_time(struct npu_use *use, uint32_t pid, uint32_t context, uint64_t time);
/* Returns whether calls of a process were added. */
bool npu_use_knows(const struct npu_use *use, uint32_t pid);

/* Adds the names of those that findings are about, and the time of phases. */
void npu_use_describe(const struct npu_use *use, struct ivpu_statistics *statistics);
/* Writes "matmul (1234)", or "process 1234" if its name is not known. */
void npu_use_user_text(const struct npu_use *use, uint32_t pid, char *text, size_t size);

/* Intervals without a job between them. Earlier ones are only summed: jobs in flight for so long are rare. */
#define BUSY_INTERVALS 64u
/* Engines whose times are kept: the NPU has one, and older drivers have another one for copies. */
#define BUSY_ENGINES 4u

/*
 * The times at which one engine had a job. The time of a job that has ended is what earlier ones do not already have,
 * so that jobs that wait for each other share the engine's time. Initialise with {0}.
 */
struct busy_times {
	struct {
		uint64_t begin, end;
	} intervals[BUSY_INTERVALS]; /* disjoint, in order */
	uint32_t count;
	uint64_t summed;       /* ns of earlier intervals */
	uint64_t summed_until; /* the end of the last of them */
};

/* Adds a job that was on the engine from begin to end (ns). Returns the part of it in which no job was added before. */
uint64_t busy_times_add(struct busy_times *times, uint64_t begin, uint64_t end);

/*
 * Adds a job to its engine and returns its part of the engine's time: the time since it was queued that no job that
 * ended earlier has. If the engine is not known, that is all of its time.
 */
uint64_t busy_engines_add(struct busy_times engines[static BUSY_ENGINES], uint32_t engine, uint64_t queued,
			  uint64_t ended);

/* Returns the time (ns) at which there was a job. */
uint64_t busy_times_total(const struct busy_times *times);

/* Command queues that are tracked. One more replaces the queue whose last submission is the oldest. */
#define COMMAND_QUEUES_MAX 128u

struct command_queue_key {
	uint32_t owner, engine, id; /* context, or process if the context is not known; id 0: not known */
};

/* When jobs start, as far as their submissions and ends show. Initialise with {0}. */
struct command_queues {
	struct command_queue {
		struct command_queue_key key;
		uint64_t submitted; /* ns, its newest job: in flight if it was queued after the last one that ended */
		uint64_t queued, ended; /* ns, of the last job that ended */
	} queues[COMMAND_QUEUES_MAX];
	uint32_t count;
	uint64_t jobs, unknown; /* that ended; of these, with an unknown start */
};

/* Adds a job that was queued. */
void command_queues_submit(struct command_queues *queues, const struct command_queue_key *key, uint64_t queued);
/*
 * Adds a job that has ended, in the order of ends, and returns when the device started it: when it was queued, or when
 * its predecessor in the queue ended. The driver does not report which of several queues the device works on: if
 * another queue of the engine had a job since then, or a time is not known, returns 0.
 */
uint64_t command_queues_end(struct command_queues *queues, const struct command_queue_key *key, uint64_t queued,
			    uint64_t ended);
