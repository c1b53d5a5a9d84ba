/* SPDX-License-Identifier: Apache-2.0 */
/* See device_gaps.h. */
#include "profile/device_gaps.h"

#include <stdlib.h>

/* When there are too many records: jobs that run longer than this may begin before a gap and end behind it. */
#define SETTLE_DELAY UINT64_C(5000000000)

/* Limit on the scaling of a sample's time, if the thread is not known to have waited. */
#define RUN_SCALE_MAX 2.0

void device_gaps_free(struct device_gaps *gaps)
{
	array_free(&gaps->jobs);
	array_free(&gaps->held);
	keyed_array_free(&gaps->sums);
}

/* Makes room for one more record. */
static void limit(struct device_gaps *gaps, uint64_t time)
{
	if (time > gaps->newest)
		gaps->newest = time;
	if (gaps->jobs.count >= DEVICE_GAPS_HELD_MAX || gaps->held.count >= DEVICE_GAPS_HELD_MAX)
		device_gaps_settle(gaps, gaps->newest > SETTLE_DELAY ? gaps->newest - SETTLE_DELAY : 0);
	if (gaps->jobs.count >= DEVICE_GAPS_HELD_MAX || gaps->held.count >= DEVICE_GAPS_HELD_MAX)
		device_gaps_settle(gaps, UINT64_MAX);
}

void device_gaps_take_job(struct device_gaps *gaps, const struct iaprof_record_job *job)
{
	uint64_t begin = job->started ? job->started : job->queued ? job->queued : job->submitted;
	if (!begin || begin > job->header.time)
		return;
	limit(gaps, job->header.time);
	if (!array_push(&gaps->jobs, ((struct gap_job){ .source = job->header.source,
							.device = job->device,
							.pid = job->pid,
							.tid = job->tid,
							.begin = begin,
							.end = job->header.time })))
		gaps->dropped++;
}

void device_gaps_hold_sample(struct device_gaps *gaps, const struct iaprof_record_sample *record)
{
	limit(gaps, record->header.time);
	struct waiting_sample held = cpu_samples_describe(gaps->samples, record);
	/* A sample of a running thread represents the time before it. */
	uint64_t before = held.key.wait.reason ? 0 : held.value / (held.count ? held.count : 1);
	held.first_time -= before < held.first_time ? before : held.first_time;
	if (held.first_time < held.time)
		(void)array_push(&gaps->held, held); /* without memory, its part of a gap is unknown */
}

static int compare_jobs(const void *left, const void *right)
{
	const struct gap_job *a = left, *b = right;
	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* By thread, then by time of the end. */
static int compare_samples(const void *left, const void *right)
{
	const struct waiting_sample *a = left, *b = right;
	if (a->key.pid != b->key.pid)
		return a->key.pid < b->key.pid ? -1 : 1;
	if (a->key.tid != b->key.tid)
		return a->key.tid < b->key.tid ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

/* Returns whether a sample is before those of a thread that end after a time. */
static bool is_before(const struct waiting_sample *sample, const struct gap_job *job, uint64_t time)
{
	if (sample->key.pid != job->pid)
		return sample->key.pid < job->pid;
	if (sample->key.tid != job->tid)
		return sample->key.tid < job->tid;
	return sample->time <= time;
}

/* Returns how much of a sample's value is between two times, if it is spread evenly. */
static double value_within(const struct waiting_sample *sample, uint64_t begin, uint64_t end)
{
	uint64_t from = sample->first_time > begin ? sample->first_time : begin;
	uint64_t to = sample->time < end ? sample->time : end;
	return from < to ? (double)sample->value * (double)(to - from) / (double)(sample->time - sample->first_time)
			 : 0;
}

static void add_part(struct device_gaps *gaps, const struct waiting_sample *sample, uint32_t reason, uint64_t begin,
		     uint64_t end, uint64_t value)
{
	struct waiting_sample part = *sample;
	part.key.value_type = gaps->value_type;
	part.key.wait.reason = reason;
	part.first_time = begin;
	part.time = end;
	part.value = value;
	part.count = 1;
	if (value)
		cpu_samples_add(gaps->samples, &part);
}

/*
 * Divides a gap among the samples of the thread that ended it; the rest is of unknown origin. Waits are exact. Samples
 * of a running thread are scaled to the time without waits, because the start and end of a time slice on the CPU are
 * not sampled.
 */
static void attribute(struct device_gaps *gaps, const struct gap_job *job, uint64_t begin)
{
	const struct waiting_sample *held = gaps->held.items;
	uint64_t left = job->begin - begin;
	double waiting = 0, running = 0;
	size_t first = array_lower_bound(gaps->held.count, i, is_before(&held[i], job, begin));
	size_t end = first;
	for (; end < gaps->held.count && held[end].key.pid == job->pid && held[end].key.tid == job->tid; end++)
		*(held[end].key.wait.reason ? &waiting : &running) += value_within(&held[end], begin, job->begin);
	double wait_scale = waiting > (double)left ? (double)left / waiting : 1;
	double run_scale = running > 0 ? ((double)left - wait_scale * waiting) / running : 0;
	run_scale = run_scale < RUN_SCALE_MAX ? run_scale : RUN_SCALE_MAX;
	for (size_t i = first; i < end; i++) {
		double scale = held[i].key.wait.reason ? wait_scale : run_scale;
		uint64_t value = (uint64_t)(scale * value_within(&held[i], begin, job->begin));
		value = value < left ? value : left;
		uint64_t from = held[i].first_time > begin ? held[i].first_time : begin;
		uint64_t to = held[i].time < job->begin ? held[i].time : job->begin;
		add_part(gaps, &held[i], held[i].key.wait.reason ? held[i].key.wait.reason : gaps->running, from, to,
			 value);
		left -= value;
	}
	const struct waiting_sample rest = { .key = { .pid = job->pid, .tid = job->tid } };
	add_part(gaps, &rest, gaps->unknown, begin, job->begin, left);
}

static struct device_gap_sum *sum_of(struct device_gaps *gaps, const struct gap_job *job, uint32_t pid)
{
	const struct device_gap_sum added = { .key = { job->source, job->device, pid } };
	uint32_t position = keyed_array_add(&gaps->sums, &added);
	return position == POSITION_NONE ? NULL : &gaps->sums.items[position];
}

static void settle_job(struct device_gaps *gaps, const struct gap_job *job)
{
	struct device_gap_sum *device = sum_of(gaps, job, 0);
	uint64_t busy_until = device ? device->busy_until : 0;
	if (device && job->end > busy_until)
		device->busy_until = job->end;
	struct device_gap_sum *process = job->pid ? sum_of(gaps, job, job->pid) : NULL;
	if (!process)
		return;
	if (process->jobs++ && busy_until && job->begin > busy_until) {
		if (!gaps->has_waits)
			return;
		process->gaps++;
		process->idle += job->begin - busy_until;
		attribute(gaps, job, busy_until);
	}
}

static void declare(struct device_gaps *gaps)
{
	const struct iaprof_record_value_type type = { .id = intern_value_type(gaps->intern, "device-idle",
									       "nanoseconds"),
						       .name = intern_own_text(gaps->intern, "device-idle"),
						       .unit = intern_own_text(gaps->intern, "nanoseconds") };
	run_metadata_take_value_type(gaps->facts, &type);
	gaps->value_type = run_metadata_find_value_type(gaps->facts, type.id);
	gaps->running = intern_own_text(gaps->intern, "[running]");
	gaps->unknown = intern_own_text(gaps->intern, "[not sampled]");
}

void device_gaps_settle(struct device_gaps *gaps, uint64_t until)
{
	size_t kept = 0;
	if (gaps->has_waits && gaps->jobs.count && !gaps->running)
		declare(gaps);
	if (gaps->jobs.count)
		qsort(gaps->jobs.items, gaps->jobs.count, sizeof *gaps->jobs.items, compare_jobs);
	if (gaps->held.count)
		qsort(gaps->held.items, gaps->held.count, sizeof *gaps->held.items, compare_samples);
	for (size_t i = 0; i < gaps->jobs.count; i++)
		if (gaps->jobs.items[i].begin <= until)
			settle_job(gaps, &gaps->jobs.items[i]);
		else
			gaps->jobs.items[kept++] = gaps->jobs.items[i];
	gaps->jobs.count = kept;
	kept = 0;
	for (size_t i = 0; i < gaps->held.count; i++)
		if (gaps->held.items[i].time > until)
			gaps->held.items[kept++] = gaps->held.items[i];
	gaps->held.count = kept;
}
