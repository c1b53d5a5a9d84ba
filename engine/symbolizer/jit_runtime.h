/* SPDX-License-Identifier: Apache-2.0 */
/* Language runtimes that generate code, known by the files that their processes have mapped. */
#pragma once

#include <stdint.h>

#include "process/process.h"

struct jit_runtime {
	const char *file;   /* how the name of its program or library begins */
	const char *label;  /* frame of generated code without a name */
	const char *remedy; /* how its functions get names */
};

/* Limit on mappings that are examined. */
#define JIT_RUNTIME_MAPPINGS_MAX 4096u

/* Runtimes by number, for bit sets; 0 is the unknown one. */
#define JIT_RUNTIME_COUNT_MAX 32u
extern const struct jit_runtime jit_runtimes[];
extern const uint32_t jit_runtime_count;

/* Returns the number of the runtime that a process uses at a time. */
uint32_t jit_runtime_find(struct process_table *processes, struct process *process, uint64_t time);
