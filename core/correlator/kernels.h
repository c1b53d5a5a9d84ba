/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of processes, and who launched them when: KERNEL and LAUNCH records, the latter with the CPU's part of the
 * stack as a number (prefix). A kernel is a name at an address of a process: code that is loaded there again brings new
 * ids for it. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_KERNELS_H
#define IAPROF_CORE_CORRELATOR_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"
#include "base/hash.h"

#define KERNEL_NONE UINT32_MAX

/* Launches of a kernel from one stack, with a time range. */
struct kernel_launches {
	uint64_t first_time, last_time, count;
	uint32_t prefix; /* index of a resolved stack: program and CPU frames */
};

/* How much of a kernel's work is due to a stack; any unit. */
struct kernel_share {
	uint32_t prefix;
	double weight;
};

struct kernel {
	uint32_t pid;
	uint32_t name;      /* string id; 0: not known */
	uint32_t next;      /* of the process; KERNEL_NONE: the last */
	uint32_t ids;       /* how many it has; 0 and no address: a free position */
	uint64_t address;   /* plain, of its first instruction */
	uint64_t announced; /* time, of the newest id */
	uint64_t ended;     /* when its program did; UINT64_MAX: it runs */
	uint64_t newest;    /* time of its newest launch, 0 none */
	ARRAY(struct kernel_launches) launches;

	/* The last answer of kernels_shares(). */
	uint64_t shares_begin, shares_end;
	bool shares_in_time;
	ARRAY(struct kernel_share) shares;
};

/* What a source calls a kernel. */
struct kernel_id {
	uint16_t source;
	uint32_t id; /* 0: a free position */
	uint32_t kernel;
	uint64_t used; /* time: announced, or last launched */
};

/* A process that has kernels. */
struct kernel_owner {
	uint32_t pid;
	uint32_t first; /* kernel; KERNEL_NONE: a free position */
	uint32_t ids;   /* of all its kernels */
	bool launched;  /* a launch of one of them was seen: so all are */
};

/* Initialise with {0}. */
struct kernels {
	ARRAY(struct kernel) items;
	ARRAY(uint32_t) free;
	struct hash_index by_place; /* pid, address, name */
	ARRAY(struct kernel_id) ids;
	ARRAY(uint32_t) free_ids;
	struct hash_index by_id;
	ARRAY(struct kernel_owner) owners;
	ARRAY(uint32_t) free_owners;
	struct hash_index by_owner;
	size_t ended;     /* kernels whose program has */
	uint64_t refused; /* for which there was no room or no memory */
	uint64_t merged;  /* launches whose times, or stacks, are not told apart any more: there were too many */
};

void kernels_free(struct kernels *kernels);

/* ended: when its program did, UINT64_MAX: it runs. Known already: nothing is changed. */
void kernels_add(struct kernels *kernels, const struct iaprof_record_kernel *record, uint64_t ended);

/* Launches of a kernel by its id, in about the order of their times. False: no such kernel, or out of memory. */
bool kernels_add_launches(struct kernels *kernels, uint16_t source, uint32_t id,
			  const struct kernel_launches *launches);

/* The kernel of a process at an address with a name (string id), or one without a name. */
uint32_t kernels_at(const struct kernels *kernels, uint32_t pid, uint64_t address, uint32_t name);
/* The first kernel of a process; the others are behind it by next. */
uint32_t kernels_of_process(const struct kernels *kernels, uint32_t pid);
/* Whether launches of a process are seen at all. */
bool kernels_are_seen_launched(const struct kernels *kernels, uint32_t pid);

/*
 * Who is behind what a kernel did between two times: those that launched it then, each by how often; when nobody did,
 * the last ones before, for it may run for long; when there were none, the first ones after. *in_time: launched between
 * the two times. Returns how many; the array is good until the next call for this kernel.
 */
size_t kernels_shares(struct kernels *kernels, uint32_t position, uint64_t begin, uint64_t end,
		      const struct kernel_share **shares, bool *in_time);

/* The program ended at a time: its kernels go when nobody can ask for them any more. */
void kernels_end_process(struct kernels *kernels, uint32_t pid, uint64_t time);
/*
 * Forgets kernels of programs that ended before a time; and, of the process that has by far too many, what it has not
 * launched since then.
 */
void kernels_forget(struct kernels *kernels, uint64_t before);

#endif
