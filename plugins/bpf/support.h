/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugins that load BPF programs have in common; a static library that each of them links. */
#ifndef IAPROF_BPF_SUPPORT_H
#define IAPROF_BPF_SUPPORT_H

#include <bpf/libbpf.h>
#include <iaprof/host.h>

/*
 * For probe(): can this process load BPF programs that look at the Linux kernel's structures, and are process ids here
 * what the kernel calls them? Returns 0, or what host->fail() returns after one line that says what is missing.
 */
int bpf_support_check(const struct iaprof_host *host);

/*
 * What host->fail() returns after one line that says why programs could not be loaded, with the cause that the Linux
 * kernel or libbpf gave and the remedy. what: "load the BPF program"; version: the least Linux that has all that they
 * need, "5.12". error: a negative errno.
 */
int bpf_load_fail(const struct iaprof_host *host, int error, const char *what, const char *version);

/* What a map is to be like when it is loaded. */
struct bpf_map_size {
	struct bpf_map *map;
	uint32_t entries;
	uint32_t value_size; /* 0: as it is */
};
/* Returns 0, or what host->fail() returns. Before the skeleton is loaded. */
int bpf_map_sizes_set(const struct iaprof_host *host, const struct bpf_map_size *sizes, size_t count);

/*
 * Between the two calls what libbpf logs on this thread goes to host->log() at debug level. libbpf has one log function
 * for the whole process, so the previous one is put back: do not hold this open across callbacks.
 */
struct bpf_log {
	const struct iaprof_host *outer_host;
	libbpf_print_fn_t outer_print;
};
struct bpf_log bpf_log_begin(const struct iaprof_host *host);
void bpf_log_end(struct bpf_log *log);

#endif
