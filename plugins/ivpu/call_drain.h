/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the calls that ivpu's BPF programs aggregated or sent one by one, and emits them as CALL records, along with
 * the call tree nodes that the Linux kernel knows only as hashes, and the losses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "npu/call_records.h"
#include "ivpu_shared.h"
#include "call_tree.h"
#include "bpf/cpu_table.h"
#include "bpf/map_table.h"
#include "probes.h"
#include "bpf/stack.h"

#define CALL_DRAIN_REASONS 13u

/* Cached stack ids: a power of 2. */
#define CALL_DRAIN_STACKS 256u

/* Receives all driver calls that are emitted. function: index in the list. */
typedef void call_drain_callback(void *context, uint32_t function, const struct calls *calls,
				 const struct call_place *place);

struct call_drain {
	const struct iaprof_host *host;
	const struct probes *probes;
	call_drain_callback *callback;
	void *callback_context;
	struct cpu_table cpus;
	struct map_table table;
	struct call_records records;
	struct call_tree nodes;
	struct stack_addresses *stack; /* room for one */
	struct {
		uint64_t hash;
		uint32_t process, id;      /* 0: free */
	} stack_ids[CALL_DRAIN_STACKS];    /* valid for one turn: the core forgets stacks that are not used for long */
	int ring_wake;                     /* epoll descriptor; -1: none */
	struct ring_buffer *ring;          /* NULL: the BPF programs aggregate calls */
	uint32_t taken;                    /* from the ring, by call_drain_events() */
	int error;                         /* error in event_take() */
	uint64_t stacks_gone;              /* stacks that the kernel had evicted */
	bool set_pending;                  /* active_set was changed and the other map has not been drained */
	uint64_t last_time;                /* time of the last loss report */
	uint64_t calls;                    /* counted until last_time */
	uint64_t drained_calls[2];         /* calls, when that map was last drained */
	uint64_t threads_added;            /* when threads were last deleted */
	struct stack_counts stacks;        /* until last_time */
	uint64_t handler_time;             /* estimated from a sample of the events */
	uint64_t lost[CALL_DRAIN_REASONS]; /* losses that were reported */
	bool warned;                       /* a warning about call paths was printed */
};

/* The BPF programs are loaded. Returns 0 or a negative errno after host->fail(). */
int call_drain_init(struct call_drain *counts, const struct iaprof_host *host, const struct probes *probes,
		    call_drain_callback *callback, void *callback_context);
void call_drain_free(struct call_drain *counts);

/* These return 0 or a negative errno after host->fail(). Bounded: the counts of one second. */
int call_drain_begin(struct call_drain *counts);
int call_drain_turn(struct call_drain *counts);
/* Emits calls that the BPF programs sent one by one. Bounded: more may be left. */
int call_drain_events(struct call_drain *counts);
/* Returns the size of all buffers that programs allocated. */
uint64_t call_drain_buffer_bytes(const struct call_drain *counts);
/* Readable when half of the ring buffer is used; -1: no ring buffer. */
int call_drain_descriptor(const struct call_drain *counts);
/* The BPF programs are detached. */
int call_drain_finish(struct call_drain *counts);
