/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs shared by the BPF programs that read profiling data of NPU layers and user space. */
#pragma once

#include <linux/types.h>

/* Types of data: layers, tasks. */
enum layer_data { LAYER_DATA_LAYERS = 1, LAYER_DATA_TASKS = 2 };

/* Layout of ze_profiling_layer_info and ze_profiling_task_info, ze_graph_profiling_ext.h 1.0. */
#define LAYER_NAME_SIZE 256u
#define LAYER_TYPE_SIZE 50u
#define LAYER_SIZE 368u
#define TASK_SIZE 344u

/* Items of one inference beyond these are dropped, and counted. */
#define LAYERS_MAX 4096u
#define LAYER_RING_SIZE (4u * 1024 * 1024)
#define LAYER_THREADS_MAX 4096u
/* Queries and pools of queries whose model is known; the least recently used ones are evicted. */
#define LAYER_HANDLES_MAX 16384u

struct layer_event {
	__u32 process;
	__u32 type; /* enum layer_data */
	__u32 index;
	__u32 pad;
	__u64 time;  /* CLOCK_MONOTONIC ns, of the call */
	__u64 graph; /* handle of the model in the process; 0: not known */
	unsigned char item[LAYER_SIZE];
};

/* Monotonic counters. */
struct layer_totals {
	__u64 ring_full;
	__u64 too_many;
	__u64 unreadable;
};
