/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an address in a stack to frames: asks the process table for the mapping and the symbolizer for the functions,
 * once for each address, and sends what it found over the bus (FRAMES and MODULE records), so that a capture holds it.
 * In a replay those records come first and answer in the symbolizer's place. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_RESOLVER_H
#define IAPROF_CORE_PROFILE_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "bus/bus.h"
#include "bus/intern.h"
#include "process/process.h"
#include "profile/frame_table.h"
#include "symbolizer/symbolizer.h"

struct resolver;

struct resolver_options {
	struct process_table *processes;
	struct symbolizer *symbolizer; /* NULL: a replay, where all names come from FRAMES records */
	struct frame_table *frames;
	struct intern *intern;
	struct bus *bus; /* where FRAMES and MODULE records go; NULL: nobody wants them */
	bool lines;      /* stacks with source lines and inlined functions */
};

struct resolver *resolver_new(const struct resolver_options *options);
void resolver_free(struct resolver *resolver);

/* Stores the frames of a FRAMES record of a replayed run. */
void resolver_learn(struct resolver *resolver, const struct iaprof_record_frames *record);
/* Takes the build id that a MODULE record of a replayed run holds. */
void resolver_learn_module(struct resolver *resolver, const struct iaprof_record_module *record);

/*
 * The frames at an address of a process (NULL: the Linux kernel) at a time, the outermost function first. Puts at most
 * capacity ids into frames and returns how many; 0 when out of memory.
 */
size_t resolver_resolve(struct resolver *resolver, struct process *process, uint64_t time, uint64_t address,
			uint32_t *frames, size_t capacity);

/* Reads what resolver_resolve() will need for the same address: see symbolizer_look_ahead(). */
void resolver_look_ahead(struct resolver *resolver, struct process *process, uint64_t time, uint64_t address,
			 enum budget_patience patience);

/* Addresses of a replayed run that no FRAMES record named. */
uint64_t resolver_nameless(const struct resolver *resolver);

#endif
