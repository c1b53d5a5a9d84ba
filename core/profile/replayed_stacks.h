/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of device samples as a replayed run holds them: PROFILE_STACK records. Belongs to the collector's thread. */
#ifndef IAPROF_CORE_PROFILE_REPLAYED_STACKS_H
#define IAPROF_CORE_PROFILE_REPLAYED_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "base/hash.h"
#include "bus/intern.h"
#include "profile/frame_table.h"

struct replayed_stack {
	uint32_t id;
	uint32_t stack; /* index in the frame table */
};

/* Initialise with {0}. */
struct replayed_stacks {
	ARRAY(struct replayed_stack) items;
	struct hash_index index;
};

void replayed_stacks_free(struct replayed_stacks *stacks);
/* A second definition of an id is left out. False when out of memory. */
bool replayed_stacks_take(struct replayed_stacks *stacks, const struct iaprof_record_profile_stack *record,
			  struct intern *intern, struct frame_table *frames);
/* FRAME_NONE: it was never defined. */
uint32_t replayed_stacks_find(const struct replayed_stacks *stacks, uint32_t id);

#endif
