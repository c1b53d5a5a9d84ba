/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "launch_counts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampling.h"

#define NANOSECONDS 1000000000ull
/* Launches after which a thread's rate is measured again. */
#define RATE_LAUNCHES 256u

/* Nodes of graphs whose stacks are all taken, in less than a second altogether: a program makes them once. */
#define ALL_NODES 20000u

/* A kernel that was launched. The first three members never change once the entry is visible. */
struct kernel {
	const char *symbol; /* CUPTI's pointer */
	char *name;
	uint32_t id;
	/* Since the last record or call of the hook. */
	uint32_t tid;
	uint64_t count, first_time, last_time;
};

__attribute__((noinline)) void iaprof_cuda_launched(uint64_t kernel, uint64_t count, uint64_t correlation,
						    const struct thread_ranges *ranges)
{
	__asm__ volatile("" : : "r"(kernel), "r"(count), "r"(correlation), "r"(ranges) : "memory");
}

uint32_t launch_thread(void)
{
	static __thread uint32_t id;
	return id ? id : (id = (uint32_t)syscall(SYS_gettid));
}

static size_t slot_of(const char *symbol)
{
	return ((uintptr_t)symbol * 0x9e3779b97f4a7c15ull >> 20) % (2 * LAUNCH_KERNELS_MAX);
}

/* Returns the entry of a kernel, or NULL. CUPTI may use a pointer again for another name. */
static struct kernel *find_kernel(struct launch_counts *counts, const char *symbol, size_t *slot)
{
	struct kernel *kernel;
	for (*slot = slot_of(symbol); (kernel = __atomic_load_n(&counts->kernels[*slot], __ATOMIC_ACQUIRE));
	     *slot = (*slot + 1) % (2 * LAUNCH_KERNELS_MAX))
		if (kernel->symbol == symbol && strcmp(kernel->name, symbol) == 0)
			return kernel;
	return NULL;
}

static bool send_kernel(struct launch_counts *counts, const struct kernel *kernel)
{
	struct cuda_kernel record = { .id = kernel->id, .length = (uint32_t)strnlen(kernel->name, CUDA_NAME_MAX) };
	record.header.size = (uint32_t)sizeof record + ((record.length + 7) & ~7u);
	record.header.type = CUDA_RECORD_KERNEL;
	return writer_put(counts->writer, &record, sizeof record, kernel->name, record.length, CUDA_DROP_RECORDS, 1);
}

static struct kernel *add_kernel(struct launch_counts *counts, const char *symbol)
{
	size_t slot;
	struct kernel *made = NULL;
	pthread_mutex_lock(&counts->lock);
	struct kernel *known = find_kernel(counts, symbol, &slot);
	if (!known && counts->kernel_count < LAUNCH_KERNELS_MAX && (made = calloc(1, sizeof *made))) {
		*made = (struct kernel){ .symbol = symbol, .name = strdup(symbol), .id = counts->kernel_count + 1 };
		if (made->name && send_kernel(counts, made)) {
			counts->kernel_count++;
			__atomic_store_n(&counts->kernels[slot], made, __ATOMIC_RELEASE);
		} else {
			free(made->name);
			free(made);
			made = NULL;
		}
	}
	pthread_mutex_unlock(&counts->lock);
	return known ? known : made;
}

void launch_counts_announce(struct launch_counts *counts)
{
	pthread_mutex_lock(&counts->lock);
	struct kernel **known = calloc(counts->kernel_count + 1, sizeof *known);
	for (size_t i = 0; known && i < 2 * LAUNCH_KERNELS_MAX; i++)
		if (counts->kernels[i]) {
			counts->kernels[i]->count = 0;
			known[counts->kernels[i]->id - 1] = counts->kernels[i];
		}
	/* Ids ascend: without one of them, the plugin refuses those after it. */
	for (uint32_t i = 0; known && i < counts->kernel_count && send_kernel(counts, known[i]); i++)
		;
	pthread_mutex_unlock(&counts->lock);
	free(known);
}

/* A thread's choice of launches. */
struct choice {
	uint64_t random;
	uint64_t period; /* one launch in so many */
	uint64_t since;  /* start of the measurement of the thread's rate */
	uint64_t count;  /* launches since then */
};

/* Returns whether a launch's stack is taken: at random, at most so often in a second that the thread is not slowed. */
static bool is_chosen(const struct launch_counts *counts, struct choice *choice, uint64_t first_period)
{
	if (!counts->rate)
		return true;
	if (!choice->period) {
		choice->since = sampling_clock();
		choice->random = (uint64_t)launch_thread() * 0x9e3779b97f4a7c15ull + choice->since;
		choice->period = first_period;
	}
	if (++choice->count == RATE_LAUNCHES) {
		uint64_t now = sampling_clock(), elapsed = now - choice->since + 1;
		choice->period = RATE_LAUNCHES * NANOSECONDS / elapsed / counts->rate + 1;
		choice->since = now;
		choice->count = 0;
	}
	choice->random ^= choice->random << 13;
	choice->random ^= choice->random >> 7;
	choice->random ^= choice->random << 17;
	return (choice->random >> 16) % choice->period == 0;
}

uint32_t launch_counts_kernel(struct launch_counts *counts, const char *symbol)
{
	size_t slot;
	struct kernel *kernel = find_kernel(counts, symbol, &slot) ?: add_kernel(counts, symbol);
	return kernel ? kernel->id : 0;
}

/* Counts a launch of what has no name of its own. */
static void add_unnamed(struct launch_counts *counts, const char *symbol, uint32_t correlation, struct choice *choice)
{
	uint32_t kernel = launch_counts_kernel(counts, symbol);
	if (!kernel)
		writer_drop(counts->writer, CUDA_DROP_LAUNCHES, 1);
	else if (counts->mode == CUDA_LAUNCHES_HOOK && is_chosen(counts, choice, 1))
		iaprof_cuda_launched(kernel, 1, correlation, ranges_of_thread());
}

void launch_counts_add_graph(struct launch_counts *counts, uint32_t correlation)
{
	static __thread struct choice choice;
	add_unnamed(counts, CUDA_GRAPHS, correlation, &choice);
}

void launch_counts_add_copy(struct launch_counts *counts, uint32_t correlation, bool is_large)
{
	static __thread struct choice choices[2];
	add_unnamed(counts, CUDA_COPIES, correlation, &choices[is_large]);
}

void launch_counts_add_node(struct launch_counts *counts, uint64_t node)
{
	static __thread struct choice choice;
	uint32_t kernel = counts->mode == CUDA_LAUNCHES_HOOK ? launch_counts_kernel(counts, CUDA_GRAPH_NODES) : 0;
	if (kernel &&
	    (__atomic_fetch_add(&counts->nodes, 1, __ATOMIC_RELAXED) < ALL_NODES || is_chosen(counts, &choice, 1)))
		iaprof_cuda_launched(kernel, 1, node, ranges_of_thread());
}

void launch_counts_add(struct launch_counts *counts, const char *symbol, uint32_t correlation)
{
	static __thread struct choice choice;
	size_t slot;
	uint64_t weight = __atomic_load_n(&counts->weight, __ATOMIC_RELAXED);
	if (!weight)
		return;
	__atomic_fetch_add(&counts->callbacks, 1, __ATOMIC_RELAXED);
	struct kernel *kernel = find_kernel(counts, symbol, &slot);
	bool is_new = !kernel;
	if (is_new)
		kernel = add_kernel(counts, symbol);
	if (!kernel) {
		writer_drop(counts->writer, CUDA_DROP_LAUNCHES, 1);
		return;
	}
	uint64_t before = __atomic_fetch_add(&kernel->count, weight, __ATOMIC_RELAXED);
	if (counts->mode == CUDA_LAUNCHES_HOOK) {
		/* Reports earlier launches of the kernel as well, whose stacks were not taken. */
		if (is_new || is_chosen(counts, &choice, RATE_LAUNCHES))
			iaprof_cuda_launched(kernel->id, __atomic_exchange_n(&kernel->count, 0, __ATOMIC_RELAXED),
					     correlation, ranges_of_thread());
		return;
	}
	uint64_t now = sampling_clock();
	if (!before)
		__atomic_store_n(&kernel->first_time, now, __ATOMIC_RELAXED);
	__atomic_store_n(&kernel->last_time, now, __ATOMIC_RELAXED);
	__atomic_store_n(&kernel->tid, launch_thread(), __ATOMIC_RELAXED);
}

void launch_counts_send(struct launch_counts *counts)
{
	uint64_t now = sampling_clock();
	for (size_t i = 0; i < 2 * LAUNCH_KERNELS_MAX; i++) {
		struct kernel *kernel = __atomic_load_n(&counts->kernels[i], __ATOMIC_ACQUIRE);
		uint64_t count = kernel ? __atomic_exchange_n(&kernel->count, 0, __ATOMIC_RELAXED) : 0;
		if (!count)
			continue;
		bool has_times = counts->mode == CUDA_LAUNCHES_RING;
		struct cuda_launch record = {
			.header = { sizeof record, CUDA_RECORD_LAUNCH },
			.kernel = kernel->id,
			.tid = __atomic_load_n(&kernel->tid, __ATOMIC_RELAXED),
			.count = count,
			.first_time = has_times ? __atomic_load_n(&kernel->first_time, __ATOMIC_RELAXED) : now,
			.last_time = has_times ? __atomic_load_n(&kernel->last_time, __ATOMIC_RELAXED) : now,
		};
		writer_put(counts->writer, &record, sizeof record, NULL, 0, CUDA_DROP_LAUNCHES, count);
	}
}
