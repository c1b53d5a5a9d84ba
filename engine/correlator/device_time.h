/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the busy time of each device among its executions: while several overlap, each has an equal share of the
 * time, so that the shares of all add up to the time in which the device executed anything. Executions wait until those
 * that overlap them have probably ended. One that ends later has its share of the time after that, and of the time
 * before it what was idle. Busy and idle time add up to the time since the first execution. An execution that
 * represents others adds their time, as long as its own, which is an estimate. Copies are divided likewise, but those
 * of each kind on their own, and without idle time. Owned by the collector thread.
 */
#pragma once

#include <stdint.h>
#include <iaprof/record.h>

#include "base/keyed_array.h"

/* How long executions wait for those that overlap them; longer ones may be divided unequally. */
#define DEVICE_TIME_DELAY UINT64_C(1000000000)

/* Executions that wait; beyond, all are divided at once. */
#define DEVICE_TIME_WAITING_MAX 131072u

/* Idle times that are remembered for each device. */
#define DEVICE_TIME_IDLE_MAX 4096u

struct device_execution {
	struct iaprof_record_job job;
	uint64_t from;     /* its time before this is divided */
	double share;      /* ns */
	double total_then; /* while dividing: the sum of an execution that always ran, when this one began */
};

struct idle_time {
	uint64_t begin, end;
};

struct executing_device {
	struct {
		uint32_t source, device;
		uint32_t is_of_kernels; /* 0 or 1: a driver's jobs may contain kernels that are jobs, too */
		uint32_t copy;          /* enum iaprof_copy */
	} key;
	ARRAY(struct device_execution) waiting;
	uint64_t first;                  /* begin of the first execution */
	uint64_t divided_until;          /* 0: nothing yet */
	ARRAY(struct idle_time) idle;    /* before that, oldest first */
	uint64_t idle_since;             /* end of the executions before divided_until, if none runs then */
	uint64_t busy, passed_idle;      /* sums between first and divided_until; idle time that was passed on */
	double rest;                     /* below 1 ns: of the shares so far */
	bool is_estimated;               /* an execution represents others */
	struct iaprof_record_job latest; /* of estimated ones, to end */
};

/* Initialise with {0} and the first three. */
struct device_time {
	/* Receives each execution once, with its share in ns. */
	void (*take)(void *context, const struct iaprof_record_job *job, uint64_t share);
	/*
	 * Receives how long a device was idle, between a time and the begin of an execution; may be NULL. Of estimates,
	 * all at once, and only when everything is divided.
	 */
	void (*take_idle)(void *context, const struct iaprof_record_job *job, uint64_t begin, uint64_t idle);
	void *context;
	KEYED_ARRAY(struct executing_device) devices;
	size_t waiting;
};

void device_time_free(struct device_time *time);
/* Adds an execution that began at job->started, which is not later than its end. Returns false when out of memory. */
bool device_time_add(struct device_time *time, const struct iaprof_record_job *job);
/* Divides the time up to one at which executions that ended have been added; UINT64_MAX: all of them. */
void device_time_divide(struct device_time *time, uint64_t until);
