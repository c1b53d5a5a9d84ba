/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle gaps of devices: time in which a device executed nothing, attributed to what the thread did meanwhile that then
 * submitted work, as far as samples show it; the parts of a gap add up to the gap. Of executions of kernels, all idle
 * time between the first and the last is in the profile, beside the device's time. Of other jobs, gaps are those before
 * further jobs of a process that had used the device, and only in runs with samples of waits. While copies of the
 * device run, a gap is divided where they begin and end: it waited for them. Owned by the collector thread.
 */
#pragma once

#include <stdint.h>
#include <iaprof/record.h>

#include "base/keyed_array.h"
#include "correlator/sampled_devices.h"
#include "profile/cpu_samples.h"

/* Gaps, and samples, that are held; beyond, the older gaps are settled. */
#define DEVICE_GAPS_HELD_MAX 65536u

/* A gap is settled no earlier than this long after its end, when the samples of its time have arrived. */
#define DEVICE_GAPS_DELAY UINT64_C(2000000000)

/* Changes of the thread that launches that are remembered. */
#define DEVICE_GAPS_LAUNCHES_MAX 4096u

enum device_gap_length {
	DEVICE_GAP_LONG,
	DEVICE_GAP_LAUNCH,  /* about as long as a launch takes */
	DEVICE_GAP_MINIMUM, /* about as long as a device needs to start the next kernel */
};

/* A gap; or short ones in a row, of one length and thread. */
struct device_gap {
	uint16_t source;
	bool is_job;      /* ended by a job that is not of a kernel */
	bool is_estimate; /* of all idle time, of which the parts are not known */
	uint8_t length;   /* enum device_gap_length */
	uint8_t copy;     /* enum iaprof_copy: what ran meanwhile */
	uint32_t device, pid, tid;
	uint64_t begin, end, idle; /* idle: at most end - begin */
};

/* Value types of gaps, by enum iaprof_device_kind, and that of gaps that end with other jobs. */
enum { DEVICE_GAP_TYPE_OF_JOBS = IAPROF_DEVICE_NPU + 1, DEVICE_GAP_TYPES };
struct device_gap_type {
	bool is_declared;
	uint32_t index, flags; /* flags: enum iaprof_value_flag */
};

/* Copies that are remembered, and those that divide one gap at most: the latest. */
#define DEVICE_GAPS_COPIES_MAX 8192u
#define DEVICE_GAPS_PARTS_MAX 64u

struct copy_time {
	uint64_t begin, end;
	uint32_t device;
	uint16_t source;
	uint16_t copy; /* enum iaprof_copy */
};

/* A thread began to launch. */
struct launching_thread {
	uint64_t time;
	uint32_t pid, tid;
};

/* Gaps of a device that ended with jobs of a process other than of kernels. */
struct device_gap_key {
	uint32_t source, device, pid;
};
struct device_gap_sum {
	struct device_gap_key key;
	uint64_t first;      /* begin of its first job */
	uint64_t gaps, idle; /* number, and ns */
	uint64_t jobs;
};

/* Initialise with {0} and the first members. */
struct device_gaps {
	struct cpu_samples *samples; /* receives the parts of gaps */
	struct intern *intern;
	struct run_metadata *facts;
	struct sampled_devices *devices;
	ARRAY(struct device_gap) gaps;
	ARRAY(struct waiting_sample) held;
	ARRAY(struct launching_thread) launches;
	ARRAY(struct copy_time) copies; /* by their end */
	uint64_t longest_copy;
	KEYED_ARRAY(struct device_gap_sum) sums;
	struct device_gap_type types[DEVICE_GAP_TYPES];
	struct {
		uint32_t running, unknown, launch, minimum; /* string ids; 0: not declared yet */
		uint32_t copies[IAPROF_COPY_SET + 1];
	} reasons;
	bool has_waits;   /* there were samples of waits */
	bool is_used;     /* there were launches or jobs */
	uint64_t newest;  /* time of the latest record */
	uint64_t dropped; /* gaps dropped when out of memory */
};

void device_gaps_free(struct device_gaps *gaps);
void device_gaps_take_launch(struct device_gaps *gaps, const struct iaprof_record_launch *launch);
/* job: not of a kernel; with its begin in started. */
void device_gaps_take_job(struct device_gaps *gaps, const struct iaprof_record_job *job);
/* job: a copy. Copies come in the order of their ends, and before the gaps in which they ran. */
void device_gaps_take_copy(struct device_gaps *gaps, const struct iaprof_record_job *job);
/* Takes a gap, as struct device_time passes it: how long the device was idle between a time and the job's begin. */
void device_gaps_take_idle(struct device_gaps *gaps, const struct iaprof_record_job *job, uint64_t begin,
			   uint64_t idle);
void device_gaps_hold_sample(struct device_gaps *gaps, const struct iaprof_record_sample *record);
/* record: one that cpu_samples_take() has taken. */
static inline void device_gaps_take_sample(struct device_gaps *gaps, const struct iaprof_record_sample *record)
{
	if (iaprof_record_sample_has_wait(record))
		gaps->has_waits = true;
	if (gaps->is_used) /* else, no process uses a device */
		device_gaps_hold_sample(gaps, record);
}
/* Settles the gaps that ended up to a time; UINT64_MAX: all. Returns whether there were any. */
bool device_gaps_settle(struct device_gaps *gaps, uint64_t until);
