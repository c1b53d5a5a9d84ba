/* SPDX-License-Identifier: Apache-2.0 */
/* Loads ze-usdt's BPF programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "bpf/stack_reader.h"

struct ze_usdt_bpf;

/* For probe(): checks whether probes with semaphores are supported. Returns the same as bpf_support_check(). */
int programs_check(const struct iaprof_host *host);

/*
 * Opens and loads the programs, and attaches those that track processes. map_size: capacity of a set of maps, in
 * launches; take_kernel: record Linux kernel stacks. Returns 0, or a negative errno after host->fail(); the caller
 * destroys *skeleton in either case.
 */
int programs_load(struct ze_usdt_bpf **skeleton, const struct iaprof_host *host, struct stack_reader *stacks,
		  uint32_t map_size, bool take_kernel, bool take_times);
