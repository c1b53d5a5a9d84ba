/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SAMPLE records (CPU samples) and CALL records before they are part of the profile: they wait until the process
 * records up to their time have arrived, are summed by program and raw stack, and are resolved when their program ends,
 * when there are many of them, or when a profile is requested. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "profile/run_metadata.h"
#include "profile/sample_stack.h"
#include "profile/time_table.h"
#include "profile/value_table.h"
#include "profile/wait_table.h"
#include "profile/waiting_samples.h"

/* Number of distinct raw stacks above which they are resolved, which merges the addresses of a function. */
#define CPU_SAMPLES_MANY 16384u

/* Initialise with {0}, stack_context, facts, values, times, waiting.hash_key, table.times and table.hash_key. */
struct cpu_samples {
	struct stack_context stack_context;
	const struct call_tree *calls;
	struct run_metadata *facts;
	struct value_table *values;
	struct time_table *times;
	struct sample_table table; /* by program and raw stack */
	struct wait_table waits;
	struct waiting_samples waiting;
	uint32_t pass;          /* number of calls of cpu_samples_place() so far */
	size_t prefetched;      /* entries of the table before this one have been prefetched */
	uint64_t synced;        /* time up to which process records are complete */
	uint64_t early;         /* samples placed before that of their time, because too many waited */
	uint64_t taken;         /* samples as counted by their sources, without calls */
	uint64_t out_of_memory; /* samples and calls that could not be stored */
	uint64_t unreadable;    /* sampled processes whose memory map could not be read, if not reported yet */
	uint64_t spans_dropped; /* samples that lost their span: FRAME_TABLE_SPANS_MAX was reached */
};

void cpu_samples_free(struct cpu_samples *samples);

/* Returns false and ignores the record if its value type was not declared; the caller must count the loss. */
bool cpu_samples_take(struct cpu_samples *samples, const struct iaprof_record_sample *record);
/* The same for one value type of calls. */
bool cpu_samples_take_call(struct cpu_samples *samples, const struct iaprof_record_call *record, uint32_t node,
			   uint32_t value_type_id, uint64_t value);
/* Returns what cpu_samples_take() adds, always with its thread. */
struct waiting_sample cpu_samples_describe(const struct cpu_samples *samples,
					   const struct iaprof_record_sample *record);
/* Adds a sample that the core derived. */
void cpu_samples_add(struct cpu_samples *samples, const struct waiting_sample *sample);
/* Attributes samples up to a time to the programs that ran at that time. */
void cpu_samples_place(struct cpu_samples *samples, uint64_t until);
/* Resolves every attributed stack and adds it to the profile. */
void cpu_samples_resolve(struct cpu_samples *samples);
/*
 * Prefetches file data for cpu_samples_resolve() until this time (CLOCK_MONOTONIC ns), as long as it is quick; of the
 * most frequent stacks first.
 */
void cpu_samples_prefetch(struct cpu_samples *samples, const struct deadline *end);
/* Prefetches from the first entry on, until this time, including slow files. */
void cpu_samples_catch_up(struct cpu_samples *samples, const struct deadline *end);
/* Resolves the stacks of a program that is about to be removed. For process_table_retire(). */
void cpu_samples_end_process(void *samples, struct process *process);
/* Returns whether enough stacks are unresolved that they should be resolved now. */
bool cpu_samples_are_many(const struct cpu_samples *samples);
/* Returns whether several times as many are unresolved, so that they should no longer wait for a SYNC. */
static inline bool cpu_samples_are_too_many(const struct cpu_samples *samples)
{
	return samples->table.entries.count >= 4 * CPU_SAMPLES_MANY;
}
