/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread waits for, by the functions of its Linux kernel stack and the driver of the ioctl that it executes. The
 * functions and the drivers are tables in wait_reasons.c.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/array.h"

/* Code of a function in the tables, or of a driver in them. */
struct wait_range {
	uint64_t start, end;
	uint32_t reason; /* position in the table, and in that of drivers */
	uint32_t driver;
};

/* Initialise with {0}. */
struct wait_reasons {
	ARRAY(struct wait_range) ranges; /* sorted */
};

/* Reads the addresses of functions from /proc/kallsyms. Returns 0 or a negative errno. */
int wait_reasons_read(struct wait_reasons *reasons, FILE *file);
void wait_reasons_free(struct wait_reasons *reasons);

/* Returns how many frames at the leaf of a stack are of the BPF program that took it, and of the scheduler. */
size_t wait_reasons_skip(const struct wait_reasons *reasons, const uint64_t *addresses, size_t count);

#define WAIT_REASON_SIZE 64

/*
 * Writes the reason of a wait, such as "[GPU fence: xe]", into text. addresses: the stack, leaf first; driver: module
 * of the file whose ioctl is in progress, or ""; state: enum off_cpu_state.
 */
void wait_reason_text(const struct wait_reasons *reasons, const uint64_t *addresses, size_t count, const char *driver,
		      uint32_t state, char text[WAIT_REASON_SIZE]);
