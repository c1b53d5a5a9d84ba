/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of device samples from a replayed run (PROFILE_STACK records). Owned by the collector thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/keyed_array.h"
#include "bus/intern.h"
#include "correlator/sampled_devices.h"
#include "symbolizer/frame_table.h"

struct replayed_stack {
	uint32_t key;         /* id */
	uint32_t stack;       /* index in the frame table */
	bool is_span_dropped; /* FRAME_TABLE_SPANS_MAX was reached */
};

/* Initialise with {0} and the first four members. */
struct replayed_stacks {
	struct intern *intern;
	struct frame_table *frames;
	struct sampled_devices *devices; /* NULL: stacks of different threads and devices are merged */
	bool spans;                      /* stacks of different spans are separate */
	KEYED_ARRAY(struct replayed_stack) items;
};

void replayed_stacks_free(struct replayed_stacks *stacks);
/* Adds a stack; ignores a second definition of an id. Returns false when out of memory. */
bool replayed_stacks_take(struct replayed_stacks *stacks, const struct iaprof_record_profile_stack *record);
/* Returns NULL if the id was never defined. Valid until the next stack is added. */
const struct replayed_stack *replayed_stacks_find(const struct replayed_stacks *stacks, uint32_t id);
