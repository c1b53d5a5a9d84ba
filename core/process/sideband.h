/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live feed of the process table: perf side-band events (comm, mmap2 with build id, fork, exec, exit) of every CPU,
 * and a look through /proc for what was there before. Produces PROCESS and MAPPING records. Runs on the loop's thread.
 */
#ifndef IAPROF_CORE_PROCESS_SIDEBAND_H
#define IAPROF_CORE_PROCESS_SIDEBAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/error.h"

struct sideband;

/* Where records go: the bus. intern gives string ids, emit takes a batch, lost counts what the kernel dropped. */
struct sideband_output {
	void *context;
	uint32_t (*intern)(void *context, const char *text, size_t length);
	int (*emit)(void *context, const struct iaprof_batch *batch);
	void (*lost)(void *context, const char *reason, uint64_t begin, uint64_t count);
};

/*
 * Opens one perf event with a ring of ring_size bytes (0: 256 KiB; a power of two of pages) for each CPU that is
 * online; nothing is recorded yet. pids: only these processes (system wide when pid_count is 0). NULL after a failure.
 */
struct sideband *sideband_new(const struct sideband_output *output, const uint32_t *pids, uint32_t pid_count,
			      uint64_t ring_size, struct error *error);
void sideband_free(struct sideband *sideband);

/* Lets events flow. */
int sideband_start(struct sideband *sideband, struct error *error);
/* After start: emits EXISTING and MAPPING records for what is in /proc now, stamped with the time of the look. */
int sideband_scan(struct sideband *sideband, struct error *error);

/* A descriptor (epoll) that is readable when a ring is half full. */
int sideband_descriptor(const struct sideband *sideband);
/*
 * Emits what the rings hold from before the call, in order of time across CPUs (but for the end of a process whose
 * first thread ended before others, which is told last). Returns 0 or the negative errno of emit. After a loss it looks
 * through /proc again, at most once a second.
 */
int sideband_drain(struct sideband *sideband);

#endif
