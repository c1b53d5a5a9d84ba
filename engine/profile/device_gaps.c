/* SPDX-License-Identifier: Apache-2.0 */
/* See device_gaps.h. */
#include "profile/device_gaps.h"

#include <stdlib.h>

/* Gaps shorter than this are added up over a while. */
#define SHORT_GAP UINT64_C(200000)
#define SHORT_GAPS_LENGTH UINT64_C(2000000)

/* A launch takes the CPU 2 to 20 us, with a framework in Python, and the device 1 to 2 us to start. */
#define LAUNCH_GAP UINT64_C(20000)
#define MINIMUM_GAP UINT64_C(2000)

/* Limit on the scaling of a sample's time, if the thread is not known to have waited. */
#define RUN_SCALE_MAX 2.0
/* Copies that are examined for one gap: the latest ones. */
#define STEPS_MAX 256u

/* How many of the latest gaps one is added to at most. */
#define RECENT_GAPS 8u

/* How many of the latest changes of the launching thread are looked at: those of all processes are in one list. */
#define RECENT_LAUNCHES 256u

void device_gaps_free(struct device_gaps *gaps)
{
	array_free(&gaps->gaps);
	array_free(&gaps->held);
	array_free(&gaps->launches);
	array_free(&gaps->copies);
	keyed_array_free(&gaps->sums);
}

/* Makes room for one more record. */
static void limit(struct device_gaps *gaps, uint64_t time)
{
	if (time > gaps->newest)
		gaps->newest = time;
	if (gaps->gaps.count >= DEVICE_GAPS_HELD_MAX || gaps->held.count >= DEVICE_GAPS_HELD_MAX)
		device_gaps_settle(gaps, gaps->newest > DEVICE_GAPS_DELAY ? gaps->newest - DEVICE_GAPS_DELAY : 0);
	if (gaps->gaps.count >= DEVICE_GAPS_HELD_MAX || gaps->held.count >= DEVICE_GAPS_HELD_MAX)
		device_gaps_settle(gaps, UINT64_MAX);
}

/* Returns the thread that launched last before a time, or the first one that launched; 0: not known. */
static uint32_t launching_thread(const struct device_gaps *gaps, uint32_t pid, uint64_t time)
{
	uint32_t tid = 0;
	for (size_t i = gaps->launches.count, left = RECENT_LAUNCHES; i-- > 0 && left-- > 0;) {
		const struct launching_thread *launch = &gaps->launches.items[i];
		if (launch->pid != pid)
			continue;
		tid = launch->tid;
		if (launch->time <= time)
			break;
	}
	return tid;
}

void device_gaps_take_launch(struct device_gaps *gaps, const struct iaprof_record_launch *launch)
{
	struct launching_thread *launches = gaps->launches.items;
	size_t kept = DEVICE_GAPS_LAUNCHES_MAX / 2;
	gaps->is_used = true;
	if (!launch->tid || launching_thread(gaps, launch->pid, UINT64_MAX) == launch->tid)
		return;
	if (gaps->launches.count == DEVICE_GAPS_LAUNCHES_MAX) {
		memmove(launches, launches + kept, kept * sizeof *launches);
		gaps->launches.count = kept;
	}
	(void)array_push(
		&gaps->launches,
		((struct launching_thread){ .time = launch->header.time, .pid = launch->pid, .tid = launch->tid }));
}

static struct device_gap_sum *sum_of(struct device_gaps *gaps, const struct device_gap_sum *added)
{
	uint32_t position = keyed_array_add(&gaps->sums, added);
	return position == POSITION_NONE ? NULL : &gaps->sums.items[position];
}

void device_gaps_take_job(struct device_gaps *gaps, const struct iaprof_record_job *job)
{
	const struct device_gap_sum added = { .key = { job->header.source, job->device, job->pid },
					      .first = job->started };
	struct device_gap_sum *sum = job->pid ? sum_of(gaps, &added) : NULL;
	if (!sum)
		return;
	sum->jobs++;
	sum->first = job->started < sum->first ? job->started : sum->first;
}

/* Adds a short gap to a recent one of the same thread. Returns whether there is one. */
static bool join(struct device_gaps *gaps, const struct device_gap *gap)
{
	size_t count = gaps->gaps.count;
	for (size_t i = count; gap->idle < SHORT_GAP && i-- > 0 && count - i <= RECENT_GAPS;) {
		struct device_gap *last = &gaps->gaps.items[i];
		if (last->source != gap->source || last->device != gap->device || last->pid != gap->pid ||
		    last->tid != gap->tid || last->length != gap->length || last->copy != gap->copy || last->is_job ||
		    gap->is_job)
			continue;
		if (gap->begin < last->end || gap->end - last->begin > SHORT_GAPS_LENGTH)
			return false;
		last->end = gap->end;
		last->idle += gap->idle;
		return true;
	}
	return false;
}

void device_gaps_take_copy(struct device_gaps *gaps, const struct iaprof_record_job *job)
{
	struct copy_time copy = { .begin = job->started,
				  .end = job->header.time,
				  .device = job->device,
				  .source = job->header.source,
				  .copy = (uint16_t)iaprof_record_job_copy(job) };
	size_t kept = DEVICE_GAPS_COPIES_MAX / 2;
	if (copy.copy > IAPROF_COPY_SET)
		return;
	if (gaps->copies.count == DEVICE_GAPS_COPIES_MAX) {
		memmove(gaps->copies.items, gaps->copies.items + kept, kept * sizeof *gaps->copies.items);
		gaps->copies.count = kept;
	}
	if (copy.end - copy.begin > gaps->longest_copy)
		gaps->longest_copy = copy.end - copy.begin;
	(void)array_push(&gaps->copies, copy); /* without memory, what was copied in a gap is not known */
}

static void add_gap(struct device_gaps *gaps, struct device_gap gap)
{
	if (!gap.is_job)
		gap.length = gap.idle < MINIMUM_GAP  ? DEVICE_GAP_MINIMUM
			     : gap.idle < LAUNCH_GAP ? DEVICE_GAP_LAUNCH
						     : DEVICE_GAP_LONG;
	if (join(gaps, &gap))
		return;
	limit(gaps, gap.end);
	if (!array_push(&gaps->gaps, gap))
		gaps->dropped++;
}

/* Finds the parts of a gap in which something was copied, the last one first. Returns their number. */
static size_t find_copies(const struct device_gaps *gaps, const struct device_gap *gap,
			  struct copy_time parts[static DEVICE_GAPS_PARTS_MAX])
{
	const struct copy_time *copies = gaps->copies.items;
	size_t first = array_lower_bound(gaps->copies.count, i, copies[i].end <= gap->begin), count = 0;
	size_t end = array_lower_bound(gaps->copies.count, i, copies[i].end < gap->end + gaps->longest_copy);
	uint64_t until = gap->end;
	/* Of those that overlap, the one that ends last counts. */
	size_t last = end > STEPS_MAX && end - STEPS_MAX > first ? end - STEPS_MAX : first;
	for (size_t i = end; i-- > last && count < DEVICE_GAPS_PARTS_MAX;) {
		struct copy_time part = copies[i];
		part.begin = part.begin > gap->begin ? part.begin : gap->begin;
		part.end = part.end < until ? part.end : until;
		if (part.source != gap->source || part.device != gap->device || part.begin >= part.end)
			continue;
		parts[count++] = part;
		until = part.begin;
	}
	return count;
}

/* Adds the part of a gap up to a time, which has its part of the idle time that is left. */
static void add_part_of_gap(struct device_gaps *gaps, struct device_gap *gap, uint64_t end, uint32_t copy)
{
	struct device_gap part = *gap;
	part.end = end;
	part.copy = (uint8_t)copy;
	part.idle = (uint64_t)((__uint128_t)gap->idle * (end - gap->begin) / (gap->end - gap->begin));
	gap->begin = end;
	gap->idle -= part.idle;
	if (part.idle)
		add_gap(gaps, part);
}

void device_gaps_take_idle(struct device_gaps *gaps, const struct iaprof_record_job *job, uint64_t begin, uint64_t idle)
{
	struct copy_time parts[DEVICE_GAPS_PARTS_MAX];
	struct device_gap gap = { .source = job->header.source,
				  .is_job = !iaprof_record_job_has_kernel(job),
				  .is_estimate = iaprof_record_job_is_estimate(job),
				  .device = job->device,
				  .pid = job->pid,
				  .tid = job->tid,
				  .begin = begin,
				  .end = job->started,
				  .idle = idle };
	if (gap.is_estimate)
		gap.tid = 0;
	else if (!gap.is_job && !gap.tid)
		gap.tid = launching_thread(gaps, gap.pid, gap.end);
	for (size_t i = gap.is_job || gap.is_estimate ? 0 : find_copies(gaps, &gap, parts); i-- > 0;) {
		if (parts[i].begin > gap.begin)
			add_part_of_gap(gaps, &gap, parts[i].begin, IAPROF_COPY_NONE);
		add_part_of_gap(gaps, &gap, parts[i].end, parts[i].copy);
	}
	if (gap.idle)
		add_gap(gaps, gap);
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
static bool is_before(const struct waiting_sample *sample, const struct device_gap *gap)
{
	if (sample->key.pid != gap->pid)
		return sample->key.pid < gap->pid;
	if (sample->key.tid != gap->tid)
		return sample->key.tid < gap->tid;
	return sample->time <= gap->begin;
}

/* Returns how much of a sample's value is within a gap, if it is spread evenly. */
static double value_within(const struct waiting_sample *sample, const struct device_gap *gap)
{
	uint64_t from = sample->first_time > gap->begin ? sample->first_time : gap->begin;
	uint64_t to = sample->time < gap->end ? sample->time : gap->end;
	return from < to ? (double)sample->value * (double)(to - from) / (double)(sample->time - sample->first_time)
			 : 0;
}

static void declare(struct device_gaps *gaps, struct device_gap_type *type, const char *name, uint32_t role,
		    uint32_t kind)
{
	struct iaprof_record_value_type record = { .header.size = sizeof record,
						   .id = intern_value_type(gaps->intern, name, "nanoseconds"),
						   .name = intern_own_text(gaps->intern, name),
						   .unit = intern_own_text(gaps->intern, "nanoseconds"),
						   .role = role,
						   .device_kind = kind,
						   .flags = type->flags };
	run_metadata_take_value_type(gaps->facts, &record);
	type->index = run_metadata_find_value_type(gaps->facts, record.id);
	type->is_declared = true;
}

/* Returns the index of the value type of a gap. kind: of the device. */
static uint32_t value_type_of(struct device_gaps *gaps, const struct device_gap *gap, uint32_t kind)
{
	static const char *const names[DEVICE_GAP_TYPES] = { [IAPROF_DEVICE_UNKNOWN] = "device-idle-time",
							     [IAPROF_DEVICE_GPU] = "gpu-idle",
							     [IAPROF_DEVICE_NPU] = "npu-idle",
							     [DEVICE_GAP_TYPE_OF_JOBS] = "device-idle" };
	uint32_t position = gap->is_job ? DEVICE_GAP_TYPE_OF_JOBS : kind;
	struct device_gap_type *type = &gaps->types[position];
	uint32_t flags = gap->is_estimate ? IAPROF_VALUE_ESTIMATED : 0;
	if (!type->is_declared || flags & ~type->flags) {
		type->flags |= flags;
		declare(gaps, type, names[position], gap->is_job ? IAPROF_VALUE_UNKNOWN : IAPROF_VALUE_DEVICE_IDLE,
			gap->is_job ? IAPROF_DEVICE_UNKNOWN : kind);
	}
	return type->index;
}

static void add_part(struct device_gaps *gaps, const struct waiting_sample *sample, uint32_t reason, uint64_t begin,
		     uint64_t end, uint64_t value)
{
	struct waiting_sample part = *sample;
	if (part.key.wait.reason != reason)
		part.key.wait = (struct wait_key){ .reason = reason };
	part.first_time = begin;
	part.time = end;
	part.value = value;
	part.count = 1;
	if (value)
		cpu_samples_add(gaps->samples, &part);
}

/* Why the device was idle in a gap while the thread ran, or waited for a reason. */
static uint32_t reason_of(const struct device_gaps *gaps, const struct device_gap *gap, uint32_t wait)
{
	if (gap->copy)
		return gaps->reasons.copies[gap->copy];
	if (gap->length == DEVICE_GAP_MINIMUM || (gap->length == DEVICE_GAP_LAUNCH && wait))
		return gaps->reasons.minimum;
	if (gap->length == DEVICE_GAP_LAUNCH)
		return gaps->reasons.launch;
	return wait ? wait : gaps->reasons.running;
}

/*
 * Divides a gap among the samples of the thread that ended it; the rest is of unknown origin. Waits are exact. Samples
 * of a running thread are scaled to the time without waits, because the start and end of a time slice on the CPU are
 * not sampled.
 */
static void attribute(struct device_gaps *gaps, const struct device_gap *gap)
{
	const struct waiting_sample *held = gaps->held.items;
	const struct sampled_device *device = sampled_devices_find(gaps->devices, gap->source, gap->device);
	uint32_t kind = device && device->kind <= IAPROF_DEVICE_NPU ? device->kind : IAPROF_DEVICE_UNKNOWN;
	uint32_t value_type = value_type_of(gaps, gap, kind), flags = gap->is_job ? 0 : waiting_idle_flag(kind);
	if (gaps->samples->stack_context.threads)
		flags |= sampled_devices_origin(gaps->devices, device) << WAITING_DEVICE_SHIFT;
	double length = (double)(gap->end - gap->begin), idle = (double)gap->idle / length, waiting = 0, running = 0;
	uint64_t left = gap->idle;
	size_t first = array_lower_bound(gaps->held.count, i, is_before(&held[i], gap));
	size_t end = first;
	for (; end < gaps->held.count && held[end].key.pid == gap->pid && held[end].key.tid == gap->tid; end++)
		*(held[end].key.wait.reason ? &waiting : &running) += value_within(&held[end], gap);
	double wait_scale = waiting > length ? length / waiting : 1;
	double run_scale = running > 0 ? (length - wait_scale * waiting) / running : 0;
	run_scale = run_scale < RUN_SCALE_MAX ? run_scale : RUN_SCALE_MAX;
	for (size_t i = first; i < end; i++) {
		struct waiting_sample part = held[i];
		uint32_t wait = part.key.wait.reason;
		uint64_t value = (uint64_t)(idle * (wait ? wait_scale : run_scale) * value_within(&held[i], gap));
		value = value < left ? value : left;
		uint64_t from = held[i].first_time > gap->begin ? held[i].first_time : gap->begin;
		uint64_t to = held[i].time < gap->end ? held[i].time : gap->end;
		part.key.value_type = value_type;
		part.key.flags |= flags;
		add_part(gaps, &part, reason_of(gaps, gap, wait), from, to, value);
		left -= value;
	}
	const struct waiting_sample rest = {
		.key = { .pid = gap->pid, .tid = gap->tid, .value_type = value_type, .flags = flags }
	};
	add_part(gaps, &rest,
		 gap->copy                           ? gaps->reasons.copies[gap->copy]
		 : gap->length == DEVICE_GAP_MINIMUM ? gaps->reasons.minimum
						     : gaps->reasons.unknown,
		 gap->begin, gap->end, left);
}

static void settle(struct device_gaps *gaps, const struct device_gap *gap)
{
	const struct device_gap_sum added = { .key = { gap->source, gap->device, gap->pid }, .first = gap->end };
	struct device_gap_sum *sum = gap->is_job && gap->pid ? sum_of(gaps, &added) : NULL;
	if (gap->is_job && (!gaps->has_waits || !sum || sum->first == gap->end))
		return;
	if (sum) {
		sum->gaps++;
		sum->idle += gap->idle;
	}
	attribute(gaps, gap);
}

static void declare_reasons(struct device_gaps *gaps)
{
	static const char *const copies[] = { [IAPROF_COPY_HOST_TO_DEVICE] = "[copy host to device]",
					      [IAPROF_COPY_DEVICE_TO_HOST] = "[copy device to host]",
					      [IAPROF_COPY_ON_DEVICE] = "[copy on the device]",
					      [IAPROF_COPY_BETWEEN_DEVICES] = "[copy between devices]",
					      [IAPROF_COPY_ON_HOST] = "[copy on the host]",
					      [IAPROF_COPY_SET] = "[memory set]" };
	for (uint32_t i = IAPROF_COPY_NONE + 1; i <= IAPROF_COPY_SET; i++)
		gaps->reasons.copies[i] = intern_own_text(gaps->intern, copies[i]);
	gaps->reasons.running = intern_own_text(gaps->intern, "[running]");
	gaps->reasons.unknown = intern_own_text(gaps->intern, "[not sampled]");
	gaps->reasons.launch = intern_own_text(gaps->intern, "[launch-bound]");
	gaps->reasons.minimum = intern_own_text(gaps->intern, "[between kernels]");
}

bool device_gaps_settle(struct device_gaps *gaps, uint64_t until)
{
	size_t kept = 0, before = gaps->gaps.count;
	if (gaps->gaps.count && !gaps->reasons.running)
		declare_reasons(gaps);
	if (gaps->gaps.count && gaps->held.count)
		qsort(gaps->held.items, gaps->held.count, sizeof *gaps->held.items, compare_samples);
	for (size_t i = 0; i < gaps->gaps.count; i++)
		if (gaps->gaps.items[i].end <= until)
			settle(gaps, &gaps->gaps.items[i]);
		else
			gaps->gaps.items[kept++] = gaps->gaps.items[i];
	gaps->gaps.count = kept;
	bool were_any = kept < before;
	kept = 0;
	for (size_t i = 0; i < gaps->held.count; i++)
		if (gaps->held.items[i].time > until)
			gaps->held.items[kept++] = gaps->held.items[i];
	gaps->held.count = kept;
	return were_any;
}
