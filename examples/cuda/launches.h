/* SPDX-License-Identifier: Apache-2.0 */
/* Launches with stacks, from the BPF program at the library's launch hook. Owned by the loop's thread. */
#pragma once

#include <bpf/cpu_table.h>
#include <bpf/stack_reader.h>

#include "launch.h"

#define CUDA_COPIES_MAX 64

struct cuda_bpf;
struct ring_buffer;

typedef void launches_take(void *context, const struct cuda_launch_event *event);

/* The first member of the instance. Initialise with {0}; launches_close() accepts that. */
struct launches {
	struct stack_reader stacks;
	const struct iaprof_host *host;
	struct cuda_bpf *skeleton;
	struct ring_buffer *ring;
	struct cpu_table processors;
	struct bpf_link *copies[CUDA_COPIES_MAX]; /* attached to copies of the library */
	size_t copy_count;
	launches_take *take;
	void *context;
};

/*
 * In prepare(): attaches to iaprof_cuda_launched() of the library. Returns 0, or a negative errno with a line in
 * reason.
 */
int launches_open(struct launches *launches, const struct iaprof_host *host, const char *library, char *reason,
		  size_t size);
/* Attaches to a copy of the library in a process, too. Returns 0 or a negative errno. */
int launches_attach_copy(struct launches *launches, const struct iaprof_mapped_file *file);
/* Calls take for each launch that has come. */
void launches_read(struct launches *launches);
/* Returns what was counted so far. */
struct cuda_processor launches_sum(const struct launches *launches);
void launches_close(struct launches *launches);
