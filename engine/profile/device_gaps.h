/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle gaps of devices: time between two jobs in which a device had no work, although the process of the second job had
 * used the device before. A gap is attributed to what the thread that submitted the second job did meanwhile, as far as
 * samples show it; the parts of a gap add up to the gap. Only in runs with samples of waits, which show what threads
 * do. Owned by the collector thread.
 */
#pragma once

#include <stdint.h>
#include <iaprof/record.h>

#include "base/keyed_array.h"
#include "profile/cpu_samples.h"

/* Jobs and samples that are held; beyond, the gaps among the older ones are settled. */
#define DEVICE_GAPS_HELD_MAX 65536u

struct gap_job {
	uint16_t source;
	uint32_t device, pid, tid;
	uint64_t begin, end;
};

/* The gaps of a device that ended with jobs of a process. */
struct device_gap_key {
	uint32_t source, device, pid; /* pid 0: busy_until of the device */
};
struct device_gap_sum {
	struct device_gap_key key;
	uint64_t busy_until; /* end of the latest job so far */
	uint64_t gaps, idle; /* number, and ns */
	uint64_t jobs;
};

/* Initialise with {0} and the first three. */
struct device_gaps {
	struct cpu_samples *samples; /* receives the parts of gaps */
	struct intern *intern;
	struct run_metadata *facts;
	ARRAY(struct gap_job) jobs;
	ARRAY(struct waiting_sample) held;
	KEYED_ARRAY(struct device_gap_sum) sums;
	uint32_t value_type;       /* index; of "device-idle", ns */
	uint32_t running, unknown; /* string ids of the reasons of parts without one */
	bool has_waits;            /* there were samples of waits */
	uint64_t newest;           /* time of the latest record */
	uint64_t dropped;          /* jobs dropped when out of memory */
};

void device_gaps_free(struct device_gaps *gaps);
void device_gaps_take_job(struct device_gaps *gaps, const struct iaprof_record_job *job);
void device_gaps_hold_sample(struct device_gaps *gaps, const struct iaprof_record_sample *record);
/* record: one that cpu_samples_take() has taken. */
static inline void device_gaps_take_sample(struct device_gaps *gaps, const struct iaprof_record_sample *record)
{
	if (iaprof_record_sample_has_wait(record))
		gaps->has_waits = true;
	if (gaps->jobs.count || gaps->sums.count) /* else, no process uses a device */
		device_gaps_hold_sample(gaps, record);
}
/* Settles the gaps among jobs that began up to a time; UINT64_MAX: all. */
void device_gaps_settle(struct device_gaps *gaps, uint64_t until);
