/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on the cost of a capture. An untrusted capture may compress its records by a factor of thousands, so the
 * limits depend on the size of the file. Captures of real runs have 5 to 15 bytes of records per byte of the file; one
 * with 1,000,000 stacks with common prefixes has 50, and its replay takes 23 bytes of memory per byte.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/record.h>
#include "base/array.h"

/* Limit on bytes of records: a constant plus a multiple of the file's size. */
#define REPLAY_RECORDS_MIN ((uint64_t)64 << 20)
#define REPLAY_RECORDS_RATIO 300u
/* Limit on the additional memory of the process, sinks included, in bytes; the same rule. */
#define REPLAY_MEMORY_MIN ((uint64_t)32 << 20)
#define REPLAY_MEMORY_RATIO 32u
/* Limit on the names of all frames, in bytes, counted at each occurrence, because they cost time and output. */
#define REPLAY_TEXT_MIN ((uint64_t)1 << 30)
#define REPLAY_TEXT_RATIO 256u

/* Initialise with {0}. */
struct replay_budget {
	uint64_t memory;         /* bytes that the user allows instead of both limits; 0: not set */
	uint64_t file_size;      /* bytes of the file read so far, by the pass that has read the most */
	uint64_t text;           /* bytes of names of frames */
	ARRAY(uint32_t) lengths; /* lengths of strings, by id */
	uint32_t string_count;
	uint64_t before; /* memory of the process before the replay, in bytes */
	int descriptor;  /* descriptor of /proc/self/statm; -1: none */
	bool is_open;
};

/* Call before the first check. */
void replay_budget_open(struct replay_budget *budget);
/*
 * Checks the limits after reading offset bytes of the file, which contained blocks blocks with records bytes of
 * records. Returns 0, or -EFBIG after host->fail().
 */
int replay_budget_check(struct replay_budget *budget, const struct iaprof_host *host, const char *file, uint64_t offset,
			uint64_t records, uint64_t blocks);
/* Counts the definitions of a batch; its records may be malformed. Returns 0, or -ENOMEM. */
int replay_budget_count(struct replay_budget *budget, const struct iaprof_batch *batch);
void replay_budget_close(struct replay_budget *budget);
