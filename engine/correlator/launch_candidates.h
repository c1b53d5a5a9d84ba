/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidate processes for the samples of an address in an interval, with their proportions: the processes that had code
 * there, weighted by device activity and kernel launches. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "correlator/device_activity.h"
#include "correlator/instruction_bases.h"
#include "correlator/kernels.h"
#include "correlator/code_locations.h"
#include "correlator/device_code.h"

/* Limit on processes with code at one address at one time; further ones are ignored. */
#define CANDIDATES_MAX 64
/* Limit on kernels examined per process: several may call the function that contains the address. */
#define CANDIDATE_KERNELS_MAX 64

/* Code of a process at the address. */
struct launch_candidate {
	uint32_t pid;
	uint32_t location;
	uint64_t address; /* plain, in the process */
	struct code_life life;
	double launches; /* sum of launch_candidates_shares() over its kernels */
	double weight;   /* > 0: its share of the samples, in any unit */
	bool launched;   /* one of its kernels was launched in the interval */
	bool may_run;    /* or before it, and may still run */
	bool shared;     /* a function called by several kernels: the running one is not known */
	bool others;     /* kernels that call this function, launched before the interval, may still run */
	bool unplaced;   /* unknown code that one of its kernels may be: unplaced_kernels.h */
	size_t kernel_count;
	uint32_t kernels[CANDIDATE_KERNELS_MAX];
};

/* Context of the search. Initialise with {0} and the first members. */
struct launch_candidates {
	struct device_code *code;
	struct instruction_bases *bases;
	struct kernels *kernels;
	struct code_locations *locations;
	struct device_activity *activity;

	bool waits; /* the sample waits if no code is known: some may be announced, and kernels be launched, late */

	struct launch_candidate items[CANDIDATES_MAX];
	size_t count;
	bool undecodable; /* there is code, but no instruction begins at the address */
	bool uncertain;   /* other, unknown or hardly less likely candidates exist */

	/* Cached busy processes for the interval of the newest sample: samples arrive in groups that share an
	   interval. */
	uint16_t busy_source;
	uint32_t busy_device;
	uint64_t busy_begin, busy_end;
	bool busy_valid;
	struct busy_processes busy;

	/* Cached kernels that may have called a function, for the newest such sample. */
	uint32_t callers_pid, callers_function;
	uint64_t callers_code, callers_begin, callers_end;
	bool callers_before; /* launched before the interval, and may still run */
	size_t caller_count;
	uint32_t callers[CANDIDATE_KERNELS_MAX];
};

/* Invalidates the caches after new records were processed. */
static inline void launch_candidates_refresh(struct launch_candidates *candidates)
{
	candidates->busy_valid = false;
	candidates->callers_end = 0;
}

/*
 * Address space of the samples into which the correlator turns jobs: they name a kernel as a whole. No source's sample
 * has it (engine/profile/collector.c).
 */
#define LAUNCH_CANDIDATES_JOB UINT32_MAX

/*
 * Finds the candidates for a sample and sets count and the weight of each. 0: no code is known at the address, or the
 * device was kept busy by processes without code there.
 */
void launch_candidates_find(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample);

/*
 * Finds the launches of one of a candidate's kernels (kernel: its position there), as kernels_shares(); none if other
 * kernels of the candidate were launched in the interval and this one was not.
 */
size_t launch_candidates_shares(struct launch_candidates *candidates, const struct iaprof_record_stall_sample *sample,
				const struct launch_candidate *candidate, size_t kernel,
				const struct kernel_share **shares);

/*
 * Returns whether other code at the address may still be announced for a sample: no candidate's code was there until
 * the end of its interval.
 */
bool launch_candidates_may_grow(const struct launch_candidates *candidates,
				const struct iaprof_record_stall_sample *sample);

/* Returns why a sample has no candidates. */
enum unmatched_reason launch_candidates_unmatched(const struct launch_candidates *candidates,
						  const struct iaprof_record_stall_sample *sample);

/* Returns the only process that kept the device busy in the sample's interval; NULL: several, none, or not known. */
const struct busy_process *launch_candidates_only_busy(struct launch_candidates *candidates,
						       const struct iaprof_record_stall_sample *sample);
