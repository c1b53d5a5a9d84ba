/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the observations of a self-test (observations.h): runs the GPU program, first beside a stream of raw rows, then
 * under iaprof. Progress and messages go to standard error. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct collect_setup {
	const char *iaprof;      /* the program */
	const char *gpu_program; /* iaprof-self-test-gpu */
	uint64_t duration;       /* of each kernel, ms */
};

/* Writes the observations. What cannot be observed is a line "missing". Returns 0, or a negative errno for an output
 * that cannot be written. */
int collect(const struct collect_setup *setup, FILE *output);

/* The parts: see collect_rows.c and collect_profile.c. The first returns whether there is a GPU. */
bool collect_rows(const struct collect_setup *setup, FILE *output);
void collect_profile(const struct collect_setup *setup, FILE *output);
