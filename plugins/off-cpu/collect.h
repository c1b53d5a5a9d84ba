/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the sums of the BPF programs into records: drains one set of maps while the programs fill the other one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "bpf/cpu_table.h"
#include "bpf/map_table.h"
#include "bpf/stack_reader.h"
#include "off-cpu.h"
#include "records/record_batch.h"
#include "sleepers.h"
#include "wait_reasons.h"
#include "wait_stacks.h"

struct off_cpu_bpf;

struct collector {
	const struct iaprof_host *host;
	struct off_cpu_bpf *skeleton;
	struct cpu_table cpus;
	bool set_pending;        /* active_set was changed; the other set is not drained yet */
	uint32_t waiting, ready; /* value types */
	uint64_t last_time;      /* time of the last turn */
	struct stack_reader *stacks;
	struct map_table waits;
	struct wait_stacks known; /* of all turns: a wait may end long after its stacks were taken */
	struct map_table threads;
	struct record_batch batch;
	struct wait_reasons reasons;
	struct sleepers before; /* threads that were asleep when the run began */
	uint64_t asleep_at_end, asleep_throughout, minimum;
	bool skip_short;
	struct off_cpu_processor reported; /* sums over all CPUs that have been reported */
};

/* The skeleton must be loaded. Returns 0, or a negative errno after host->fail(). Call collector_free() in any case. */
int collector_init(struct collector *collector, const struct iaprof_host *host, struct stack_reader *stacks,
		   struct off_cpu_bpf *skeleton);
/* Declares the types of records. */
int collector_begin(struct collector *collector);
/* Emits one set of maps and lets the programs fill the other one. */
int collector_turn(struct collector *collector);
/* Emits both sets, after all BPF programs have stopped. */
int collector_finish(struct collector *collector);
/* Emits the waits of threads that were still off the CPU at the end. */
int collector_emit_unfinished(struct collector *collector, uint64_t end);
void collector_free(struct collector *collector);
