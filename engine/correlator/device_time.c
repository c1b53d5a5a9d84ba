/* SPDX-License-Identifier: Apache-2.0 */
/* See device_time.h. */
#include "correlator/device_time.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/saturating.h"

/* The begin or the end of an execution, or of the part of it that is divided. */
struct boundary {
	uint64_t time;
	uint32_t execution;
	bool is_end;
};

void device_time_free(struct device_time *time)
{
	for (size_t i = 0; i < time->devices.count; i++) {
		array_free(&time->devices.items[i].waiting);
		array_free(&time->devices.items[i].idle);
	}
	keyed_array_free(&time->devices);
}

static int compare_boundaries(const void *left, const void *right)
{
	const struct boundary *a = left, *b = right;
	return a->time != b->time ? (a->time > b->time) - (a->time < b->time) : b->is_end - a->is_end;
}

static void add_idle(struct executing_device *device, uint64_t begin, uint64_t end)
{
	size_t kept = DEVICE_TIME_IDLE_MAX / 2;
	if (device->idle.count == DEVICE_TIME_IDLE_MAX) {
		memmove(device->idle.items, device->idle.items + kept, kept * sizeof *device->idle.items);
		device->idle.count = kept;
	}
	if (begin < end)
		(void)array_push(&device->idle, ((struct idle_time){ begin, end })); /* else that time is lost */
}

/* Removes what was idle between two times, and returns how much that is. */
static uint64_t take_idle(struct executing_device *device, uint64_t begin, uint64_t end)
{
	size_t count = device->idle.count;
	struct idle_time *idle = device->idle.items;
	CLEANUP_FREE struct idle_time *left = calloc(2 * count + 1, sizeof *left);
	size_t kept = 0;
	uint64_t taken = 0;
	for (size_t i = 0; left && i < count; i++) {
		uint64_t from = idle[i].begin > begin ? idle[i].begin : begin;
		uint64_t to = idle[i].end < end ? idle[i].end : end;
		if (from >= to) {
			left[kept++] = idle[i];
			continue;
		}
		taken += to - from;
		if (idle[i].begin < from)
			left[kept++] = (struct idle_time){ idle[i].begin, from };
		if (to < idle[i].end)
			left[kept++] = (struct idle_time){ to, idle[i].end };
	}
	if (!left || !array_reserve(&device->idle, kept))
		return taken;
	device->idle.count = kept;
	memcpy(device->idle.items, left, kept * sizeof *left);
	return taken;
}

/* Idle time that an execution took back later is subtracted from the next. */
static void pass_idle(struct device_time *time, struct executing_device *device, const struct iaprof_record_job *job,
		      uint64_t end)
{
	uint64_t begin = device->idle_since > device->first ? device->idle_since : device->first;
	uint64_t known = device->busy + device->passed_idle;
	uint64_t idle = end > device->first && end - device->first > known ? end - device->first - known : 0;
	if (begin >= end || !idle)
		return;
	idle = idle < end - begin ? idle : end - begin;
	device->passed_idle += idle;
	if (time->take_idle && !device->key.copy)
		time->take_idle(time->context, job, begin, idle);
}

/* Divides the time between boundaries, in order, among the executions that run. */
static void sweep(struct device_time *times, struct executing_device *device, const struct boundary *boundaries,
		  size_t count, uint64_t until)
{
	struct device_execution *executions = device->waiting.items;
	uint64_t time = device->divided_until, running = 0;
	double total = 0; /* of an execution that always ran */
	for (size_t i = 0; i < count; i++) {
		const struct boundary *boundary = &boundaries[i];
		struct device_execution *execution = &executions[boundary->execution];
		if (running) {
			total += (double)(boundary->time - time) / (double)running;
			device->busy += boundary->time - time;
		} else {
			add_idle(device, time, boundary->time);
			if (!device->is_estimated)
				pass_idle(times, device, &execution->job, boundary->time);
		}
		if (boundary->is_end)
			execution->share += total - execution->total_then;
		else
			execution->total_then = total;
		running += boundary->is_end ? -UINT64_C(1) : 1;
		time = device->idle_since = boundary->time;
	}
	add_idle(device, time, until);
}

/* Returns the time of the other executions that one represents, which is as long. */
static uint64_t time_of_others(struct executing_device *device, const struct device_execution *execution)
{
	uint32_t represents = execution->job.represents;
	if (!represents)
		return 0;
	uint64_t value = saturating_multiply(execution->job.header.time - execution->job.started, represents - 1);
	device->busy = saturating_add(device->busy, value);
	return value;
}

/* Passes on those that have ended, and keeps the others. */
static void pass_ended(struct device_time *time, struct executing_device *device, uint64_t until)
{
	size_t kept = 0;
	for (size_t i = 0; i < device->waiting.count; i++) {
		struct device_execution *execution = &device->waiting.items[i];
		if (execution->job.header.time > until) {
			execution->from = execution->from > until ? execution->from : until;
			device->waiting.items[kept++] = *execution;
			continue;
		}
		double share = execution->share + device->rest;
		uint64_t value = share > 0 ? (uint64_t)share : 0;
		device->rest = share - (double)value;
		time->take(time->context, &execution->job, saturating_add(value, time_of_others(device, execution)));
	}
	time->waiting -= device->waiting.count - kept;
	device->waiting.count = kept;
}

static void divide_device(struct device_time *time, struct executing_device *device, uint64_t until)
{
	size_t count = 0;
	uint64_t newest = device->divided_until;
	for (size_t i = 0; i < device->waiting.count; i++)
		if (device->waiting.items[i].job.header.time > newest)
			newest = device->waiting.items[i].job.header.time;
	until = until < newest ? until : newest;
	CLEANUP_FREE struct boundary *boundaries = calloc(2 * device->waiting.count + 1, sizeof *boundaries);
	for (uint32_t i = 0; boundaries && i < device->waiting.count; i++) {
		struct device_execution *execution = &device->waiting.items[i];
		uint64_t end = execution->job.header.time < until ? execution->job.header.time : until;
		if (execution->from < device->divided_until) {
			uint64_t to = end < device->divided_until ? end : device->divided_until;
			uint64_t idle = take_idle(device, execution->from, to);
			execution->share += (double)idle;
			device->busy += idle;
			execution->from = device->divided_until;
		}
		if (execution->from >= end)
			continue;
		boundaries[count++] = (struct boundary){ .time = execution->from, .execution = i };
		boundaries[count++] = (struct boundary){ .time = end, .execution = i, .is_end = true };
	}
	if (count)
		qsort(boundaries, count, sizeof *boundaries, compare_boundaries);
	if (boundaries && until > device->divided_until) {
		sweep(time, device, boundaries, count, until);
		device->divided_until = until;
	}
	if (boundaries)
		pass_ended(time, device, until);
}

/* What estimated executions represent may be reported after them: idle time is known at the end. */
static void pass_estimated_idle(struct device_time *time, struct executing_device *device)
{
	struct iaprof_record_job latest = device->latest;
	latest.started = device->divided_until;
	device->idle_since = device->first;
	pass_idle(time, device, &latest, device->divided_until);
}

void device_time_divide(struct device_time *time, uint64_t until)
{
	for (size_t i = 0; i < time->devices.count; i++) {
		struct executing_device *device = &time->devices.items[i];
		if (device->waiting.count)
			divide_device(time, device, until);
		if (device->is_estimated && until == UINT64_MAX)
			pass_estimated_idle(time, device);
	}
}

bool device_time_add(struct device_time *time, const struct iaprof_record_job *job)
{
	struct executing_device added = { .key = { job->header.source, job->device, iaprof_record_job_has_kernel(job),
						   iaprof_record_job_copy(job) } };
	uint32_t position = keyed_array_add(&time->devices, &added);
	if (time->waiting >= DEVICE_TIME_WAITING_MAX)
		device_time_divide(time, UINT64_MAX);
	struct device_execution execution = { .from = job->started };
	uint32_t size = job->header.size < sizeof *job ? job->header.size : sizeof *job;
	memcpy(&execution.job, job, size);
	execution.job.header.size = size;
	if (position == POSITION_NONE || !array_push(&time->devices.items[position].waiting, execution))
		return false;
	struct executing_device *device = &time->devices.items[position];
	if (iaprof_record_job_is_estimate(job)) {
		device->is_estimated = true;
		device->latest = execution.job;
	}
	if (!device->first || job->started < device->first)
		device->first = job->started;
	time->waiting++;
	return true;
}
