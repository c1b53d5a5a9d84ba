/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a capture may cost its reader. A capture from somebody else can compress its records by a factor of thousands:
 * limits follow the size of the file. Captures of real runs have 5 to 15 bytes of records for each byte of the file;
 * one of 1,000,000 stacks with the same beginnings has 50, and its replay takes 23 bytes of memory for each.
 */
#ifndef IAPROF_PLUGINS_REPLAY_REPLAY_BUDGET_H
#define IAPROF_PLUGINS_REPLAY_REPLAY_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/record.h>

/* Bytes of records: so many, and so many times the size of the file. */
#define REPLAY_RECORDS_MIN ((uint64_t)64 << 20)
#define REPLAY_RECORDS_RATIO 300u
/* Bytes of memory that the process takes in addition, sinks included: the same. */
#define REPLAY_MEMORY_MIN ((uint64_t)32 << 20)
#define REPLAY_MEMORY_RATIO 32u
/* Bytes of the names of all frames, each counted as often as it occurs: they are time to read, and output. */
#define REPLAY_TEXT_MIN ((uint64_t)1 << 30)
#define REPLAY_TEXT_RATIO 256u

/* Initialise with {0}. */
struct replay_budget {
	uint64_t memory;    /* bytes that the user allows in place of both limits; 0: not set */
	uint64_t file_size; /* bytes of the file read so far, by the pass that read most */
	uint64_t text;      /* bytes of names of frames */
	uint32_t *lengths;  /* of strings, by id */
	uint32_t length_count, string_count;
	uint64_t before; /* bytes of memory that the process had in use before */
	int descriptor;  /* of /proc/self/statm; -1 none */
	bool is_open;
};

/* Before the first check. */
void replay_budget_open(struct replay_budget *budget);
/*
 * Checks what has been read: offset bytes of the file, which were records bytes in blocks blocks. 0, or -EFBIG after
 * host->fail().
 */
int replay_budget_check(struct replay_budget *budget, const struct iaprof_host *host, const char *file, uint64_t offset,
			uint64_t records, uint64_t blocks);
/* Counts the definitions of a batch, whose records need not be well-formed. 0, or -ENOMEM. */
int replay_budget_count(struct replay_budget *budget, const struct iaprof_batch *batch);
void replay_budget_close(struct replay_budget *budget);

#endif
