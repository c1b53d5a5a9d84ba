/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SAMPLE records, which are CPU samples, and CALL records on their way into the profile: they wait until everything is
 * known of the processes of their time, are added up by program and raw stack, and get names when their program has
 * ended, when there are many, and when a profile is asked for. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_CPU_SAMPLES_H
#define IAPROF_CORE_PROFILE_CPU_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "profile/run_facts.h"
#include "profile/sample_stack.h"
#include "profile/time_table.h"
#include "profile/value_table.h"

struct waiting_sample {
	struct iaprof_record_sample record;
	uint32_t call; /* as in struct sample_key */
};

/* Initialise with {0}, stack_context, facts, values, times, table.times and table.hash_key. */
struct cpu_samples {
	struct sample_stack_context stack_context;
	const struct run_facts *facts;
	struct value_table *values;
	struct time_table *times;
	struct sample_table table; /* by program and raw stack */
	ARRAY(struct waiting_sample) waiting;
	size_t ahead;           /* entries of table before this one have been looked at */
	uint64_t taken;         /* samples, as counted by their sources; no calls */
	uint64_t out_of_memory; /* samples and calls that could not be stored */
};

void cpu_samples_free(struct cpu_samples *samples);

/* Whose value type nobody declared is for the caller to account for: then it returns false, and takes nothing. */
bool cpu_samples_take(struct cpu_samples *samples, const struct iaprof_record_sample *record);
/* The same for calls: what they add to one value type. */
bool cpu_samples_take_call(struct cpu_samples *samples, const struct iaprof_record_call *record, uint32_t node,
			   uint32_t value_type, uint64_t value);
/* Gives samples of up to a time to the programs that ran then. */
void cpu_samples_place(struct cpu_samples *samples, uint64_t until);
/* Gives every stack that was placed its names, and puts it into the profile. */
void cpu_samples_resolve(struct cpu_samples *samples);
/* Reads what cpu_samples_resolve() will need of files, until this time (CLOCK_MONOTONIC ns), while it goes quickly. */
void cpu_samples_look_ahead(struct cpu_samples *samples, const struct deadline *end);
/* The same from the first sample on, until this time: what does not go quickly, too. */
void cpu_samples_catch_up(struct cpu_samples *samples, const struct deadline *end);
/* A program is about to be forgotten: resolves what needs it. For process_table_retire(). */
void cpu_samples_end_process(void *samples, struct process *process);
/* Whether so much has no names yet that it is time to resolve it. */
bool cpu_samples_are_many(const struct cpu_samples *samples);
/* There are several times as many: they should not wait for a SYNC any longer. */
bool cpu_samples_are_too_many(const struct cpu_samples *samples);

#endif
