/* SPDX-License-Identifier: Apache-2.0 */
/* Hierarchy and names of tracks; each is described before its first event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "records/definitions.h"
#include "packets.h"

/* Kinds of tracks and the meaning of their keys; pid 0: no process, tid 0: any thread. */
enum track_kind {
	TRACK_RUN = 1,      /* the run of iaprof */
	TRACK_LOST,         /* losses */
	TRACK_SOURCE,       /* events that belong to no other track: source */
	TRACK_DEVICE,       /* source, device */
	TRACK_ENGINE,       /* jobs that it executes: source, device, string id of the engine */
	TRACK_PROCESS,      /* pid, number of earlier processes with that pid */
	TRACK_THREAD,       /* pid, tid, as above */
	TRACK_CALLS,        /* pid, tid */
	TRACK_LAUNCHES,     /* pid, tid */
	TRACK_JOBS,         /* waiting jobs: pid */
	TRACK_FINDINGS,     /* pid */
	TRACK_COUNTER,      /* source, counter number */
	TRACK_SAMPLES,      /* device samples per second: source, device */
	TRACK_STALL_REASON, /* the same for one reason: source, device, reason */
	TRACK_BUSY,         /* share of time: source, device, enum iaprof_activity_kind */
	TRACK_CALL_RATE,    /* calls per second: source, string id of the function */
	TRACK_VALUE         /* amount of samples per second, such as CPUs in use: value type, pid */
};

struct track_key {
	uint32_t kind; /* enum track_kind */
	uint32_t numbers[3];
};

static inline uint64_t track_key_hash(const struct track_key *key)
{
	return hash_bytes(key, sizeof *key); /* four 32-bit numbers without padding */
}
static inline bool track_key_is_equal(const struct track_key *key, const struct track_key *other)
{
	return key->kind == other->kind && key->numbers[0] == other->numbers[0] &&
	       key->numbers[1] == other->numbers[1] && key->numbers[2] == other->numbers[2];
}

/* Limit on simultaneous processes with names. */
#define TRACKS_PROCESS_COUNT_MAX 65536u
/* Ended processes are removed in one pass when there are this many. */
#define TRACKS_ENDED_COUNT_MIN (TRACKS_PROCESS_COUNT_MAX / 8)

struct track_process {
	struct track_process *next; /* in the same bucket */
	uint32_t pid;
	uint32_t reuse; /* number of earlier processes with this pid */
	uint32_t name;  /* string id, 0 if unknown */
	uint32_t shown; /* the name that is in the trace */
	bool has_ended;
};

/* Initialise with { .packets = ..., .definitions = ... }. */
struct tracks {
	struct packets *packets;
	const struct definitions *definitions;
	struct string_table described; /* ids of tracks that were described */
	struct track_process *processes[4096];
	size_t process_count, ended_count;
	uint64_t refused;      /* PROCESS records beyond the limit */
	uint32_t device_kind;  /* enum iaprof_device_kind, of the devices that execute code */
	bool has_device_kinds; /* there are several */
};

/* Processes a PROCESS record, or counts it as refused. Returns false when out of memory. */
bool tracks_process(struct tracks *tracks, const struct iaprof_record_process *process);
/* Processes a DEVICE record. */
void tracks_device(struct tracks *tracks, const struct iaprof_record_device *device);
/* Returns the ID of a track or lane, and describes it if necessary. */
uint64_t tracks_find(struct tracks *tracks, const struct track_key *key, uint32_t lane);
/* Describes a thread with its name, unless it is the main thread, which has the name of its process. */
void tracks_name_thread(struct tracks *tracks, uint32_t pid, uint32_t tid, const char *name);
/* Returns the name of a process, "" if unknown. */
const char *tracks_process_name(const struct tracks *tracks, uint32_t pid);
void tracks_free(struct tracks *tracks);
