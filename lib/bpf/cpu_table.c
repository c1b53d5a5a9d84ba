/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu_table.h. */
#include "bpf/cpu_table.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/libbpf.h>

/* A handler runs for a few microseconds. */
#define IDLE_WAIT 200000u /* ns */

static size_t mapped_size(const struct cpu_table *table)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = table->count * table->word_count * sizeof *table->words;
	return (size + page - 1) / page * page;
}

int cpu_table_map(struct cpu_table *table, const struct iaprof_host *host, const struct bpf_map *map)
{
	*table = (struct cpu_table){ .host = host,
				     .word_count = bpf_map__value_size(map) / sizeof *table->words,
				     .count = bpf_map__max_entries(map) };
	void *mapped = mmap(NULL, mapped_size(table), PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);
	if (mapped == MAP_FAILED)
		return host->fail(host, errno, "cannot map the counters of the BPF programs: %s", strerror(errno));
	table->words = mapped;
	return 0;
}

void cpu_table_unmap(struct cpu_table *table)
{
	if (table->words)
		munmap((void *)(uintptr_t)table->words, mapped_size(table));
	table->words = NULL;
}

void cpu_table_sum(const struct cpu_table *table, void *sum)
{
	__u64 *words = sum;
	memset(words, 0, table->word_count * sizeof *words);
	for (size_t i = 0; i < table->count * table->word_count; i++)
		words[i % table->word_count] += __atomic_load_n(&table->words[i], __ATOMIC_RELAXED);
}

bool cpu_table_wait_idle(const struct cpu_table *table, size_t offset)
{
	uint64_t begin = table->host->clock(table->host);
	for (uint32_t i = 0; i < table->count; i++) {
		const __u64 *active = &table->words[i * table->word_count + offset / sizeof *active];
		while (__atomic_load_n(active, __ATOMIC_ACQUIRE))
			if (table->host->clock(table->host) - begin > IDLE_WAIT)
				return false;
	}
	return true;
}

bool cpu_table_switch_set(const struct cpu_table *table, size_t offset, uint32_t *active_set, bool *pending)
{
	if (!*pending) {
		__atomic_store_n(active_set, !*active_set, __ATOMIC_SEQ_CST);
		atomic_thread_fence(memory_order_seq_cst);
	}
	*pending = !cpu_table_wait_idle(table, offset);
	return !*pending;
}
