/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Per-CPU state of BPF programs that user space reads at any time: an array map with BPF_F_MMAPABLE and one struct of
 * __u64 members per CPU, mapped read-only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>
#include <iaprof/host.h>

struct bpf_map;

/* Initialise with {0}. */
struct cpu_table {
	const struct iaprof_host *host;
	const __u64 *words; /* NULL: not mapped */
	size_t word_count;  /* per CPU */
	uint32_t count;     /* CPUs */
};

/* Returns 0, or a negative errno after host->fail(). */
int cpu_table_map(struct cpu_table *table, const struct iaprof_host *host, const struct bpf_map *map);
void cpu_table_unmap(struct cpu_table *table);
/* Adds up all CPUs, member by member. sum has the type of the map's values. */
void cpu_table_sum(const struct cpu_table *table, void *sum);
/*
 * Waits at most 200 us until the member at an offset is 0 on all CPUs: until no handler is active. Returns false on
 * timeout, as when a virtual CPU or a task was preempted inside a handler.
 */
bool cpu_table_wait_idle(const struct cpu_table *table, size_t offset);
/*
 * Of two sets of maps, has the handlers write to the other one than *active_set, unless that is *pending from an
 * earlier call. Returns whether no handler uses the earlier set any more, which can then be drained; *pending is true
 * until then.
 */
bool cpu_table_switch_set(const struct cpu_table *table, size_t offset, uint32_t *active_set, bool *pending);
