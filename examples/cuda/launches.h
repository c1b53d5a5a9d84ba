/* SPDX-License-Identifier: Apache-2.0 */
/* Launches with stacks, from the BPF program at the library's launch hook. Owned by the loop's thread. */
#pragma once

#include <bpf/python_stacks.h>
#include <bpf/unwinder.h>

#include "launch.h"

struct cuda_bpf;
struct ring_buffer;

typedef void launches_take(void *context, const struct cuda_launch_event *event);

/* Initialise with {0}; launches_close() accepts that. */
struct launches {
	const struct iaprof_host *host;
	struct cuda_bpf *skeleton;
	struct ring_buffer *ring;
	struct unwinder unwinder;
	struct python_stacks python;
	enum python_choice python_choice;
	uint32_t processors;
	launches_take *take;
	void *context;
};

/* They call launches_ask(), launches_answer() and launches_read_code(). */
struct launches_callbacks {
	iaprof_on_fd *ask;
	iaprof_on_unwind *answer;
	iaprof_on_fd *code;
};

/*
 * In prepare(), with python_choice set: attaches to iaprof_cuda_launched() of the library. Returns 0, or a negative
 * errno with a line in reason.
 */
int launches_open(struct launches *launches, const struct iaprof_host *host, const char *library,
		  const struct launches_callbacks *callbacks, char *reason, size_t size);
void launches_ask(struct launches *launches);
int launches_answer(struct launches *launches, const struct iaprof_unwind_table *table,
		    const struct iaprof_unwind_process *process);
void launches_read_code(struct launches *launches);
/* Calls take for each launch that has come. */
void launches_read(struct launches *launches);
/* Returns the launches that were lost so far, and of those that were not the ones without a stack. */
uint64_t launches_lost(const struct launches *launches, uint64_t *without_stack);
void launches_close(struct launches *launches);
