/* SPDX-License-Identifier: Apache-2.0 */
/* Who kept which device busy lately, from DEVICE_ACTIVITY records. Belongs to the collector's thread. */
#ifndef IAPROF_CORE_CORRELATOR_ACTIVITY_H
#define IAPROF_CORE_CORRELATOR_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"

/* One record's contents. */
struct activity_entry {
	uint64_t begin, end, busy;
	uint16_t source;
	uint32_t device, pid, kind, label;
};

/* Initialise with {0}. */
struct activity {
	ARRAY(struct activity_entry) entries; /* in order of arrival */
	uint64_t dropped;                     /* records for which there was no room or no memory */
	uint64_t dropped_until;               /* of up to this time some are missing; 0: none */
};

void activity_free(struct activity *activity);
void activity_take(struct activity *activity, const struct iaprof_record_device_activity *record);
/* Forgets what ended before a time. */
void activity_forget(struct activity *activity, uint64_t before);

/* A process that was busy. */
struct busy_process {
	uint32_t pid;
	uint32_t label; /* string id, 0 none */
	double busy;    /* ns */
};

/* Of more processes than this at one time on one device those are kept that were busy the longest. */
#define BUSY_PROCESSES_MAX 256

/* Initialise with {0}. */
struct busy_processes {
	size_t count;  /* 0: nobody was busy, or nobody says */
	uint32_t kind; /* enum iaprof_activity_kind: where it is known from */
	bool more;     /* others were busy as well, and are not known */
	struct busy_process items[BUSY_PROCESSES_MAX];
};

/* Who was busy on a device between two times, by the most trusted kind of record that there is for it. */
void activity_find(const struct activity *activity, uint16_t source, uint32_t device, uint64_t begin, uint64_t end,
		   struct busy_processes *busy);

#endif
