/* SPDX-License-Identifier: Apache-2.0 */
/* What the BPF program counted becomes records: reads and empties one set of maps while the other one is filled. */
#ifndef IAPROF_CPU_STACK_DRAIN_H
#define IAPROF_CPU_STACK_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "cpu-stack.h"
#include "map_table.h"
#include "record_batch.h"
#include "stack_index.h"

struct cpu_stack_bpf;

struct drain {
	const struct iaprof_host *host;
	struct cpu_stack_bpf *skeleton;
	struct cpu_stack_processor *processors; /* mapped, processor_count of them */
	uint32_t processor_count;
	bool set_pending; /* active_set was changed, the other set is not drained yet */
	uint32_t value_type;
	uint64_t period;    /* ns that one tick stands for */
	uint64_t last_time; /* of the last turn */

	struct map_table samples;
	struct map_table stacks;
	struct stack_index index;
	struct record_batch batch;
	struct cpu_stack_processor reported; /* sums over the CPUs, as far as they have been reported */
};

/* Counters of the plugin, by their id in COUNTER records. */
enum drain_counter { DRAIN_KERNEL_TIME = 1, DRAIN_TICKS = 2, DRAIN_TICKS_IDLE = 3, DRAIN_TICKS_FILTERED = 4 };

/* skeleton is loaded. Returns 0, or a negative errno after host->fail(). Undone by drain_free() in either case. */
int drain_init(struct drain *drain, const struct iaprof_host *host, struct cpu_stack_bpf *skeleton);
/* Declares what is emitted later. The clock is about to start; each tick stands for period ns. */
int drain_begin(struct drain *drain, uint64_t period);
/* Emits what one set of maps holds, and lets the other one be filled. */
int drain_turn(struct drain *drain);
/* The same for both sets, when no BPF program runs any more. */
int drain_finish(struct drain *drain);
void drain_free(struct drain *drain);

#endif
