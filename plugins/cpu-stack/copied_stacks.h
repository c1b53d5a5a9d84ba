/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples taken before the tables of their process were ready. The BPF program copies the stack, and the sample is held
 * until the copy is unwound, or its time is over. Copies are dropped as soon as they are unwound.
 */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>
#include <iaprof/record.h>
#include "base/array.h"
#include "base/keyed_array.h"
#include "bpf/python_stacks.h"
#include "bpf/stack.h"
#include "bpf/unwinder.h"
#include "records/record_batch.h"

struct cpu_stack_bpf;

/* A copy and its sample, either of which may arrive first. */
struct copied_stack {
	uint64_t key; /* id of the copy */
	uint64_t time;
	uint64_t execution;
	uint32_t process;
	uint32_t flags; /* enum iaprof_sample_flag of the unwound stack */
	bool has_sample;
	ARRAY(uint64_t) addresses; /* of the unwound stack; empty: there is none yet */
	ARRAY(uint64_t) python;    /* Python frames of the sample */
	size_t bytes;              /* of copy */
	struct unwind_copy *copy;  /* NULL: unwound */
	struct iaprof_record_sample sample;
};

/* Initialise with {0}. */
struct copied_stacks {
	const struct iaprof_host *host;
	const struct unwinder *unwinder;
	struct python_stacks *python;
	struct ring_buffer *ring;
	KEYED_ARRAY(struct copied_stack) held;
	uint64_t bytes; /* of all copies and stacks that are held */
	/* Numbers of copies by what became of them. */
	uint64_t unwound; /* to the outermost frame */
	uint64_t ended;   /* to another end */
	uint64_t late;    /* not unwound in time */
	uint64_t refused; /* for which there was no memory */
};

/* Before the BPF program is loaded. Returns 0, or the result of host->fail(). */
int copied_stacks_set_sizes(const struct iaprof_host *host, struct cpu_stack_bpf *skeleton, uint32_t processor_count,
			    uint64_t frequency, bool use_tables);
/* For prepare(), after loading. on_copy calls copied_stacks_read(). Returns 0, or the result of host->fail(). */
int copied_stacks_open(struct copied_stacks *stacks, const struct iaprof_host *host, const struct unwinder *unwinder,
		       struct python_stacks *python, struct cpu_stack_bpf *skeleton, iaprof_on_fd *on_copy);
void copied_stacks_free(struct copied_stacks *stacks);

/* Reads the copies that the BPF program has sent. Does nothing before copied_stacks_open(). */
void copied_stacks_read(struct copied_stacks *stacks);
/* Unwinds the copies of a process whose mappings have changed. */
void copied_stacks_retry(struct copied_stacks *stacks, uint32_t process);

/*
 * Holds a sample for its copy. stack: as the BPF program unwound it, of which the Python frames are kept; or NULL.
 * Returns false if there is no such copy: the caller sends the sample.
 */
bool copied_stacks_hold(struct copied_stacks *stacks, uint64_t copy, const struct iaprof_record_sample *sample,
			const struct stack_addresses *stack);
/*
 * Sends the samples whose copies are unwound, and those whose time is over, with the stacks that they have. all: sends
 * every sample. Returns 0 or a negative errno.
 */
int copied_stacks_emit(struct copied_stacks *stacks, struct record_batch *batch, bool all);
