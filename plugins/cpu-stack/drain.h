/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the counts of the BPF program into records: drains one set of maps while the program fills the other one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "copied_stacks.h"
#include "cpu-stack.h"
#include "bpf/cpu_table.h"
#include "bpf/map_table.h"
#include "bpf/stack_reader.h"
#include "records/record_batch.h"

struct cpu_stack_bpf;

struct drain {
	const struct iaprof_host *host;
	struct cpu_stack_bpf *skeleton;
	struct cpu_table cpus;
	bool set_pending; /* active_set was changed; the other set is not drained yet */
	uint32_t value_type;
	uint64_t period;    /* ns per tick */
	uint64_t last_time; /* time of the last turn */

	struct stack_reader *stacks;
	struct map_table samples;
	struct copied_stacks copies;
	struct record_batch batch;
	struct cpu_stack_processor reported; /* sums over all CPUs that have been reported */
};

/* The skeleton must be loaded. Returns 0, or a negative errno after host->fail(). Call drain_free() in either case. */
int drain_init(struct drain *drain, const struct iaprof_host *host, struct stack_reader *stacks,
	       struct cpu_stack_bpf *skeleton);
/* Declares the types of records that are emitted later, before the clock starts; each tick represents period ns. */
int drain_begin(struct drain *drain, uint64_t period);
/* Emits one set of maps and lets the program fill the other one. */
int drain_turn(struct drain *drain);
/* Emits both sets, after all BPF programs have stopped. */
int drain_finish(struct drain *drain);
/* Emits the samples that are still held for their copies. */
int drain_release(struct drain *drain);
void drain_free(struct drain *drain);
