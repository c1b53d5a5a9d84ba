/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/activity.h - activity in a run besides samples: calls, jobs, counters, histograms and findings.
 *
 * Part of the profile of a whole run (struct iaprof_profile.activity) for sinks that requested IAPROF_REQUEST_ACTIVITY.
 * Ownership, lifetime and strides are as in iaprof/profile.h: use the accessors. Memory is bounded regardless of the
 * length of the run: 4096 processes, 65,536 functions, 262,144 nodes, 1024 histograms, 256 findings, 256 counters of
 * 1024 points, 256 tracks, and 32,768 events in all of them. What exceeds a bound is counted in the members named
 * dropped, or merged as stated below; further processes have no index.
 */
#ifndef IAPROF_ACTIVITY_H
#define IAPROF_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/layout.h>
#include <iaprof/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "None" for every index into the arrays of struct iaprof_activity. */
#define IAPROF_ACTIVITY_NONE UINT32_MAX

/* A device announced by a source. Strings are never NULL; "" means not known. */
struct iaprof_device {
	const char *source;
	const char *name;
	const char *address; /* PCI address: "0000:00:0b.0" */
	uint32_t kind;       /* enum iaprof_device_kind */
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_device, 32);

/* A process that had jobs or calls. */
struct iaprof_process {
	const char *name; /* program name; "" not known */
	uint32_t pid;
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_process, 16);

/* A function whose calls a source traces. */
struct iaprof_call_function {
	const char *source;
	const char *name;
	const char *family; /* group of functions, named by the source; "" none */
	uint32_t kind;      /* enum iaprof_call_kind */
	uint32_t pad;
	uint64_t count;
	uint64_t duration;      /* ns; recursive calls are counted at each level */
	uint64_t self_duration; /* ns, without nested calls */
};
IAPROF_ASSERT_SIZE(iaprof_call_function, 56);

/* A node of the call tree: a function with a distinct chain of callers. */
struct iaprof_call_node {
	uint32_t parent;   /* index of a node, smaller than this one's; IAPROF_ACTIVITY_NONE: outermost */
	uint32_t function; /* index of a function */
	uint32_t depth;    /* 0: outermost */
	uint32_t pad;
	uint64_t count;
	uint64_t duration, self_duration; /* ns */
};
IAPROF_ASSERT_SIZE(iaprof_call_node, 40);

/* A histogram; iaprof_histogram_quantile() computes its percentiles. */
struct iaprof_histogram {
	const char *source;
	const char *name; /* "jobs: queue time", "jobs: run time" and, of unknown starts, "jobs: submission to
			     completion" are of jobs */
	const char *unit;
	uint64_t count, sum, maximum;
	/* IAPROF_HISTOGRAM_BUCKET_COUNT_MAX buckets as in struct iaprof_record_histogram. */
	const uint64_t *buckets;
};
IAPROF_ASSERT_SIZE(iaprof_histogram, 56);

/* Findings of one kind, process and source: the latest text and numbers, and the highest severity. */
struct iaprof_finding {
	const char *source;
	const char *name;
	const char *text;
	uint32_t severity; /* enum iaprof_finding_severity */
	uint32_t pid;      /* 0 if none */
	uint64_t count;
	double value, threshold; /* as in struct iaprof_record_finding */
};
IAPROF_ASSERT_SIZE(iaprof_finding, 56);

/* Successive values of a counter. */
struct iaprof_counter_point {
	uint64_t begin, end; /* times of the first and last value, CLOCK_MONOTONIC ns */
	uint64_t count;      /* number of values, >= 1 */
	double minimum, maximum, mean;
};
IAPROF_ASSERT_SIZE(iaprof_counter_point, 48);

/* A counter over time. When there are too many points, adjacent points are merged in pairs. */
struct iaprof_counter {
	const char *source;
	const char *name;
	const char *unit;
	uint32_t kind;             /* enum iaprof_counter_kind */
	uint32_t device;           /* index of a device; IAPROF_ACTIVITY_NONE: none */
	uint64_t values_per_point; /* number of values in a full point */
	const struct iaprof_counter_point *points;
	size_t point_count;
	uint64_t count; /* number of values */
	double last;    /* last value, if count > 0 */
	/* As in struct iaprof_record_counter. */
	const char *engine; /* "" if none */
	const char *labels; /* "" if none */
	uint32_t pid;       /* 0: all, or none */
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_counter, 96);

enum iaprof_track_kind {
	IAPROF_TRACK_JOBS = 1,    /* jobs of an engine of a device */
	IAPROF_TRACK_POWER = 2,   /* calls that resume, suspend, boot or reset a device, by function */
	IAPROF_TRACK_API = 3,     /* library calls, by function and process */
	IAPROF_TRACK_IOCTL = 4,   /* requests to a driver, by function and process */
	IAPROF_TRACK_FAMILY = 5,  /* calls of the other functions, by family */
	IAPROF_TRACK_CONTEXT = 6, /* calls nested in a context that is not a call, such as "[interrupt]", by context */
	IAPROF_TRACK_COPIES = 7   /* jobs that copy, which keep no device busy, of an engine of a device */
};

/* A job, a call, or calls aggregated by the source. Members that do not apply are 0. */
struct iaprof_event {
	uint64_t begin, end; /* CLOCK_MONOTONIC ns; end >= begin */
	uint64_t count;      /* >= 1 */
	uint64_t busy;       /* ns in total: jobs: run time; calls of families and contexts: self time */
	uint64_t waiting;    /* jobs: ns from begin until they started to run */
	uint64_t duration;   /* calls: ns, including nested calls */
	uint64_t queued;     /* jobs: when the job reached the device, 0 if unknown */
	uint64_t started;    /* jobs: when it started to run, 0 if unknown */
	int64_t result;      /* calls: return value of the last one */
	uint32_t id, context, status;
	uint32_t state; /* jobs: enum iaprof_job_state */
	uint32_t tid;
	uint32_t function; /* calls: index of a function; otherwise IAPROF_ACTIVITY_NONE */
};
IAPROF_ASSERT_SIZE(iaprof_event, 96);

/* Totals of a track within one time slot. */
struct iaprof_track_slot {
	uint64_t number; /* the slot begins at number * struct iaprof_activity.slot_width */
	uint64_t count, busy, waiting, aborted;
};
IAPROF_ASSERT_SIZE(iaprof_track_slot, 40);

/* A row of a timeline: individual events, or totals per time slot if there are too many. Sums cover all events. */
struct iaprof_track {
	uint32_t kind;    /* enum iaprof_track_kind */
	uint32_t device;  /* index of a device; IAPROF_ACTIVITY_NONE: none */
	uint32_t process; /* index of a process; IAPROF_ACTIVITY_NONE: all */
	uint32_t pad;
	const char *source; /* source and name are "" for the tracks beyond the bound */
	const char *name;   /* engine, function, family or context */
	uint64_t count, busy, waiting;
	uint64_t aborted, in_flight; /* jobs */
	const struct iaprof_event *events;
	size_t event_count;
	const struct iaprof_track_slot *slots;
	size_t slot_count;
	/* Names of the events' threads, in the same order; each may be NULL. */
	const char *const *threads;
};
IAPROF_ASSERT_SIZE(iaprof_track, 112);

/* Returns whether the events of a track are jobs. */
static inline int iaprof_track_has_jobs(const struct iaprof_track *track)
{
	return track->kind == IAPROF_TRACK_JOBS || track->kind == IAPROF_TRACK_COPIES;
}

struct iaprof_activity {
	uint32_t size; /* sizeof(struct iaprof_activity) in the core */
	uint32_t pad;

	const void *devices;
	size_t device_count, device_size;
	const void *processes;
	size_t process_count, process_size;
	const void *functions;
	size_t function_count, function_size;
	const void *nodes;
	size_t node_count, node_size;
	const void *histograms;
	size_t histogram_count, histogram_size;
	const void *findings;
	size_t finding_count, finding_size;
	const void *counters;
	size_t counter_count, counter_size;
	const void *tracks;
	size_t track_count, track_size;

	uint64_t begin, end; /* time range of all events, CLOCK_MONOTONIC ns; begin > end: no events */
	uint64_t slot_width; /* ns */
	uint64_t jobs_done, jobs_aborted, jobs_in_flight;

	uint64_t tracks_dropped;    /* events of tracks beyond the bound */
	uint64_t calls_dropped;     /* calls whose node was not defined */
	uint64_t histogram_dropped; /* values of histograms beyond the bound */
	uint64_t counter_dropped;   /* values of counters beyond the bound */
	uint64_t findings_dropped;
};
IAPROF_ASSERT_SIZE(iaprof_activity, 288);

#define IAPROF_ACTIVITY_ACCESSOR(type, name, member)                                                                   \
	static inline const struct type *iaprof_activity_##name(const struct iaprof_activity *activity, size_t index)  \
	{                                                                                                              \
		return (const struct type *)((const char *)activity->member##s + index * activity->name##_size);       \
	}
IAPROF_ACTIVITY_ACCESSOR(iaprof_device, device, device)
IAPROF_ACTIVITY_ACCESSOR(iaprof_call_function, function, function)
IAPROF_ACTIVITY_ACCESSOR(iaprof_call_node, node, node)
IAPROF_ACTIVITY_ACCESSOR(iaprof_histogram, histogram, histogram)
IAPROF_ACTIVITY_ACCESSOR(iaprof_finding, finding, finding)
IAPROF_ACTIVITY_ACCESSOR(iaprof_counter, counter, counter)
IAPROF_ACTIVITY_ACCESSOR(iaprof_track, track, track)
IAPROF_ACTIVITY_ACCESSOR(iaprof_process, process, processe)
#undef IAPROF_ACTIVITY_ACCESSOR

#ifdef __cplusplus
}
#endif
#endif
