/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples only some windows of time, to keep a run within its CPU budget when the hardware has no lower sampling rate.
 * Time is divided into blocks with one window each. A sample counts stride times, because a block is stride times as
 * long as the part of it that was sampled; if the thread is late, the next pause is shorter. Windows start at random
 * in the first half of their blocks, so that they do not coincide with the steps of a program. Does not read clocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Much longer than the interval at which the driver makes rows available: rows of its last interval are lost. */
#define DUTY_WINDOW UINT64_C(100000000) /* ns */
/* A pause ends after 2.3 s at most: device_watchdog.h takes a GPU for dead after three silent seconds. */
#define DUTY_STRIDE_MAX 16u

struct duty_cycle {
	uint32_t stride; /* of the current window; 0 or 1: everything is sampled */
	uint64_t block;  /* start of the current block */
	uint64_t begin;  /* start of the current window */
	uint64_t change; /* end of the current window or pause; UINT64_MAX: none */
};

/* Begins a window. */
void duty_cycle_begin(struct duty_cycle *cycle, uint32_t stride, uint64_t now);
/* Begins the pause after a window, of which this many ns were sampled. random: any 32 bits. */
void duty_cycle_pause(struct duty_cycle *cycle, uint64_t sampled, uint32_t random, uint64_t now);
