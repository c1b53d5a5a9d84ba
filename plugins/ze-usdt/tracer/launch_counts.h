/* SPDX-License-Identifier: Apache-2.0 */
/* Counts launches in memory that a profiler reads (../count_area.h), so that most launches fire no probe. */
#ifndef ZE_TRACER_LAUNCH_COUNTS_H
#define ZE_TRACER_LAUNCH_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Launches with the same values are counted together. */
struct counted_launch {
	const void *kernel;
	uint64_t module; /* a kernel at the address of a destroyed one has another module, or another address */
	uint64_t address;
	uint64_t recording;
	uint64_t stack; /* identity, not 0 */
};

/* The cells of one thread. */
struct count_block;
struct count_state;

/* Of a process; initialise with {0}. */
struct launch_counts {
	_Atomic bool creating;
	struct count_state *_Atomic state;
};

/*
 * Counts a launch. Returns false if the probe new_launch must be fired instead, with *tag. *owner: the block of this
 * thread, initially NULL; owner may be NULL. epoch increases when a profiler attaches.
 */
bool launch_counts_add(struct launch_counts *counts, struct count_block **owner, const struct counted_launch *launch,
		       uint32_t epoch, uint32_t *tag);
/* Releases the thread's block when it ends. */
void launch_counts_release(struct count_block **owner);

#endif
