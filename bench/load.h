/* SPDX-License-Identifier: Apache-2.0 */
/* Work for a profiler to look at: two busy processes whose calls are as deep as those of ordinary programs. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define LOAD_PROCESSES 2
#define LOAD_DEPTH 20

struct load {
	pid_t pids[LOAD_PROCESSES];
};

struct load load_start(void);
void load_end(struct load *load);

/* A piece of that work, some microseconds long. */
uint64_t load_work(uint64_t value);
