/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the BPF programs counted and told becomes records: one set of maps is read and emptied while the other one is
 * filled, and events are put into their place between the sets.
 */
#ifndef IAPROF_ZE_USDT_DRAIN_H
#define IAPROF_ZE_USDT_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "complaints.h"
#include "map_table.h"
#include "objects.h"
#include "record_batch.h"
#include "recordings.h"
#include "stack_index.h"
#include "ze-usdt.h"

struct ze_usdt_bpf;
struct ring_buffer;

struct drain {
	const struct iaprof_host *host;
	struct ze_usdt_bpf *skeleton;
	struct ze_processor *processors; /* mapped, processor_count of them */
	uint32_t processor_count;
	bool set_pending;   /* active_set was changed, the other set is not drained yet */
	uint64_t last_time; /* of the last turn */
	uint64_t period;    /* until the next turn, at most period_max */
	uint64_t period_max;
	uint32_t map_size;

	struct ring_buffer *ring;
	struct ze_event *ends; /* UNLOAD and EXIT events that wait for what happened before them */
	size_t end_count, end_capacity;
	size_t end_mark; /* so many came before active_set was changed */
	int event_error; /* what failed in a callback of the ring */

	struct map_table launches;
	struct map_table executions;
	struct map_table kernels;
	struct map_table stacks;
	struct stack_index index;
	struct record_batch batch;
	struct objects objects;
	struct recordings recordings;
	struct ze_processor reported; /* sums over the CPUs, as far as they have been reported */
	uint64_t recordings_forgotten;
};

/* Counters of the plugin, by their id in COUNTER records. */
enum drain_counter {
	DRAIN_KERNEL_TIME = 1,
	DRAIN_LAUNCHES = 2,
	DRAIN_LAUNCHES_FILTERED = 3,
	DRAIN_EXECUTIONS = 4,
	DRAIN_MODULES = 5
};

/* skeleton is loaded. Returns 0, or a negative errno after host->fail(). Undone by drain_free() in either case. */
int drain_init(struct drain *drain, const struct iaprof_host *host, struct ze_usdt_bpf *skeleton,
	       struct complaints *complaints);
/* Declares what is emitted later. */
int drain_begin(struct drain *drain);
/* Readable when images were announced; then drain_events() reads them. */
int drain_event_descriptor(const struct drain *drain);
int drain_events(struct drain *drain);
/* Emits what one set of maps holds, and lets the other one be filled. */
int drain_turn(struct drain *drain);
/* Has the BPF programs do nothing from here on, and emits what there is. */
int drain_finish(struct drain *drain);
void drain_free(struct drain *drain);

#endif
