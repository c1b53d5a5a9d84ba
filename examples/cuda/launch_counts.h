/* SPDX-License-Identifier: Apache-2.0 */
/* Launches by kernel: each one is counted, and some of them call the launch hook, which takes their stack. */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "ranges.h"
#include "writer.h"

#define LAUNCH_KERNELS_MAX 65536u

struct kernel;

struct launch_counts {
	struct writer *writer;
	uint32_t mode;      /* CUDA_LAUNCHES_... */
	uint32_t rate;      /* stacks of a thread in a second; 0: of all launches */
	uint64_t weight;    /* launches that one callback stands for; 0: they are not counted now */
	uint64_t callbacks; /* so far */
	uint32_t nodes;     /* of graphs, so far */

	pthread_mutex_t lock;                           /* for additions */
	struct kernel *kernels[2 * LAUNCH_KERNELS_MAX]; /* open hash table, by symbol */
	uint32_t kernel_count;
};

/*
 * The launch hook: a BPF program is attached here, which reads the arguments and the stack. Stands for count launches,
 * the last of which has CUPTI's correlation id; 0: launches will follow. ranges: those that the thread is in, or NULL.
 */
__attribute__((visibility("default"))) void iaprof_cuda_launched(uint64_t kernel, uint64_t count, uint64_t correlation,
								 const struct thread_ranges *ranges);

/* Sends the kernels that are known from an earlier plugin to a new one. While launches are not counted. */
void launch_counts_announce(struct launch_counts *counts);

/* Counts a launch of the calling thread, by CUPTI's pointer to the kernel's name. */
void launch_counts_add(struct launch_counts *counts, const char *symbol, uint32_t correlation);
/* Counts a launch of a graph, CUDA_GRAPHS, of which there are fewer: their stacks are chosen by their own rate. */
void launch_counts_add_graph(struct launch_counts *counts, uint32_t correlation);
/* Calls the hook for a call that copies or sets memory, CUDA_COPIES, likewise; large ones have a rate of their own. */
void launch_counts_add_copy(struct launch_counts *counts, uint32_t correlation, bool is_large);
/* Calls the hook for a node that the calling thread adds to a graph, CUDA_GRAPH_NODES: most of them, as they are few.
 */
void launch_counts_add_node(struct launch_counts *counts, uint64_t node);

/* Returns the id of a kernel by CUPTI's pointer to its name, adding it; 0 if there are too many. */
uint32_t launch_counts_kernel(struct launch_counts *counts, const char *symbol);

/* Sends the launches that were counted since the last time, or since the kernel's last call of the hook. */
void launch_counts_send(struct launch_counts *counts);

/* Returns the calling thread's id. */
uint32_t launch_thread(void);
