/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the NPU's double share. */
#pragma once

#include <stdint.h>

#include "../programs/npu_uapi.h"
#include "tap.h"

#define NPU_DOUBLE "/sys/kernel/debug/intel_vpu_double/"

/* A descriptor of /dev/accel/accel0; ends the program when there is none. */
int npu_open(void);
/* ioctl(): 0 or -1 */
int npu_call(int file, unsigned long number, void *argument);
/* A buffer's handle, 0 on failure. */
uint32_t npu_buffer(int file, uint64_t size);
/* Submits with one or two buffers (second 0: one); 0 or -1. */
int npu_submit(int file, uint32_t command, uint32_t second);
/* Waits up to `ms`; 0 or -1; the job's status. */
int npu_wait(int file, uint32_t command, int ms, uint32_t *status);
/* GET_PARAM's value, or -1 */
int64_t npu_param(int file, uint32_t param, uint32_t index);
/* Gives the double a scenario: 0, or errno. */
int npu_scenario(const char *text);
/* Waits until no event is to come, then gives it. */
int npu_scenario_when_idle(const char *text);
/* A line of `truth` that begins so, or -1. */
int64_t npu_truth(const char *name);
/* Ends every job that is not over: 0 or -1. */
int npu_abort_jobs(void);
/* Jobs are done after 20 ms, or never. */
extern const char npu_jobs_of_20_ms[], npu_jobs_that_hang[];

void npu_ioctl_tests(void);
void npu_job_tests(void);
void npu_life_tests(void);
void npu_scenario_tests(void);
