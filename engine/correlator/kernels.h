/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU kernels of processes and their launches: KERNEL and LAUNCH records, the latter with the CPU part of the stack as
 * a number (launch_stack). A kernel is identified by process, address and name; it gets a further id each time its code
 * is loaded there again. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/keyed_array.h"
#include "bus/source_id.h"
#include "correlator/code_life.h"
#include "symbolizer/range_table.h"

#define KERNEL_NONE POSITION_NONE

/* Launches of a kernel from one stack, with a time range. */
struct kernel_launches {
	uint64_t first_time, last_time, count;
	uint32_t launch_stack;   /* index of a resolved stack: program and CPU frames */
	struct iaprof_span span; /* zeros: none, or of several spans */
};

/* Share of a kernel's work that is attributed to a stack; any unit. */
struct kernel_share {
	uint32_t launch_stack;
	double weight;
};

/* No padding: compared as bytes. */
struct kernel_key {
	uint32_t pid;
	uint32_t name;    /* string id; 0: not known */
	uint64_t address; /* plain, of its first instruction; without one, a number for its code object */
};

struct kernel {
	struct kernel_key key;
	uint64_t size;      /* bytes, as announced last; 0: not known */
	uint32_t next;      /* next kernel of the process; KERNEL_NONE: the last one */
	uint32_t ids;       /* number of ids */
	uint64_t announced; /* time of the newest id */
	uint64_t ended;     /* time when its program ended; UINT64_MAX: still running */
	uint64_t newest;    /* time of its newest launch, 0 if none */
	uint64_t dropped;   /* time of the newest launch that was forgotten, 0 if none */
	ARRAY(struct kernel_launches) launches;

	/* Cached result of kernels_shares(). */
	uint64_t shares_begin, shares_end;
	uint64_t shares_after, shares_before; /* the same for all intervals between these times; 0: only for that one */
	struct code_life shares_life;
	bool shares_in_time;
	struct iaprof_span shares_span;
	ARRAY(struct kernel_share) shares;
};

/* A source's id of a kernel. */
struct kernel_id {
	struct source_id key; /* id 0: a free slot */
	uint32_t kernel;
	uint64_t used; /* time: announced, or last launched */
};

/* Limit on kernels without an address of a process that unknown code may belong to. */
#define UNPLACED_KERNELS_MAX 8

/* Which kernels the code at an address may belong to, by all samples so far: see unplaced_kernels.h. */
struct address_evidence {
	struct {
		uint64_t device, address; /* as in the sample */
	} key;
	uint32_t names[UNPLACED_KERNELS_MAX]; /* string ids; 0: none */
};

/* A process that has kernels. */
struct kernel_owner {
	uint32_t key;      /* pid */
	uint32_t first;    /* kernel with an address */
	uint32_t unplaced; /* the first kernel without one */
	uint32_t ids;      /* total number of ids of its kernels */
	bool launched;     /* a launch of one of them was recorded, so all launches are */
	bool is_sorted;    /* ranges has all kernels of known size */
	uint64_t ended;    /* time of the newest end of a program; UINT64_MAX: a kernel was announced since */
	struct range_table ranges;
	KEYED_ARRAY(struct address_evidence) evidence; /* of this program */
};

/* Initialise with {0}. */
struct kernels {
	KEYED_ARRAY(struct kernel) items;
	ARRAY(uint32_t) free;
	KEYED_ARRAY(struct kernel_id) ids;
	ARRAY(uint32_t) free_ids;
	KEYED_ARRAY(struct kernel_owner) owners;
	size_t ended;     /* kernels of ended programs */
	size_t evidence;  /* addresses of all processes */
	uint64_t refused; /* kernels dropped for lack of room or memory */
	uint64_t merged;  /* launches whose times or stacks were merged because there were too many */
};

void kernels_free(struct kernels *kernels);

/* Adds a kernel unless it is known. ended: time when its program ended, UINT64_MAX: still running. */
void kernels_add(struct kernels *kernels, const struct iaprof_record_kernel *record, uint64_t ended);

/*
 * Adds launches of a kernel by its id, in approximate order of time. Returns false if there is no such kernel or when
 * out of memory.
 */
bool kernels_add_launches(struct kernels *kernels, uint16_t source, uint32_t id,
			  const struct kernel_launches *launches);

/* Returns the kernel with a source's id. */
uint32_t kernels_by_id(const struct kernels *kernels, uint16_t source, uint32_t id);
/* Returns the kernel of a process at an address with a name (string id), or one without a name. */
uint32_t kernels_at(const struct kernels *kernels, uint32_t pid, uint64_t address, uint32_t name);
/*
 * Returns the kernel of a process whose announced range contains an address; of several, the one announced last before
 * a time. KERNEL_NONE also when out of memory.
 */
uint32_t kernels_around(struct kernels *kernels, uint32_t pid, uint64_t address, uint64_t time);
/* Returns the first kernel of a process that has an address; the others are linked by next. */
uint32_t kernels_of_process(const struct kernels *kernels, uint32_t pid);
/* Returns NULL if the process has no kernels. */
struct kernel_owner *kernels_owner(const struct kernels *kernels, uint32_t pid);
/* Returns whether launches of a process are recorded at all. */
bool kernels_are_seen_launched(const struct kernels *kernels, uint32_t pid);

/*
 * Finds the stacks responsible for a kernel's work between two times: those that launched it in that time, weighted by
 * number of launches; if none did, the last ones before, because a kernel may run for long; if there are none, the
 * first ones after. Of launches, those of the code's life count. *in_time: launched between the two times. Returns
 * their number; the array is valid until the next call for this kernel.
 */
size_t kernels_shares(struct kernels *kernels, uint32_t position, uint64_t begin, uint64_t end, struct code_life life,
		      const struct kernel_share **shares, bool *in_time);

/*
 * Returns the span of all launches that may have been running between the times of the last kernels_shares(); NULL if
 * there is none, or if they are not all of the same one.
 */
const struct iaprof_span *kernels_shares_span(const struct kernels *kernels, uint32_t position);

/* Calls visit() for each stack of a launch, until it returns false, and returns that. Forgets cached shares. */
bool kernels_each_stack(struct kernels *kernels, bool (*visit)(void *context, uint32_t *stack), void *context);

/* Notes that a program ended; its kernels are removed once they can no longer be looked up. */
void kernels_end_process(struct kernels *kernels, uint32_t pid, uint64_t time);
/*
 * Removes the kernels of programs that ended before a time, and, if a process has far too many kernels, those it has
 * not launched since then.
 */
void kernels_forget(struct kernels *kernels, uint64_t before);
