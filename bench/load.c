/* SPDX-License-Identifier: Apache-2.0 */
/* Work for a profiler to look at: see load.h. */
#include "load.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "child.h"

__attribute__((noinline)) static uint64_t work_at(unsigned depth, uint64_t value)
{
	if (depth) {
		value = work_at(depth - 1, value);
		__asm__ volatile("" : "+r"(value)); /* keeps the compiler from making a loop of the calls */
		return value;
	}
	for (unsigned i = 0; i < 1000; i++)
		value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return value;
}

uint64_t load_work(uint64_t value)
{
	return work_at(LOAD_DEPTH, value);
}

struct load load_start(void)
{
	struct load load;
	for (unsigned i = 0; i < LOAD_PROCESSES; i++) {
		load.pids[i] = fork();
		if (load.pids[i] < 0) {
			perror("fork");
			exit(EXIT_FAILURE);
		}
		if (load.pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (uint64_t value = 1;;)
				value = load_work(value);
		}
	}
	return load;
}

void load_end(struct load *load)
{
	for (unsigned i = 0; i < LOAD_PROCESSES; i++)
		child_end(load->pids[i], SIGKILL);
}
