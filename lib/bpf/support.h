/* SPDX-License-Identifier: Apache-2.0 */
/* Shared code of the plugins that load BPF programs; a static library. */
#pragma once

#include <signal.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>

/*
 * For probe(): checks that this process can load BPF programs that read structs of the Linux kernel, and that process
 * ids are those of the initial namespace. Returns 0, or the result of host->fail().
 */
int bpf_support_check(const struct iaprof_host *host);

/*
 * Reports why programs could not be loaded: the cause from the Linux kernel or libbpf, and the remedy. what: "load the
 * BPF program"; version: the oldest Linux version that has all required features, "5.12". error: a negative errno.
 * Returns the result of host->fail().
 */
int bpf_load_fail(const struct iaprof_host *host, int error, const char *what, const char *version);

/*
 * Returns how often a program was skipped because it was already running on the CPU, counted since Linux 6.7; 0 for one
 * that is not loaded.
 */
uint64_t bpf_program_missed(const struct bpf_program *program);

/*
 * Attaches a program to all processes that map a file, which is opened itself: its path may refer to another file by
 * now. Returns NULL with errno on failure.
 */
struct bpf_link *bpf_uprobe_attach(const struct bpf_program *program, bool is_return, uint64_t cookie, int descriptor,
				   uint64_t offset);

/* Returns the number of CPUs that may come online, for arrays with an element of each. */
uint32_t bpf_processor_count(void);

/* Properties of a map, set before it is loaded. */
struct bpf_map_size {
	struct bpf_map *map;
	uint32_t entries;
	uint32_t value_size; /* 0: unchanged */
};
/* Returns the size of a ring buffer for wanted bytes: a power of two, from a minimum to a maximum that are some, too.
 */
uint32_t bpf_ring_size(uint64_t wanted, uint32_t minimum, uint32_t maximum);
/* Call before the skeleton is loaded. Returns 0, or the result of host->fail(). */
int bpf_map_sizes_set(const struct iaprof_host *host, const struct bpf_map_size *sizes, size_t count);

/*
 * Between the two calls, libbpf's messages on this thread go to host->log() at debug level. libbpf has one log function
 * per process, which is restored afterwards: call no callbacks in between. Signals that end or reload a run wait
 * meanwhile: with one pending, Linux does not verify a program (EAGAIN, kernel/bpf/verifier.c).
 */
struct bpf_log {
	const struct iaprof_host *outer_host;
	libbpf_print_fn_t outer_print;
	sigset_t outer_signals;
};
struct bpf_log bpf_log_begin(const struct iaprof_host *host);
void bpf_log_end(struct bpf_log *log);
