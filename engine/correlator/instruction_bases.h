/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base addresses of relative device addresses (IAPROF_ADDRESS_INSTRUCTION_BASE), by process. Most processes with the
 * same runtime use the same bases. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/keyed_array.h"

/* A process has one for each driver and class of devices that it uses: discrete ones and the integrated one. */
#define INSTRUCTION_BASES_OF_PROCESS_MAX 16
/* Limit on distinct bases of all processes: each is tried for a sample whose process is not known. */
#define INSTRUCTION_BASES_MAX 64

/* Range of relative addresses for records that state none: iaprof/record.h, CODE_OBJECT. */
#define INSTRUCTION_WINDOW_DEFAULT ((uint64_t)1 << 32)

/* Start and size in bytes of the range of relative addresses; 0: not in the record. */
struct instruction_base {
	uint64_t address, window;
};

/* The bases of a process. */
struct process_bases {
	uint32_t key; /* pid */
	uint32_t count;
	bool is_incomplete; /* it has code whose base is not known: its relative addresses may be of this code */
	uint64_t bases[INSTRUCTION_BASES_OF_PROCESS_MAX]; /* plain: device_address.h */
	uint64_t announced;                               /* time, of the newest code */
	uint64_t ended;                                   /* time when its program ended; UINT64_MAX: still running */
};

/* A base and the number of processes that use it. */
struct distinct_base {
	uint64_t base;
	uint64_t processes;
};

/* Initialise with {0}. */
struct instruction_bases {
	KEYED_ARRAY(struct process_bases) items;
	ARRAY(uint32_t) free;
	struct distinct_base distinct[INSTRUCTION_BASES_MAX];
	size_t distinct_count;
	size_t ended;      /* number of ended processes */
	size_t incomplete; /* number of processes with code whose base is not known */
	uint64_t refused;  /* bases dropped for lack of room or memory */
};

void instruction_bases_free(struct instruction_bases *bases);

/*
 * Notes that a process has code at an address. A base from which the address cannot be reached is as good as none.
 * ended: time when the program ended, UINT64_MAX: still running.
 */
void instruction_bases_add(struct instruction_bases *bases, uint32_t pid, struct instruction_base reported,
			   uint64_t address, uint64_t time, uint64_t ended);
/* Returns NULL if the process has none. */
const struct process_bases *instruction_bases_find(const struct instruction_bases *bases, uint32_t pid);
bool instruction_bases_has(const struct instruction_bases *bases, uint32_t pid, uint64_t base);
/* Notes that a program ended; its bases are removed later because samples arrive late. */
void instruction_bases_end_process(struct instruction_bases *bases, uint32_t pid, uint64_t time);
/* Removes the bases of programs that ended before a time. */
void instruction_bases_forget(struct instruction_bases *bases, uint64_t before);
