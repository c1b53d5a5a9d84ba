/* SPDX-License-Identifier: Apache-2.0 */
/* Loads ze-usdt's BPF programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>

struct ze_usdt_bpf;

/* For probe(): checks whether probes with semaphores are supported. Returns the same as bpf_support_check(). */
int programs_check(const struct iaprof_host *host);

struct programs_settings {
	uint32_t map_size; /* capacity of a set of maps, in launches */
	bool take_stacks;
	bool take_kernel; /* record Linux kernel stacks */
	bool use_python;  /* with Python frames, if use_tables */
	bool use_spans;   /* with the spans of threads, if use_tables */
	bool use_tables;  /* unwind user stacks by tables; reset if the Linux kernel does not accept the program */
};

/*
 * Opens and loads the programs, and attaches those that track processes. Returns 0, or a negative errno after
 * host->fail(); the caller destroys *skeleton in either case.
 */
int programs_load(struct ze_usdt_bpf **skeleton, const struct iaprof_host *host, struct programs_settings *settings);
