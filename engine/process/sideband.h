/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live input of the process table: perf side-band events (comm, mmap2, fork, exec, exit) of every CPU, and a scan of
 * /proc for existing processes. Emits PROCESS and MAPPING records. Runs on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/error.h"

struct broker;
struct sideband;

/*
 * Receiver of the records: the bus. intern returns string ids, emit sends a batch, lost counts events that Linux
 * dropped. broker: reads processes.
 */
struct sideband_output {
	void *context;
	struct broker *broker;
	uint32_t (*intern)(void *context, const char *text, size_t length);
	int (*emit)(void *context, const struct iaprof_batch *batch);
	void (*lost)(void *context, const char *reason, uint64_t begin, uint64_t count);
};

/*
 * Opens one perf event with a ring buffer of ring_size bytes (0: 256 KiB; a power of two of pages) for each online CPU,
 * without recording yet. pids: only these processes, with children also their descendants (pid_count 0:
 * system-wide). Returns NULL after a failure.
 */
struct sideband *sideband_new(const struct sideband_output *output, const uint32_t *pids, uint32_t pid_count,
			      bool children, uint64_t ring_size, struct error *error);
void sideband_free(struct sideband *sideband);

/* Starts recording. */
int sideband_start(struct sideband *sideband, struct error *error);
/* After the start: emits EXISTING and MAPPING records for the current contents of /proc, with the time of the scan. */
int sideband_scan(struct sideband *sideband, struct error *error);

/* Begins a new period of the limits on names and paths (text_budget.h). */
void sideband_begin_period(struct sideband *sideband);

/* Returns the number of recorded processes that run, after the scan. */
size_t sideband_process_count(const struct sideband *sideband);

/*
 * Returns an epoll descriptor that is readable when a ring buffer has new events, about as many as a process
 * causes when it starts. Fewer events do not make it readable, so the events must also be read periodically.
 */
int sideband_descriptor(const struct sideband *sideband);
/* Returns the share of the fullest ring buffer that is in use, 0 to 1. */
double sideband_fill(const struct sideband *sideband);
/*
 * Emits the events from before the call, in order of time across CPUs (except the end of a process whose first thread
 * ended before others, which is reported last). Returns 0 or the negative errno of emit. After a loss, scans /proc
 * again, at most once a second.
 */
int sideband_drain(struct sideband *sideband);

/*
 * Stops or resumes events, each of which costs time. Events in between are lost, which is reported. Until it resumes,
 * call sideband_rescan() periodically, and sideband_rescan_process() for each sampled process. Only for a sideband of
 * all processes. Returns 0 or a negative errno.
 */
int sideband_pause(struct sideband *sideband, bool pauses);
bool sideband_is_paused(const struct sideband *sideband);
bool sideband_is_system_wide(const struct sideband *sideband);
/*
 * Reports processes and mappings that came and went while events were stopped, at most once a minute. Returns 0 or the
 * errno of emit.
 */
int sideband_rescan(struct sideband *sideband);
/*
 * The same for one process, unless it is known to run this program since the pause. execution: the number of its
 * execve(2) calls.
 */
int sideband_rescan_process(struct sideband *sideband, uint32_t pid, uint64_t execution);
