/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that the tracer counts in the process, without entering the Linux kernel: memory that it shares with one
 * profiler, announced by the probe share_counts (probes.h). The first launch of a kernel from a stack fires the probe
 * new_launch in each of the profiler's turns, with the tag of a cell; until the next turn, further ones increment the
 * cell. The tracer writes only cells, the profiler the other members and read.
 */
#ifndef ZE_USDT_COUNT_AREA_H
#define ZE_USDT_COUNT_AREA_H

#include <stdint.h>

/* A sealed file in memory of exactly ZE_COUNT_SIZE bytes with this name, mapped as a whole. */
#define ZE_COUNT_FILE "iaprof-launches"
#define ZE_COUNT_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Cells of one thread: a launching thread owns a block, from its first launch to its end. */
#define ZE_COUNT_BLOCK 128u
#define ZE_COUNT_BLOCKS 32u
#define ZE_COUNT_CELLS (ZE_COUNT_BLOCK * ZE_COUNT_BLOCKS)

/* Written by the thread that owns the cell, except read. The count never decreases, even if the tag changes. */
struct ze_count_cell {
	uint32_t tag;  /* of what is counted; modulo ZE_COUNT_CELLS the position of the cell; 0: nothing yet */
	uint32_t read; /* the count that the profiler has read, modulo 2^32: valid while read_turn is turn */
	uint64_t count;
	uint64_t last_time;   /* CLOCK_MONOTONIC, ns */
	uint64_t fired_count; /* the count when the probe was fired with the tag last */
};

struct ze_count_area {
	uint64_t valid_until; /* CLOCK_MONOTONIC, ns: until then, the profiler reads the cells */
	uint64_t turn;        /* increases by one after each reading of all cells; 0: none yet */
	uint64_t read_turn;   /* the turn in which a profiler stopped reading */
	uint64_t pad[13];     /* to the next pair of cache lines */
	struct ze_count_cell cells[ZE_COUNT_CELLS];
};

/* Whole pages. */
#define ZE_COUNT_SIZE ((sizeof(struct ze_count_area) + 4095) / 4096 * 4096)

/*
 * A cell gets another tag that many turns after its thread stopped using it, at the earliest: in the second one, the
 * profiler has read all of its launches, and it knows what they were at the end of the fourth.
 */
#define ZE_COUNT_RETIRE_TURNS 6u

#endif
