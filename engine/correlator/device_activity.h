/* SPDX-License-Identifier: Apache-2.0 */
/* Recent busy times of devices by process, from DEVICE_ACTIVITY records. Owned by the collector thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"

/* One record's contents. */
struct device_activity_entry {
	uint64_t begin, end, busy;
	uint16_t source;
	uint32_t device, pid, kind, label;
};

/* Initialise with {0}. */
struct device_activity {
	ARRAY(struct device_activity_entry) entries; /* in order of arrival */
	uint64_t dropped;                            /* records dropped for lack of room or memory */
	uint64_t dropped_until;                      /* records up to this time are incomplete; 0: complete */
};

void device_activity_free(struct device_activity *activity);
void device_activity_take(struct device_activity *activity, const struct iaprof_record_device_activity *record);
/* Removes entries that ended before a time. */
void device_activity_forget(struct device_activity *activity, uint64_t before);

/* A process that was busy. */
struct busy_process {
	uint32_t pid;
	uint32_t label; /* string id, 0 if none */
	double busy;    /* ns */
};

/* Maximum number of busy processes per device and interval; those with the longest busy time are kept. */
#define BUSY_PROCESSES_MAX 256

/* Initialise with {0}. */
struct busy_processes {
	size_t count;  /* 0: no process was busy, or not known */
	uint32_t kind; /* enum iaprof_activity_kind: origin of the data */
	bool more;     /* further, unknown processes were busy as well */
	struct busy_process items[BUSY_PROCESSES_MAX];
};

/* Finds the processes that kept a device busy between two times, from the most reliable kind of record available. */
void device_activity_find(const struct device_activity *activity, uint16_t source, uint32_t device, uint64_t begin,
			  uint64_t end, struct busy_processes *busy);
