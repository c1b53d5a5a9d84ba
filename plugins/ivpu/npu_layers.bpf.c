// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Reads what pfnProfilingQueryGetData(query, type, *size, *data) returns to a program: layers or tasks of an inference,
 * item by item. The program asks for the size first, without data. The model of a query is known from
 * pfnProfilingPoolCreate(graph, count, *pool) and pfnProfilingQueryCreate(pool, index, *query).
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "layer_shared.h"
#include "bpf/map.bpf.h"
#include "bpf/targets.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int tgid;
};
#pragma clang attribute pop

struct layer_totals totals = { 0 };

struct layer_query {
	__u32 type;
	__u32 pad;
	__u64 size; /* addresses in the program */
	__u64 data;
	__u64 graph;
};

/* A pool or query that is being created. */
struct layer_creation {
	__u64 graph;
	__u64 handle; /* address in the program */
};

/* A pool or query of a process. */
struct layer_owner {
	__u64 process;
	__u64 handle;
};

/* Calls in flight, by thread. A thread that ends in one leaves its entry behind: LRU eviction makes room. */
BPF_MAP(queries, LRU_HASH, __u32, struct layer_query, LAYER_THREADS_MAX);
BPF_MAP(creations, LRU_HASH, __u32, struct layer_creation, LAYER_THREADS_MAX);

/* The graph of pools and queries. A handle that is reused gets another one when it is created. */
BPF_MAP(graphs, LRU_HASH, struct layer_owner, __u64, LAYER_HANDLES_MAX);

BPF_RING(events, LAYER_RING_SIZE);

/* Context of the loop. */
struct layer_walk {
	__u64 data;
	__u64 time;
	__u64 graph;
	__u32 process;
	__u32 type;
};

static long item_send(__u32 index, void *context)
{
	const struct layer_walk *walk = context;
	struct layer_event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	long result;

	if (!event) {
		__sync_fetch_and_add(&totals.ring_full, 1);
		return 0;
	}
	event->process = walk->process;
	event->type = walk->type;
	event->index = index;
	event->pad = 0;
	event->time = walk->time;
	event->graph = walk->graph;
	if (walk->type == LAYER_DATA_TASKS)
		result = bpf_probe_read_user(event->item, TASK_SIZE, (const void *)(walk->data + index * TASK_SIZE));
	else
		result = bpf_probe_read_user(event->item, LAYER_SIZE, (const void *)(walk->data + index * LAYER_SIZE));
	if (!result) {
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
		return 0;
	}
	bpf_ringbuf_discard(event, BPF_RB_NO_WAKEUP);
	__sync_fetch_and_add(&totals.unreadable, 1);
	return 1;
}

static __always_inline __u64 graph_of(__u64 process, __u64 handle)
{
	const struct layer_owner owner = { .process = process, .handle = handle };
	const __u64 *graph = bpf_map_lookup_elem(&graphs, &owner);

	return graph ? *graph : 0;
}

static __always_inline int creation_begin(__u64 id, __u64 graph, const void *handle)
{
	struct layer_creation creation = { .graph = graph, .handle = (__u64)handle };
	__u32 thread = (__u32)id;

	if (graph && (!only_targets || process_is_target(id >> 32)))
		bpf_map_update_elem(&creations, &thread, &creation, BPF_ANY);
	return 0;
}

SEC("uprobe")
int BPF_KPROBE(pool_create_begin, __u64 graph, __u32 count, const void *pool)
{
	return creation_begin(bpf_get_current_pid_tgid(), graph, pool);
}

SEC("uprobe")
int BPF_KPROBE(query_create_begin, __u64 pool, __u32 index, const void *query)
{
	__u64 id = bpf_get_current_pid_tgid();

	return creation_begin(id, graph_of(id >> 32, pool), query);
}

SEC("uretprobe")
int BPF_KRETPROBE(creation_end, int failed)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 thread = (__u32)id;
	const struct layer_creation *begun = bpf_map_lookup_elem(&creations, &thread);

	if (!begun)
		return 0;
	struct layer_creation creation = *begun;
	struct layer_owner owner = { .process = id >> 32 };
	bpf_map_delete_elem(&creations, &thread);
	if (failed)
		return 0;
	if (bpf_probe_read_user(&owner.handle, sizeof owner.handle, (const void *)creation.handle))
		__sync_fetch_and_add(&totals.unreadable, 1);
	else
		bpf_map_update_elem(&graphs, &owner, &creation.graph, BPF_ANY);
	return 0;
}

SEC("uprobe")
int BPF_KPROBE(query_begin, void *query, __u32 type, const void *size, const void *data)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 thread = (__u32)id;
	struct layer_query begun = { .type = type, .size = (__u64)size, .data = (__u64)data };

	if (!data || (only_targets && !process_is_target(id >> 32)))
		return 0;
	begun.graph = graph_of(id >> 32, (__u64)query);
	if (type == LAYER_DATA_LAYERS || type == LAYER_DATA_TASKS)
		bpf_map_update_elem(&queries, &thread, &begun, BPF_ANY);
	return 0;
}

SEC("uretprobe")
int BPF_KRETPROBE(query_end, int failed)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 thread = (__u32)id, size = 0;
	const struct layer_query *begun = bpf_map_lookup_elem(&queries, &thread);

	if (!begun)
		return 0;
	struct layer_query query = *begun;
	bpf_map_delete_elem(&queries, &thread);
	if (failed)
		return 0;
	if (bpf_probe_read_user(&size, sizeof size, (const void *)query.size)) {
		__sync_fetch_and_add(&totals.unreadable, 1);
		return 0;
	}
	struct layer_walk walk = { .data = query.data,
				   .time = bpf_ktime_get_ns(),
				   .graph = query.graph,
				   .process = id >> 32,
				   .type = query.type };
	__u32 count = size / (query.type == LAYER_DATA_TASKS ? TASK_SIZE : LAYER_SIZE);
	if (count > LAYERS_MAX) {
		__sync_fetch_and_add(&totals.too_many, count - LAYERS_MAX);
		count = LAYERS_MAX;
	}
	bpf_loop(count, item_send, &walk, 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	targets_follow(parent, child);
	return 0;
}
