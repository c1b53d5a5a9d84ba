/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an NPU's files in sysfs say of its use, as DEVICE, COUNTER and COUNTER_VALUE records: busy time and utilization,
 * memory, frequency, whether it is awake. Files that a release of the driver does not have are left out.
 */
#ifndef IAPROF_PLUGINS_IVPU_USAGE_H
#define IAPROF_PLUGINS_IVPU_USAGE_H

#include <stdbool.h>
#include "device.h"
#include "record_batch.h"

/* Documentation/ABI/testing/sysfs-driver-ivpu, Linux 6.10: reading more often than this keeps the device awake. */
#define USAGE_PERIOD UINT64_C(1000000000)

enum usage_counter {
	USAGE_BUSY_TIME,
	USAGE_UTILIZATION,
	USAGE_MEMORY,
	USAGE_FREQUENCY,
	USAGE_AWAKE,
	USAGE_COUNTER_COUNT
};

struct usage {
	struct npu npus[NPUS_MAX];
	size_t count;
	struct {
		bool has[USAGE_COUNTER_COUNT];
		uint64_t busy, time; /* when busy time was read last; time 0: never */
	} states[NPUS_MAX];
	uint64_t failures; /* files that were there at first and could not be read later */
};

/* sysfs as in npus_find(). */
void usage_init(struct usage *usage, const char *sysfs);

/* Ids of devices are 1 + their position; ids of counters begin at first_counter. Returns 0 or a negative errno. */
int usage_begin(struct usage *usage, struct record_batch *batch, uint32_t first_counter, uint64_t time);
/* Not more often than USAGE_PERIOD. */
int usage_turn(struct usage *usage, struct record_batch *batch, uint32_t first_counter, uint64_t time);

#endif
