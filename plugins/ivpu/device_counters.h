/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits an NPU's sysfs counters as DEVICE, COUNTER and COUNTER_VALUE records: busy time and utilization, memory,
 * frequency, power state. Files that a driver version lacks are skipped.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include "npu/device.h"
#include "records/record_batch.h"

/* Documentation/ABI/testing/sysfs-driver-ivpu, Linux 6.10: reading more often than this keeps the device awake. */
#define DEVICE_COUNTER_PERIOD UINT64_C(1000000000)

enum device_counter {
	DEVICE_COUNTER_BUSY_TIME,
	DEVICE_COUNTER_UTILIZATION,
	DEVICE_COUNTER_MEMORY,
	DEVICE_COUNTER_FREQUENCY,
	DEVICE_COUNTER_AWAKE,
	DEVICE_COUNTER_POWER,
	DEVICE_COUNTER_COUNT
};

/* The energy that the NPU has used, from Intel Platform Monitoring Technology (PMT). */
struct npu_energy {
	char path[PATH_MAX]; /* of the telemetry; "" if the product is not known, or has none */
	uint32_t offset;
	double joules; /* of a unit */
};

struct device_counters {
	struct npu npus[NPUS_MAX];
	size_t count;
	struct {
		bool has[DEVICE_COUNTER_COUNT];
		uint64_t busy, time; /* last reading of the busy time; time 0: never read */
	} states[NPUS_MAX];
	struct npu_energy energy; /* of the first NPU */
	struct {
		uint32_t units;
		uint64_t time; /* 0: never read */
	} last_energy;
	uint64_t failures; /* files that could be read at first but not later */
};

/* sysfs as in npus_find(). */
void device_counters_init(struct device_counters *usage, const char *sysfs);

/* Device ids are 1 + position; counter ids start at first_counter. Returns 0 or a negative errno. */
int device_counters_begin(struct device_counters *usage, struct record_batch *batch, uint32_t first_counter,
			  uint64_t time);
/* Emits the counters, at most once per DEVICE_COUNTER_PERIOD. */
int device_counters_turn(struct device_counters *usage, struct record_batch *batch, uint32_t first_counter,
			 uint64_t time);
/* Reads the busy time of the machine's only NPU, in ns. Returns whether there is one that has the counter. */
bool device_counters_busy_time(const struct device_counters *usage, uint64_t *busy_time);
