/* SPDX-License-Identifier: Apache-2.0 */
/* Loads ze-usdt's BPF programs. */
#ifndef IAPROF_ZE_USDT_PROGRAMS_H
#define IAPROF_ZE_USDT_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>

struct ze_usdt_bpf;

/* For probe(): can probes with semaphores be attached to here? As bpf_support_check(). */
int programs_check(const struct iaprof_host *host);

struct programs_settings {
	uint32_t map_size; /* launches that a set of maps has room for */
	bool take_stacks;
	bool take_kernel; /* the Linux kernel's stacks, too */
};

/*
 * Opens and loads the programs, and attaches those that follow processes. Returns 0, or a negative errno after
 * host->fail(); *skeleton is to be destroyed in either case.
 */
int programs_load(struct ze_usdt_bpf **skeleton, const struct iaprof_host *host,
		  const struct programs_settings *settings);

#endif
