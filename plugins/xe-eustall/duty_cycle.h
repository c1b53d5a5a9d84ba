/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampling in windows of time, so that a run holds its budget of CPU time where the hardware has no slower rate. Time
 * is divided into blocks. Of each, one window is sampled, whose samples count stride times: the block is stride times
 * as long as what was sampled of it. That holds also if the thread is late, which makes the next pause shorter. The
 * window has a random place in the first half of its block, so that windows cannot coincide with the steps of a
 * program. Knows no clocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Long compared with the interval at which the driver makes rows available, whose last ones are lost. */
#define DUTY_WINDOW UINT64_C(100000000) /* ns */
/* A pause ends after 2.3 s at most: device_watchdog.h takes a GPU for dead after three silent seconds. */
#define DUTY_STRIDE_MAX 16u

struct duty_cycle {
	uint32_t stride; /* that of the current window; 1: sampled all the time; 0: as 1 */
	uint64_t block;  /* begin of the current block */
	uint64_t begin;  /* of the current window */
	uint64_t change; /* end of the current window, or of the pause; UINT64_MAX: not expected */
};

/* Begins a window. */
void duty_cycle_begin(struct duty_cycle *cycle, uint32_t stride, uint64_t now);
/* Begins the pause after a window, of which this many ns were sampled. random: any 32 bits. */
void duty_cycle_pause(struct duty_cycle *cycle, uint64_t sampled, uint32_t random, uint64_t now);
