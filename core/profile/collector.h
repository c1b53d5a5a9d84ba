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
#include "correlator/correlator.h"
#include "profile/call_tree.h"
#include "profile/device_code.h"
#include "profile/findings.h"
#include "profile/histograms.h"
#include "profile/snapshot.h"

struct collector;

struct collector_options {
	struct intern *intern;
	struct bus *frames_bus; /* where FRAMES, MODULE, CODE_FUNCTION and CODE_LISTING records go; NULL: no sink wants
				   records */
	struct decoders *decoders; /* NULL: instructions of devices have no names */
	bool lines;                /* a sink wants source lines and inlined functions */
	bool pids;                 /* a sink wants the stacks of different processes kept apart */
	bool producers;            /* a sink wants to see what device instructions wait for */
	uint64_t time_resolution;  /* ns: a sink wants to know when values were added; 0: none does */
	bool listings;             /* a sink wants CODE_LISTING records */
	uint64_t hold;             /* ns: samples of devices wait for their code; 0: CORRELATOR_HOLD */
	bool live;                 /* not a replay: processes and their files may still be there */
	const char *kallsyms;      /* NULL: /proc/kallsyms */
};

/* What came in and what became of it, for the summary. */
struct collector_statistics {
	uint64_t records;
	uint64_t samples;               /* of CPUs and devices, as counted by their sources */
	uint64_t processes;             /* program images seen */
	uint64_t stacks_unknown;        /* stacks of samples and launches whose id was not known any more */
	uint64_t event_stacks_missed;   /* stacks of launches and calls that could not be given names */
	uint64_t definitions_refused;   /* ids of a replayed run that mean two things */
	uint64_t mappings_refused;      /* that were too many for a user */
	uint32_t mappings_refused_user; /* who had the most of them */
	uint64_t mappings_dropped;      /* parts of mappings that were too many for one process */
	uint64_t addresses_nameless;    /* addresses of a replayed run that it has no names for */
	uint64_t out_of_memory;         /* samples and other records that could not be stored */
	const struct refusal *refusals; /* files that names could not be read from; live as long as the collector */
	size_t refusal_count;
	uint64_t refused_more;          /* files that were too many to name */
	const char *symbolizer_warning; /* why names are missing, NULL; lives as long as the collector */
	struct device_code_statistics device;
	struct correlator_statistics correlator;
	uint64_t kernel_side_time; /* ns: what sources say their BPF programs used (counter "kernel-side-time") */
};

struct collector *collector_new(const struct collector_options *options);
void collector_free(struct collector *collector);

/* The reason of the loss that samples become whose value type nobody declared. */
#define COLLECTOR_REASON_VALUE_TYPE "samples: value type not declared"
/* Of calls whose place in the tree of calls nobody defined. */
#define COLLECTOR_REASON_CALL_NODE "calls: node not defined"
/* Of what a capture adds to a stack that it does not define: a part of it is missing. */
#define COLLECTOR_REASON_PROFILE_STACK "samples: profile stack missing"

/*
 * Takes every record of a batch. sync is called for each SYNC record with its time, after it was taken; may be NULL.
 * Times of SYNC records only grow: one that goes back tells nothing new and is left out.
 */
void collector_take(struct collector *collector, const struct iaprof_batch *batch,
		    void (*sync)(void *context, uint64_t time), void *context);

/* The last call before the final snapshot: everything that waits is taken as it is, and resolved. */
void collector_finish(struct collector *collector);

/* Reading other files' names takes no longer than until this time (CLOCK_MONOTONIC ns). Any thread. */
void collector_end_by(struct collector *collector, uint64_t end);
/* ns of CPU time that helper processes had used at the last SYNC. Any thread. */
uint64_t collector_helper_cost(const struct collector *collector);
/* The path of the file that is read now, NULL none; lives as long as the collector. Any thread. */
const char *collector_reading(const struct collector *collector);

/* Gives every stack up to now its names. */
void collector_resolve(struct collector *collector);

/* A copy of the profile: of the interval since the last collector_begin_interval(), or of the whole run. NULL: ENOMEM.
 */
struct snapshot *collector_snapshot(const struct collector *collector, bool total);
void collector_begin_interval(struct collector *collector);

/* CLOCK_REALTIME minus CLOCK_MONOTONIC when the run began, from the metadata of that name; 0 when it is not there. */
#define METADATA_REALTIME_OFFSET "realtime offset"
/* Of /proc/sys/kernel/random/boot_id: identifies the machine and its boot. */
#define METADATA_BOOT_ID "boot id"
uint64_t collector_realtime_offset(const struct collector *collector);

struct collector_statistics collector_statistics(const struct collector *collector);
uint64_t collector_lost_count(const struct collector *collector);
/* How what they measured is distributed, and their jobs. */
const struct histograms *collector_histograms(const struct collector *collector);
/* What the sources found. */
const struct findings *collector_findings(const struct collector *collector);
/* What was called. */
const struct call_tree *collector_calls(const struct collector *collector);
/* What became of the samples of each device; good until the next record is taken. */
const struct sampled_device *collector_devices(const struct collector *collector, size_t *count);

#endif
