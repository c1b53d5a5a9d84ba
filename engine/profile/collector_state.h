/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a collector, shared by the files collector*.c. */
#pragma once

#include "base/saturating.h"
#include "correlator/device_time.h"
#include "profile/call_tree.h"
#include "profile/collector.h"
#include "profile/cpu_samples.h"
#include "profile/device_gaps.h"
#include "profile/device_values.h"
#include "profile/event_stacks.h"
#include "profile/record_order.h"
#include "profile/replayed_stacks.h"

/* Limit on files in memory that are read when they are mapped, between two SYNC records: each takes 1 to 2 ms. */
#define COLLECTOR_FILES_IN_MEMORY_MAX 16u

/* What is done with a record. */
typedef void collector_stage(struct collector *collector, struct intern *intern, const void *record);

/* Stages of a record type. */
struct collector_stages {
	collector_stage *after[WAIT_COUNT][8]; /* by wait; at most 7, then NULL */
};

struct collector {
	struct collector_options options;
	struct record_order order;
	struct collector_stages stages[IAPROF_RECORD_TYPE_COUNT]; /* by record type */
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct resolver *resolver;
	struct code_workers *code_workers; /* NULL in a replay */
	struct sampled_devices devices;
	struct device_code *device_code;
	struct correlator *correlator;
	struct result_stream results;
	struct frame_table frames;
	struct thread_table threads;
	struct value_table values;
	struct time_table times;
	struct loss loss;
	struct call_tree calls;
	struct findings findings;
	struct histograms histograms;
	struct cpu_samples cpu_samples;
	struct device_time device_time;
	struct device_gaps gaps;
	struct device_values device_values;
	struct run_metadata facts;
	struct collector_statistics statistics;
	struct event_stacks event_stacks; /* stacks of launches and calls, if a sink reads records */
	struct replayed_stacks replayed_stacks;
	struct run_activity activity;
	uint64_t stack_epoch_begin, names_begin;
	uint32_t epochs;           /* number of epochs so far */
	size_t frames_kept;        /* bytes of resolved stacks that the last release kept */
	uint64_t refused_reported; /* refused strings that were added to the losses */
	uint64_t last_sync;
	uint32_t files_in_memory; /* read since the last SYNC, when they were mapped */
	bool is_finished;
};

static inline const char *collector_text(const struct collector *collector, uint32_t id)
{
	return intern_text(collector->options.intern, id);
}

static inline void collector_count_out_of_memory(struct collector *collector, uint64_t count)
{
	collector->statistics.out_of_memory = saturating_add(collector->statistics.out_of_memory, count);
}

/* collector_records.c: adds a loss to the totals and, if it has a value, to the profile. */
void collector_add_loss(struct collector *collector, const char *source, const char *reason, uint32_t value_type,
			uint64_t begin, uint64_t end, uint64_t count, uint64_t value);
/* Fills the stages of the collector, as its options require. */
void collector_subscribe(struct collector *collector);
/* Calls the stages for a record that has waited. */
void collector_pass(void *collector, enum record_wait wait, const struct iaprof_record *record);
/* collector.c: everything before this time has arrived. */
void collector_sync(struct collector *collector, uint64_t time);
