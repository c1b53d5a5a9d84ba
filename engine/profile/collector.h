/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector processes records in the order of the bus and maintains the data of the profile: the process table,
 * samples by program and stack, losses, metadata. Stacks are resolved when their program has ended, when there are
 * many, and when a profile is requested. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "bus/bus.h"
#include "bus/intern.h"
#include "correlator/correlator.h"
#include "profile/run_activity.h"
#include "profile/call_tree.h"
#include "correlator/device_code.h"
#include "profile/findings.h"
#include "profile/histograms.h"
#include "profile/snapshot.h"

struct collector;

struct collector_options {
	struct intern *intern;
	bool records;                    /* a sink reads records and the run is not a replay: send names and results */
	struct decoder_finder *decoders; /* NULL: device instructions have no names */
	bool lines;                      /* a sink requested source lines and inlined functions */
	bool pids;                       /* a sink requested separate stacks for different processes */
	bool threads;                    /* a sink requested separate stacks for different threads and devices */
	bool spans;                      /* a sink requested separate stacks for different spans */
	uint64_t time_resolution;        /* ns: resolution of times requested by a sink; 0: none */
	bool listings;                   /* a sink requested CODE_LISTING records */
	bool activity;                   /* a sink requested calls, jobs and counters in the profile */
	uint64_t hold;                   /* ns: longest wait of device samples for their code; 0: CORRELATOR_HOLD */
	bool continuous;                 /* forget the totals of the run after each interval; only if live */
	bool live;                       /* not a replay: processes and their files may still exist */
	const char *debuginfod;          /* as in struct symbolizer_options */
	const struct code_rules *rules;  /* NULL: none */
	struct kept_files *kept;         /* as in struct symbolizer_options */
	const char *kallsyms;            /* NULL: /proc/kallsyms */
};

/* Statistics for the summary. */
struct device_gap_sum;

struct collector_statistics {
	uint64_t records;
	uint64_t samples;               /* CPU and device samples, as counted by their sources */
	uint64_t processes;             /* program images seen */
	uint64_t stacks_unknown;        /* stacks of samples and launches whose id had expired */
	uint64_t event_stacks_missed;   /* stacks of launches and calls that could not be resolved */
	uint64_t attributed_early;      /* samples and other records that did not wait for what they depend on: too many
					   waited */
	uint64_t late;                  /* code objects, kernels and launches that device samples did not wait for */
	uint64_t definitions_refused;   /* ids of a replayed run with conflicting definitions */
	uint64_t mappings_refused;      /* mappings beyond the limit per user */
	uint32_t mappings_refused_user; /* user with the most of them */
	uint64_t roots_refused;         /* processes beyond the limit on mount namespaces per user */
	uint32_t roots_refused_user;    /* user with the most of them */
	uint64_t mappings_dropped;      /* parts of mappings beyond the limit per process */
	uint64_t threads_merged;        /* samples of threads beyond the limit per process */
	uint64_t spans_dropped;         /* samples of spans beyond the limit, which are kept without them */
	uint32_t runtimes;              /* which generated code without names: bits of jit_runtimes */
	uint64_t addresses_nameless;    /* addresses of a replayed run without FRAMES records */
	uint64_t strings_refused;       /* names beyond the limit of a continuous run */
	uint64_t out_of_memory;         /* samples and other records that could not be stored */
	const struct refusal *refusals; /* files whose symbols could not be read; owned by the collector */
	size_t refusal_count;
	uint64_t refused_more;          /* further files, not in refusals */
	const char *symbolizer_warning; /* why names are missing, or NULL; valid for the lifetime of the collector */
	bool decoder_failed;            /* a decoder crashed, exited or did not return; it was reported */
	struct device_code_statistics device;
	struct correlator_statistics correlator;
	uint64_t kernel_side_time; /* ns: CPU time of BPF programs reported by sources (counter "kernel-side-time") */
};

struct collector *collector_new(const struct collector_options *options);
void collector_free(struct collector *collector);

/* Returns the idle gaps of devices; those with pid 0 are of no process. Owned by the collector. */
const struct device_gap_sum *collector_gaps(const struct collector *collector, size_t *count);

/* Loss reason for samples whose value type was not declared. */
#define COLLECTOR_REASON_VALUE_TYPE "samples: value type not declared"
/* Loss reason for stall samples that lack a kernel or process which their address space or details require. */
#define COLLECTOR_REASON_STALL_DETAILS "samples: details do not agree with the address space"
/* Loss reason for jobs whose value type was not declared. */
#define COLLECTOR_REASON_JOB_TYPE "jobs: value type not declared"
/* Loss reason for jobs of kernels that do not state when the device started them. */
#define COLLECTOR_REASON_JOB_START "jobs: start on the device not known"
/* Loss reason for calls whose CALL_NODE was not defined. */
#define COLLECTOR_REASON_CALL_NODE "calls: node not defined"
/* Loss reason for names of sources beyond the limit of a continuous run. */
#define COLLECTOR_REASON_STRINGS "names: too many"
/* Loss reason for sampled processes of which only later mappings are known. */
#define COLLECTOR_REASON_UNREADABLE "memory maps of sampled processes that cannot be read"
/* Loss reason for values of a stack that the capture does not define because part of it is missing. */
#define COLLECTOR_REASON_PROFILE_STACK "samples: profile stack missing"

/*
 * Processes every record of a batch. sync, if not NULL, is called with the time of each SYNC record after it was
 * processed. SYNC records whose time decreases are ignored.
 */
void collector_take(struct collector *collector, const struct iaprof_batch *batch,
		    void (*sync)(void *context, uint64_t time), void *context);

/*
 * Removes the records derived from the batches so far and by collector_finish(), for sinks that read records: a list of
 * blocks, which the caller releases, or NULL.
 */
struct block *collector_take_results(struct collector *collector);

/* Processes and resolves all pending data. The last call before the final snapshot. */
void collector_finish(struct collector *collector);

/* Sets the time after which no further files are read for names (CLOCK_MONOTONIC ns). Any thread. */
void collector_end_by(struct collector *collector, uint64_t end);
/* Returns the CPU time of the helper processes at the last SYNC, in ns. Any thread. */
uint64_t collector_helper_cost(const struct collector *collector);
/* Returns the path of the file being read, or NULL; valid for the lifetime of the collector. Any thread. */
const char *collector_reading(const struct collector *collector);

/* Resolves all stacks collected so far. */
void collector_resolve(struct collector *collector);

/*
 * Returns a copy of the profile of the interval since the last collector_begin_interval(), or of the whole run; NULL
 * when out of memory.
 */
struct snapshot *collector_snapshot(const struct collector *collector, bool total);
/* With continuous, also releases what later intervals do not need. */
void collector_begin_interval(struct collector *collector);
/* Returns whether the profile uses so much memory that the interval should end early. */
bool collector_is_full(const struct collector *collector);

/* Sizes of the memory of a collector's tables, which are bounded in a continuous run. */
struct collector_memory {
	size_t frames;    /* bytes of resolved stacks */
	size_t strings;   /* interned strings */
	size_t stacks;    /* interned stacks */
	size_t processes; /* program images */
};
struct collector_memory collector_memory(const struct collector *collector);

/* Returns METADATA_REALTIME_OFFSET (bus/engine.h); 0 if unknown. */
uint64_t collector_realtime_offset(const struct collector *collector);

struct collector_statistics collector_statistics(const struct collector *collector);
uint64_t collector_lost_count(const struct collector *collector);
/* Returns the histograms of the sources and of jobs. */
const struct histograms *collector_histograms(const struct collector *collector);
/* Returns the findings of the sources. */
const struct findings *collector_findings(const struct collector *collector);
/* Returns the call tree. */
const struct call_tree *collector_calls(const struct collector *collector);
/* Returns the sample statistics of each device; valid until the next record is processed. */
const struct sampled_device *collector_devices(const struct collector *collector, size_t *count);
