/* SPDX-License-Identifier: Apache-2.0 */
/* What the BPF program counted becomes records: reads and empties one set of maps while the other one is filled. */
#ifndef IAPROF_CPU_STACK_DRAIN_H
#define IAPROF_CPU_STACK_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "cpu-stack.h"

struct cpu_stack_bpf;

/* A map's contents after table_drain(): count keys and count values. */
struct drain_table {
	unsigned char *keys;
	unsigned char *values;
	size_t key_size;
	size_t value_size;
	uint32_t count;
	uint32_t capacity;
};

/* A stack of the set that is drained, to be found by its hash. */
struct drain_stack {
	uint64_t hash;
	const struct cpu_stack_addresses *stack;
};

/* Records on their way to host->emit(). */
struct drain_batch {
	unsigned char *records;
	uint64_t size;
	uint32_t count;
};

struct drain {
	const struct iaprof_host *host;
	struct cpu_stack_bpf *skeleton;
	struct cpu_stack_processor *processors; /* mapped, processor_count of them */
	uint32_t processor_count;
	bool set_pending; /* active_set was changed, the other set is not drained yet */
	uint32_t value_type;
	uint64_t period;    /* ns that one tick stands for */
	uint64_t last_time; /* of the last turn */

	struct drain_table samples;
	struct drain_table stacks;
	struct drain_stack *index;
	uint32_t index_capacity;
	struct drain_batch batch;
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
