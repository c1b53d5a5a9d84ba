/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes what ivpu's BPF programs counted, or told one by one, out of the Linux kernel, and sends it as CALL records,
 * with the nodes of the tree of calls that the kernel only knows as hashes; and what was lost.
 */
#ifndef IAPROF_PLUGINS_IVPU_COUNTS_H
#define IAPROF_PLUGINS_IVPU_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "call_records.h"
#include "ivpu_shared.h"
#include "known_nodes.h"
#include "map_table.h"
#include "probes.h"
#include "stack.h"

#define COUNTS_REASONS 12u

/* Stacks whose ids are kept at hand: a power of 2. */
#define COUNTS_STACKS 256u

/*
 * Told of all calls of the driver that are sent; function: its index in the list; in_boot: it was called while the
 * driver waits for its firmware to boot.
 */
typedef void counts_told(void *context, uint32_t function, const struct calls *calls, bool in_boot);

struct counts {
	const struct iaprof_host *host;
	const struct probes *probes;
	counts_told *told;
	void *told_context;
	const struct ivpu_processor *processors; /* of the kernel */
	uint32_t processor_count;
	struct map_table table;
	struct call_records records;
	struct known_nodes nodes;
	struct stack_addresses *stack; /* room for one */
	struct {
		uint64_t hash;
		uint32_t process, id;  /* 0: nothing is kept here */
	} stack_ids[COUNTS_STACKS];    /* of this turn: the core forgets those that are not used for long */
	int ring_wake;                 /* epoll descriptor; -1: none */
	struct ring_buffer *ring;      /* NULL: the programs add calls up */
	uint32_t taken;                /* from the ring, by counts_take() */
	int error;                     /* of what was taken */
	uint64_t stacks_gone;          /* that the kernel had no more */
	bool set_pending;              /* active_set was changed, and the other map was not drained yet */
	uint64_t last_time;            /* of the last report of losses */
	uint64_t calls;                /* that were counted until then */
	uint64_t drained_calls[2];     /* when that map was drained */
	uint64_t threads_added;        /* when room was made for threads */
	uint64_t handler_time;         /* estimated from some of the events */
	uint64_t lost[COUNTS_REASONS]; /* that were reported */
	bool warned;                   /* of nodes without room */
};

/* The programs are loaded. Returns 0 or a negative errno after host->fail(). */
int counts_init(struct counts *counts, const struct iaprof_host *host, const struct probes *probes, counts_told *told,
		void *told_context);
void counts_free(struct counts *counts);

/* These return 0 or a negative errno after host->fail(). Bounded: a second's counts. */
int counts_begin(struct counts *counts);
int counts_drain(struct counts *counts);
/* What the programs told one by one, if they do; bounded, and more may be left. */
int counts_take(struct counts *counts);
/* Of the buffers that programs asked for. */
uint64_t counts_buffer_bytes(const struct counts *counts);
/* Readable when half of the ring buffer is taken; -1: there is none. */
int counts_descriptor(const struct counts *counts);
/* The programs are detached. */
int counts_finish(struct counts *counts);

#endif
