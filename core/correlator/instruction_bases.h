/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses that relative device addresses are relative to (IAPROF_ADDRESS_INSTRUCTION_BASE), by process. Most
 * processes of one runtime have the same ones. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_INSTRUCTION_BASES_H
#define IAPROF_CORE_CORRELATOR_INSTRUCTION_BASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "base/hash.h"

/* A process has one for each class of devices that it uses: discrete ones and the integrated one. */
#define INSTRUCTION_BASES_OF_PROCESS_MAX 2
/* Different ones of all processes: each is tried for a sample where nobody knows which process is behind it. */
#define INSTRUCTION_BASES_MAX 64

/* The bases of a process. */
struct process_bases {
	uint32_t pid;
	uint32_t count;                                   /* 0: a free position */
	uint64_t bases[INSTRUCTION_BASES_OF_PROCESS_MAX]; /* plain: device_address.h */
	uint64_t announced;                               /* time, of the newest code */
	uint64_t ended;                                   /* when its program did; UINT64_MAX: it runs */
};

/* A base, and how many processes have it. */
struct distinct_base {
	uint64_t base;
	uint64_t processes;
};

/* Initialise with {0}. */
struct instruction_bases {
	ARRAY(struct process_bases) items;
	ARRAY(uint32_t) free;
	struct hash_index by_pid;
	struct distinct_base distinct[INSTRUCTION_BASES_MAX];
	size_t distinct_count;
	size_t ended;     /* processes that have */
	uint64_t refused; /* bases for which there was no room or no memory */
};

void instruction_bases_free(struct instruction_bases *bases);

/*
 * A process has code at an address. base: 0 when nobody said, and what cannot be true, is the last multiple of 4 GiB
 * before the address, as relative addresses have 32 bits. ended: when the program did, UINT64_MAX: it runs.
 */
void instruction_bases_add(struct instruction_bases *bases, uint32_t pid, uint64_t base, uint64_t address,
			   uint64_t time, uint64_t ended);
/* NULL: it has none. */
const struct process_bases *instruction_bases_find(const struct instruction_bases *bases, uint32_t pid);
bool instruction_bases_has(const struct instruction_bases *bases, uint32_t pid, uint64_t base);
/* A program ended at a time: what it had is forgotten later, for samples come late. */
void instruction_bases_end_process(struct instruction_bases *bases, uint32_t pid, uint64_t time);
/* Forgets what is of programs that ended before a time. */
void instruction_bases_forget(struct instruction_bases *bases, uint64_t before);

#endif
