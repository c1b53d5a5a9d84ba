/* SPDX-License-Identifier: Apache-2.0 */
/* The tracks of a trace: which there are, below which others, and their names; each told before its first event. */
#ifndef IAPROF_PLUGINS_PERFETTO_TRACKS_H
#define IAPROF_PLUGINS_PERFETTO_TRACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "common/definitions.h"
#include "packets.h"

/* What a track shows, and what the three numbers of its key are; pid 0: of no process, tid 0: of any thread. */
enum track_kind {
	TRACK_RUN = 1,      /* the run of iaprof */
	TRACK_LOST,         /* what is missing */
	TRACK_SOURCE,       /* what has no better place: source */
	TRACK_DEVICE,       /* source, device */
	TRACK_ENGINE,       /* jobs that it works at: source, device, string id of the engine */
	TRACK_PROCESS,      /* pid, how often the pid was used before */
	TRACK_THREAD,       /* pid, tid, as above */
	TRACK_CALLS,        /* pid, tid */
	TRACK_LAUNCHES,     /* pid, tid */
	TRACK_JOBS,         /* that wait: pid */
	TRACK_FINDINGS,     /* pid */
	TRACK_COUNTER,      /* source, its number */
	TRACK_STALLS,       /* a second: source, device */
	TRACK_STALL_REASON, /* the same of one reason: source, device, reason */
	TRACK_BUSY,         /* share of time: source, device, enum iaprof_activity_kind */
	TRACK_CALL_RATE,    /* calls a second: source, string id of the function */
	TRACK_VALUE         /* of CPU samples, such as CPUs in use: value type, pid */
};

struct track_key {
	uint32_t kind; /* enum track_kind */
	uint32_t numbers[3];
};

static inline uint64_t track_key_hash(const struct track_key *key)
{
	return hash_bytes(key, sizeof *key); /* four numbers of 32 bits, without padding */
}
static inline bool track_key_is_equal(const struct track_key *key, const struct track_key *other)
{
	return key->kind == other->kind && key->numbers[0] == other->numbers[0] &&
	       key->numbers[1] == other->numbers[1] && key->numbers[2] == other->numbers[2];
}

/* More processes at once have no names. */
#define TRACKS_PROCESS_COUNT_MAX 65536u
/* Those that have ended are forgotten when there are so many: it takes a walk over all, which then pays for as many. */
#define TRACKS_ENDED_COUNT_MIN (TRACKS_PROCESS_COUNT_MAX / 8)

struct track_process {
	struct track_process *next; /* in its bucket */
	uint32_t pid;
	uint32_t reuse; /* how often the pid was another process before */
	uint32_t name;  /* string id, 0 not known */
	uint32_t shown; /* the one that the trace has */
	bool has_ended;
};

/* Initialise with { .packets = ..., .definitions = ... }. */
struct tracks {
	struct packets *packets;
	const struct definitions *definitions;
	uint64_t *told; /* ids of tracks that the trace has: a table by keyed hash, 0 free */
	size_t told_count;
	struct track_process *processes[4096];
	size_t process_count, ended_count;
	uint64_t refused; /* PROCESS records of those that there was no room for */
};

/* Takes what a PROCESS record says, or counts it as refused. False when out of memory. */
bool tracks_process(struct tracks *tracks, const struct iaprof_record_process *process);
/* The id of a track (of its lane, where slices overlap), which the trace has after this. */
uint64_t tracks_find(struct tracks *tracks, const struct track_key *key, uint32_t lane);
/* The name of a process, "" when it is not known. */
const char *tracks_process_name(const struct tracks *tracks, uint32_t pid);
void tracks_free(struct tracks *tracks);

#endif
