/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a self-test observed, as lines of words: the file of --save, from which --replay judges again. All numbers but
 * addresses are decimal, times are in ns.
 *
 *     iaprof-self-test 1                   the format's version, first
 *     version TEXT                         of iaprof
 *     linux TEXT
 *     device PCI-ADDRESS gt N xe-cores N layout NAME period CYCLES name TEXT
 *     gpu ID driver VERSION eus N threads-per-eu N timer HZ timer-bits N
 *     kernel NAME ADDRESS                  in the GPU's address space
 *     image HEX                            the module's native binary
 *     run NAME groups N turns N timed LAUNCHES host TIME [device TIME]
 *     row HEX                              without trailing zeros; the first 1 MiB of rows
 *     rows N saturated N overflows N reads-after-overflow N
 *     sum ADDRESS COUNT...                 of all rows, by reason (enum stall_reason)
 *     missing WHAT: REASON                 why a part could not be observed
 *     profile status N samples N matched N ambiguous N unmatched N
 *     profile-stalls NAME N                samples of a kernel in the profile
 *     profile-time NAME N TIME             its executions in the profile, and their time
 *     profile-callee N                     samples in self_test_callee below its kernel
 *     profile-run NAME N TIME              its launches in that run, and the host's time of the timed ones
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xe-eustall/row_layout.h"

#define OBSERVATIONS_VERSION 1
#define KERNELS_MAX 16u
#define NAME_SIZE 64u

struct kernel_observation {
	char name[NAME_SIZE];
	uint64_t address;                            /* 0: unknown */
	bool has_run, has_device_time;               /* of the run with raw rows */
	uint64_t groups, turns, timed, host, device; /* ns */
	uint64_t profile_stalls;                     /* samples */
	uint64_t profile_executions, profile_time;   /* ns */
	uint64_t profile_launches, profile_host;     /* what the program counted; ns */
};

struct address_sum {
	uint64_t address; /* of a row, bytes */
	uint64_t counts[STALL_REASON_COUNT];
};

struct observations {
	char version[NAME_SIZE], linux_release[NAME_SIZE];
	bool has_device, has_gpu, has_rows, has_profile;
	char device[NAME_SIZE], name[NAME_SIZE];
	const struct row_layout *layout; /* NULL: none that is known */
	uint64_t gt, xe_cores, period;
	uint64_t eus, threads_per_eu;
	struct kernel_observation kernels[KERNELS_MAX];
	size_t kernel_count;
	unsigned char *image; /* NULL: none */
	size_t image_size;
	unsigned char (*raw)[ROW_SIZE];
	size_t raw_count;
	uint64_t rows, saturated, overflows, reads_after_overflow;
	struct address_sum *sums;
	size_t sum_count;
	int profile_status;
	uint64_t samples, matched, ambiguous, unmatched, profile_callee;
	char missing[4][256]; /* "GPU: no GPU with the xe driver" */
	size_t missing_count;
};

/* Reads a whole file. name: for the message about a damaged line; NULL: none. Returns 0 or a negative errno. */
int observations_read(struct observations *observations, FILE *file, const char *name);
void observations_free(struct observations *observations);

/* Returns a kernel by name, or NULL. */
const struct kernel_observation *observations_kernel(const struct observations *observations, const char *name);
/* Returns why a part is missing, or NULL. */
const char *observations_missing(const struct observations *observations, const char *part);
