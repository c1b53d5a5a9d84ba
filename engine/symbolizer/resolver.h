/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves an address in a stack to frames: looks up the mapping in the process table and the functions with the
 * symbolizer, once for each address, and writes the result to the result stream (FRAMES and MODULE records) for
 * captures. In a replay, those records come first and replace the symbolizer. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "bus/intern.h"
#include "bus/result_stream.h"
#include "process/process.h"
#include "symbolizer/frame_table.h"
#include "symbolizer/symbolizer.h"

struct resolver;

struct resolver_options {
	struct process_table *processes;
	struct symbolizer *symbolizer; /* NULL: a replay, where all names come from FRAMES records */
	struct frame_table *frames;
	struct intern *intern;
	struct result_stream *results; /* for FRAMES and MODULE records */
	bool lines;                    /* include source lines and inlined functions */
};

struct resolver *resolver_new(const struct resolver_options *options);
void resolver_free(struct resolver *resolver);
/* Forgets all frames: the frame table was emptied. Not in a replay, which cannot resolve them again. */
void resolver_forget(struct resolver *resolver);

/* Stores the frames of a FRAMES record of a replayed run. */
void resolver_learn(struct resolver *resolver, const struct iaprof_record_frames *record);
/* Stores the build id in a MODULE record of a replayed run. */
void resolver_learn_module(struct resolver *resolver, const struct iaprof_record_module *record);

/*
 * Resolves an address of a process (NULL: the Linux kernel) at a time to frames, the outermost function first. Stores
 * at most capacity ids in frames and returns their number; 0 if out of memory. named_lines: frames by name, such as
 * Python functions, have their lines in any case, which cost nothing to find, but make different stacks.
 */
size_t resolver_resolve(struct resolver *resolver, struct process *process, uint64_t time, uint64_t address,
			bool named_lines, uint32_t *frames, size_t capacity);

/* Prefetches data for resolver_resolve() of the same address: see symbolizer_prefetch(). */
void resolver_prefetch(struct resolver *resolver, struct process *process, uint64_t time, uint64_t address,
		       enum budget_patience patience);

/* Returns which runtimes (jit_runtime.h) generated code without names: bit n is runtime n. */
uint32_t resolver_runtimes(const struct resolver *resolver);
/* Returns the number of addresses in a replayed run without a FRAMES record. */
uint64_t resolver_nameless(const struct resolver *resolver);
