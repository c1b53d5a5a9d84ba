/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the data of the BPF programs into records: one set of maps is drained while the other one is filled, and events
 * are ordered between the sets.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "warning_limit.h"
#include "base/array.h"
#include "bpf/cpu_table.h"
#include "bpf/map_table.h"
#include "code_objects.h"
#include "count_areas.h"
#include "records/record_batch.h"
#include "recordings.h"
#include "bpf/stack_reader.h"
#include "times.h"
#include "ze-usdt.h"

struct ze_usdt_bpf;
struct ring_buffer;

struct drain {
	const struct iaprof_host *host;
	struct ze_usdt_bpf *skeleton;
	struct cpu_table cpus;
	bool set_pending;   /* active_set was changed, the other set is not drained yet */
	uint64_t last_time; /* time of the last turn */
	uint64_t period;    /* until the next turn, at most period_max */
	uint64_t period_max;
	uint32_t map_size;

	struct ring_buffer *ring;
	const uint64_t *consumed;    /* positions in the ring: at the beginning of its first page */
	const uint64_t *produced;    /* and of its second one */
	ARRAY(struct ze_event) ends; /* UNLOAD and EXIT events, held back until all earlier events have been emitted */
	size_t end_mark;             /* ends that precede the switch of active_set */
	int event_error;             /* error of a ring callback */

	struct stack_reader *stacks;
	struct map_table launches;
	struct map_table executions;
	struct map_table kernels;
	struct record_batch batch;
	struct code_objects objects;
	struct recordings recordings;
	struct count_areas counts;
	struct times times;
	struct ze_processor reported; /* sums over the CPUs, reported so far */
};

/* skeleton is loaded, and times.is_on and is_complete are set. Returns 0, or a negative errno after host->fail(). Call
 * drain_free() in either case. */
int drain_init(struct drain *drain, const struct iaprof_host *host, struct stack_reader *stacks,
	       struct ze_usdt_bpf *skeleton, struct warning_limit *warnings);
/* Declares the counters. */
int drain_begin(struct drain *drain);
/* Readable when images were announced; then call drain_events(). */
int drain_event_descriptor(const struct drain *drain);
int drain_events(struct drain *drain);
/* Emits the contents of one set of maps while the other one is filled. */
int drain_turn(struct drain *drain);
/* Disables the BPF programs and emits the rest. */
int drain_finish(struct drain *drain);
void drain_free(struct drain *drain);
