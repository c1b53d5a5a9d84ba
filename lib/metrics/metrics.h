/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sink counts over a run, from records and profiles. Every table is bounded, so that neither the memory of
 * a run that never ends nor the number of time series of a server grows: what is beyond goes to "[others]". Names are
 * cleaned when they are taken, because two series must not have the same labels. Not locked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <iaprof/profile.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "base/hash.h"
#include "metrics/recent_strings.h"

#define METRIC_DEVICES_MAX 32u
#define METRIC_CONTAINERS_MAX 128u /* the first one is "", the last one "[others]" */
#define METRIC_LOSSES_MAX 64u
#define METRIC_TYPES_MAX 32u
#define METRIC_COUNTERS_MAX 256u
#define METRIC_READINGS_MAX 128u
#define METRIC_SOURCES_MAX 32u
#define METRIC_CORE_READING (METRIC_READINGS_MAX + 1)
#define METRIC_SINKS_MAX 16u
#define METRIC_SINK_COUNT (METRIC_CORE_READING + CORE_READING_COUNT)
#define METRIC_REASONS_MAX 64u /* as in STALL_REASON */
/* A container without work on a device for this long is forgotten when there is no room for another one, in ns. */
#define METRIC_CONTAINER_IDLE (UINT64_C(600) * 1000000000)

/* Text of a label, cleaned; what is longer is cut off. */
#define LABEL_SIZE 128u
struct label_text {
	char text[LABEL_SIZE];
};

static inline bool label_is_equal(const struct label_text *left, const struct label_text *right)
{
	return strcmp(left->text, right->text) == 0;
}

/* Evidence of the use of a device; the highest one is counted. */
enum metric_evidence { EVIDENCE_NONE, EVIDENCE_JOBS, EVIDENCE_STATISTICS, EVIDENCE_SCHEDULER };

struct metric_device {
	struct label_text source, name, address;
	uint32_t kind; /* enum iaprof_device_kind */
	enum metric_evidence evidence;
	uint64_t last_end; /* of the latest job, before which the next one did not run */
	uint64_t jobs_done, jobs_aborted;
	uint64_t busy[METRIC_CONTAINERS_MAX]; /* ns, by container */
	struct label_text reasons[METRIC_REASONS_MAX];
	uint64_t stalls[METRIC_REASONS_MAX]; /* samples, by stall reason */
};

/* A device id of a source, which may be declared again for another device. */
struct metric_device_id {
	uint16_t source;
	uint32_t id;
	uint32_t device; /* index */
};

struct metric_container {
	struct label_text name;
	uint64_t seen; /* CLOCK_MONOTONIC ns */
};

/* A process that used a device, since the last profile. */
struct metric_process {
	uint32_t pid;
	uint32_t container; /* index */
};

struct metric_source {
	uint16_t number;
	struct label_text name;
	struct label_text reasons[METRIC_REASONS_MAX];
};

/* What a device reports of itself, or of one of its engines. */
enum device_reading { READING_UTILIZATION, READING_MEMORY, READING_POWER, READING_COUNT };

struct metric_reading {
	uint32_t device;
	enum device_reading what;
	struct label_text engine;
	bool is_gpu;  /* by the kind of its device, or its own name */
	double value; /* 0 to 1, bytes, or watts */
	bool is_known;
};

/* What the core measures of itself in a continuous run: shares of the CPU time of all CPUs, and of samples. */
enum core_reading { CORE_BUDGET, CORE_USE, CORE_RATE, CORE_READING_COUNT };

/* What became of the items of a sink. */
enum sink_count {
	SINK_DELIVERED,
	SINK_REFUSED,
	SINK_DROPPED,
	SINK_WAITING,
	SINK_STORED,
	SINK_PROFILE_END, /* CLOCK_REALTIME ns */
	SINK_BUSY,        /* ns */
	SINK_QUEUED,
	SINK_COUNT_COUNT
};

struct metric_sink {
	struct label_text name;
	uint64_t counts[SINK_COUNT_COUNT];
	bool is_known[SINK_COUNT_COUNT];
};

struct metric_counter {
	uint16_t source;
	uint32_t id;
	/* Index; UINT32_MAX: CPU time of BPF programs; METRIC_CORE_READING + enum core_reading; METRIC_SINK_COUNT +
	   index of the sink * SINK_COUNT_COUNT + enum sink_count. */
	uint32_t reading;
	double kernel_side; /* ns of that */
};

struct metric_type {
	struct label_text name;
	bool is_time;
	uint64_t samples, matched; /* numbers of samples */
	uint64_t value;            /* ns, if it is a time */
};

struct metric_loss {
	struct label_text source, reason;
	uint64_t count, unknown;
};

struct metrics {
	struct recent_strings strings;
	ARRAY(struct metric_source) sources;
	struct metric_device *devices; /* METRIC_DEVICES_MAX */
	uint32_t device_count;
	ARRAY(struct metric_device_id) device_ids;
	struct metric_container containers[METRIC_CONTAINERS_MAX];
	uint32_t container_count; /* without "[others]" */
	ARRAY(struct metric_process) processes;
	struct hash_index process_index;
	ARRAY(struct metric_reading) readings;
	ARRAY(struct metric_counter) counters;
	double core_readings[CORE_READING_COUNT];
	bool has_core_reading[CORE_READING_COUNT];
	ARRAY(struct metric_sink) sinks;
	ARRAY(struct metric_type) types;
	ARRAY(struct metric_loss) losses;
	uint64_t intervals;
	uint64_t profile_end; /* CLOCK_REALTIME ns of the latest profile; 0: not known */
	uint64_t dropped;     /* records without a place in a table, or out of memory */
	bool recorded;        /* processes are those of another time or machine: they are not looked up */
};

/* Returns false when out of memory. */
bool metrics_init(struct metrics *metrics, bool recorded);
void metrics_take_record(struct metrics *metrics, const struct iaprof_record *record);
void metrics_take_profile(struct metrics *metrics, const struct iaprof_profile *profile);
/* Returns the CPU time of BPF programs in ns, as far as sources report it. */
uint64_t metrics_kernel_side_time(const struct metrics *metrics);
void metrics_free(struct metrics *metrics);

/* Cleans a name: see text_append_name(). */
struct label_text label_of(const char *name);
