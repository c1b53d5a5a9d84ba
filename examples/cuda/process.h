/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with the injected library: reads its socket and ring, and sends records. What the library writes comes from
 * a program that may be hostile. Owned by the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <base/array.h>
#include <iaprof/record.h>
#include <records/record_batch.h>

#include "gpu_counters.h"
#include "launch.h"
#include "range_frames.h"
#include "transport.h"

#define REASONS_MAX 64u
#define DEVICES_MAX 64u

/* What all processes share. Initialise with {0} and the first two. */
struct session {
	const struct iaprof_host *host;
	struct record_batch *batch;
	uint32_t next_kernel, next_object;
	uint32_t reasons[REASONS_MAX]; /* string ids of the names */
	uint32_t reason_count;
	uint64_t parts;                /* bit n: the samples of reason n are also counted under another one */
	uint64_t devices;              /* bit n: device n was announced */
	ARRAY(struct held_file) files; /* images that the core may still read, the oldest first */
	struct range_frames ranges;
	struct gpu_counters *counters;                      /* NULL: none */
	uint32_t time_type, copy_type;                      /* value types of executions and copies; 0: none are sent */
	char token[CUDA_TOKEN_SIZE];                        /* of the programs of this run */
	uint32_t records_at_once;                           /* limit on records that are read from a process */
	uint64_t strangers;                                 /* connections of others */
	uint64_t refusals;                                  /* programs that said why they are not profiled */
	uint64_t until;                                     /* what begins later is not of the run; 0: it goes on */
	uint64_t samples, executions, copies, launch_count; /* for the summary */
	uint64_t dropped[CUDA_DROP_COUNT];                  /* of all processes */
	uint64_t unknown;                                   /* records that could not be used */
	uint64_t unkept;                                    /* stacks of graphs: no room */
};

struct held_file {
	int descriptor;
	uint64_t until;
};

static inline struct iaprof_record session_header(const struct session *session, uint16_t type, size_t size)
{
	return (struct iaprof_record){ .type = type,
				       .size = (uint32_t)size,
				       .time = session->host->clock(session->host) };
}

static inline void session_send(struct session *session, const void *record)
{
	(void)record_batch_append(session->batch, record);
}

static inline void session_send_launch(struct session *session, const struct iaprof_record_launch *launch)
{
	session->launch_count += launch->count;
	session_send(session, launch);
}

struct process;

/* Takes ownership of a connection. Returns NULL after closing it. */
struct process *process_new(struct session *session, int socket);
/* Reads what there is, a bounded amount. Returns false when the process has ended and everything was read. */
bool process_read(struct process *process);
uint32_t process_id(const struct process *process);
/* Takes the executions in graphs that have waited for launches_read(). */
void process_settle(struct process *process);
/* Has the library send what it has and close its socket. */
void process_finish(struct process *process);
void process_launched(struct process *process, const struct cuda_launch_event *event);
void process_free(struct process *process);

/* Closes images that the core has read. */
void session_forget_files(struct session *session, uint64_t now);
