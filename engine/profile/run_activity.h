/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activity of a run besides samples, for struct iaprof_activity of the profile: a timeline of jobs and calls, counters,
 * devices and processes, in addition to the tables of calls, histograms and findings. Owned by the collector thread.
 */
#pragma once

#include <iaprof/activity.h>

#include "bus/intern.h"
#include "correlator/sampled_devices.h"
#include "process/process.h"
#include "profile/call_tree.h"
#include "profile/counters.h"
#include "profile/findings.h"
#include "profile/histograms.h"
#include "profile/run_metadata.h"
#include "profile/snapshot_memory.h"
#include "profile/timeline.h"

/* Limit on processes with an index; further ones have none. */
#define ACTIVITY_PROCESSES_MAX 4096u

/* A process that had jobs or calls. */
struct activity_process {
	uint32_t pid;
	uint32_t serial;  /* serial in the process table, 0: unknown process */
	const char *name; /* latest name; owned by the process table */
};

/* Initialise with {0} and the first members, which must outlive it. */
struct run_activity {
	struct intern *intern;
	struct process_table *processes;
	const struct sampled_devices *devices;
	const struct call_tree *calls;
	const struct histograms *histograms;
	const struct findings *findings;
	const struct run_metadata *metadata;

	struct timeline timeline;
	struct counters counters;
	uint64_t calls_unplaced;
	ARRAY(struct activity_process) used;
	uint64_t out_of_memory; /* records lost when out of memory */
};

/* These place a job or calls on the timeline; the process events of their time are known. */
void run_activity_place_job(struct run_activity *activity, const struct iaprof_record_job *job);
void run_activity_place_call(struct run_activity *activity, const struct iaprof_record_call *call);
/* Updates the names of processes, which may change while they run. */
void run_activity_update_names(struct run_activity *activity);
/* Forgets the timeline and the processes, but not the counters. */
void run_activity_clear(struct run_activity *activity);
void run_activity_free(struct run_activity *activity);

/*
 * Copies the activity for sinks; timeline: include tracks and points of counters. Strings are valid for the whole run.
 * When out of memory, memory->failed is set and the content must not be used.
 */
void run_activity_copy(const struct run_activity *activity, bool timeline, struct snapshot_memory *memory,
		       struct iaprof_activity *content);
