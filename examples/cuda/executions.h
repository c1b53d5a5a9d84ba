/* SPDX-License-Identifier: Apache-2.0 */
/* When kernels and copies ran on the device, from CUPTI's activity records. */
#pragma once

#include "cupti.h"
#include "launch_counts.h"
#include "sampling.h"
#include "writer.h"

/*
 * Before the first context is created: CUPTI refuses activity records of kernels once it samples PCs. The arguments
 * must outlive the program's use of CUDA. Returns CUPTI's error, or 0.
 */
int executions_start(const struct cupti_functions *cupti, struct writer *writer, struct launch_counts *launches,
		     struct sampling *sampling);
/* Adds copies, after that: returns the first error of CUPTI, or 0. */
int executions_start_copies(void);
/* Ends them, with those that CUPTI still holds. */
void executions_stop(void);
/* Sends the executions that have ended; is_end: also what CUPTI still holds, at the end of the program. */
void executions_send(bool is_end);
