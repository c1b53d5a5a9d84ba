/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector takes records in the order of the bus and keeps what a profile is made of: the process table, samples
 * by program and stack, losses, metadata. Stacks are resolved when their program has ended, when there are many, and
 * when a profile is asked for. Belongs to one thread.
 */
#ifndef IAPROF_CORE_PROFILE_COLLECTOR_H
#define IAPROF_CORE_PROFILE_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "bus/bus.h"
#include "bus/intern.h"
#include "profile/snapshot.h"

struct collector;

struct collector_options {
	struct intern *intern;
	struct bus *frames_bus; /* where FRAMES records go; NULL: no sink wants records */
	bool lines;             /* a sink wants source lines and inlined functions */
	bool pids;              /* a sink wants the stacks of different processes kept apart */
	bool live;              /* not a replay: processes and their files may still be there */
	const char *kallsyms;   /* NULL: /proc/kallsyms */
	const char *boot_id;    /* of this machine; for a replay */
};

/* What came in and what became of it, for the summary. */
struct collector_statistics {
	uint64_t records;
	uint64_t samples;               /* CPU samples, as counted by their sources */
	uint64_t processes;             /* program images seen */
	uint64_t stacks_unknown;        /* samples whose stack id was not known any more */
	uint64_t definitions_refused;   /* ids of a replayed run that mean two things */
	uint64_t mappings_dropped;      /* parts of mappings that were too many for one process */
	uint64_t out_of_memory;         /* samples and other records that could not be stored */
	const char *symbolizer_warning; /* why names are missing, NULL; lives as long as the collector */
	uint64_t kernel_side_time;      /* ns: what sources say their BPF programs used (counter "kernel-side-time") */
};

struct collector *collector_new(const struct collector_options *options);
void collector_free(struct collector *collector);

/* The reason of the loss that samples become whose value type nobody declared. */
#define COLLECTOR_REASON_VALUE_TYPE "samples: value type not declared"

/*
 * Takes every record of a batch. sync is called for each SYNC record with its time, after it was taken; may be NULL.
 * Times of SYNC records only grow: one that goes back tells nothing new and is left out.
 */
void collector_take(struct collector *collector, const struct iaprof_batch *batch,
		    void (*sync)(void *context, uint64_t time), void *context);

/* The last call before the final snapshot: everything that waits is taken as it is, and resolved. */
void collector_finish(struct collector *collector);

/* Gives every stack up to now its names. */
void collector_resolve(struct collector *collector);

/* A copy of the profile: of the interval since the last collector_begin_interval(), or of the whole run. NULL: ENOMEM.
 */
struct snapshot *collector_snapshot(const struct collector *collector, bool total);
void collector_begin_interval(struct collector *collector);

/* CLOCK_REALTIME minus CLOCK_MONOTONIC when the run began, from the metadata of that name; 0 when it is not there. */
#define METADATA_REALTIME_OFFSET "realtime offset"
/* Of /proc/sys/kernel/random/boot_id: tells whether a replay is on the machine, and since the boot, of its run. */
#define METADATA_BOOT_ID "boot id"
uint64_t collector_realtime_offset(const struct collector *collector);

struct collector_statistics collector_statistics(const struct collector *collector);
uint64_t collector_lost_count(const struct collector *collector);

#endif
