/* SPDX-License-Identifier: Apache-2.0 */
/* See meters.h. */
#include "meters.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Sources report at least once in this time, ns: older times are complete. */
#define LAG UINT64_C(1000000000)

/* Width of slots, ns: of a run without an interval, and of a recording, where they become wider. */
#define SLOT UINT64_C(1000000000)
#define SLOT_RECORDED UINT64_C(100000000)

/* No device number: the meter was added for a counter. */
#define NO_DEVICE UINT32_MAX

void meters_init(struct meters *meters, uint64_t interval, bool recorded)
{
	*meters = (struct meters){ .recorded = recorded,
				   .width = recorded   ? SLOT_RECORDED
					    : interval ? interval
						       : SLOT };
	if (!recorded)
		meters->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static struct meter *add_meter(struct meters *meters, const char *label)
{
	if (meters->count == METERS_MAX)
		return NULL;
	struct meter *meter = &meters->items[meters->count++];
	*meter = (struct meter){ .device = NO_DEVICE };
	strncpy(meter->label, label, sizeof meter->label - 1);
	return meter;
}

/* Returns the meter of a device by its name; device: only one that has this number, unless NULL. */
static struct meter *find_by_label(struct meters *meters, const char *label, const uint32_t *device)
{
	for (uint32_t i = 0; i < meters->count; i++) {
		struct meter *meter = &meters->items[i];
		if (!meter->is_cpu && (!device || meter->device == *device) &&
		    !strncmp(meter->label, label, METER_LABEL_SIZE - 1))
			return meter;
	}
	return add_meter(meters, label);
}

struct meter *meters_device(struct meters *meters, uint32_t source, uint32_t device, const char *label)
{
	for (uint32_t i = 0; i < meters->count; i++) {
		struct meter *meter = &meters->items[i];
		if (!meter->is_cpu && meter->source == source && meter->device == device)
			return meter;
	}
	/* A counter may have come first. */
	struct meter *meter = find_by_label(meters, label, &(uint32_t){ NO_DEVICE });
	if (meter) {
		meter->source = source;
		meter->device = device;
	}
	return meter;
}

struct meter *meters_cpu(struct meters *meters)
{
	for (uint32_t i = 0; i < meters->count; i++)
		if (meters->items[i].is_cpu)
			return &meters->items[i];
	struct meter *meter = add_meter(meters, "CPU");
	if (meter)
		meter->is_cpu = true;
	return meter;
}

/* Halves the number of slots in use. */
static void double_width(struct meters *meters)
{
	meters->width *= 2;
	for (uint32_t i = 0; i < meters->count; i++) {
		struct meter *meter = &meters->items[i];
		for (uint32_t k = 0; k < METER_SLOTS / 2; k++) {
			meter->amounts[k] = meter->amounts[2 * k] + meter->amounts[2 * k + 1];
			meter->covered[k] = meter->covered[2 * k] + meter->covered[2 * k + 1];
		}
		memset(meter->amounts + METER_SLOTS / 2, 0, sizeof meter->amounts / 2);
		memset(meter->covered + METER_SLOTS / 2, 0, sizeof meter->covered / 2);
	}
}

/* Drops the oldest slots. */
static void shift_slots(struct meters *meters, uint64_t by)
{
	meters->begin += by * meters->width;
	size_t dropped = by < METER_SLOTS ? (size_t)by : METER_SLOTS, kept = METER_SLOTS - dropped;
	for (uint32_t i = 0; i < meters->count; i++) {
		struct meter *meter = &meters->items[i];
		memmove(meter->amounts, meter->amounts + dropped, kept * sizeof *meter->amounts);
		memmove(meter->covered, meter->covered + dropped, kept * sizeof *meter->covered);
		memset(meter->amounts + kept, 0, dropped * sizeof *meter->amounts);
		memset(meter->covered + kept, 0, dropped * sizeof *meter->covered);
	}
}

/* Inserts empty slots before the first one. */
static void insert(struct meters *meters, size_t count)
{
	size_t kept = METER_SLOTS - count;
	meters->begin -= count * meters->width;
	for (uint32_t i = 0; i < meters->count; i++) {
		struct meter *meter = &meters->items[i];
		memmove(meter->amounts + count, meter->amounts, kept * sizeof *meter->amounts);
		memmove(meter->covered + count, meter->covered, kept * sizeof *meter->covered);
		memset(meter->amounts, 0, count * sizeof *meter->amounts);
		memset(meter->covered, 0, count * sizeof *meter->covered);
	}
}

/* The first records of several sources are not in order. A live run accepts only times that are slightly earlier. */
static void reach_back(struct meters *meters, uint64_t time)
{
	while (time < meters->begin) {
		uint64_t used = (meters->last - meters->begin) / meters->width + 1;
		uint64_t count = (meters->begin - time - 1) / meters->width + 1;
		if (used <= METER_SLOTS && count <= METER_SLOTS - used && meters->begin >= count * meters->width)
			insert(meters, (size_t)count);
		else if (meters->recorded && meters->width <= meters->begin)
			double_width(meters);
		else
			return;
	}
}

/* Makes room for a time. Returns false if the times of a damaged recording are too far apart, or without a width. */
static bool reach(struct meters *meters, uint64_t time)
{
	if (!meters->width)
		return false;
	if (!meters->begin)
		meters->begin = meters->last = time;
	reach_back(meters, time);
	if (time < meters->begin)
		return true;
	for (uint64_t slot; (slot = (time - meters->begin) / meters->width) >= METER_SLOTS;) {
		if (meters->recorded && meters->width > UINT64_MAX / 4)
			return false;
		if (meters->recorded)
			double_width(meters);
		else
			shift_slots(meters, slot - METER_SLOTS + METER_SLOTS / 4);
	}
	if (time > meters->last)
		meters->last = time;
	return true;
}

static void add_to_slots(struct meters *meters, struct meter *meter, uint64_t begin, uint64_t end, double amount)
{
	double length = (double)(end - begin);
	if (end <= meters->begin)
		return;
	uint64_t from = begin > meters->begin ? begin : meters->begin;
	for (uint64_t slot = (from - meters->begin) / meters->width; slot < METER_SLOTS && from < end; slot++) {
		uint64_t next = meters->begin + (slot + 1) * meters->width, to = next < end ? next : end;
		meter->amounts[slot] += amount * (double)(to - from) / length;
		meter->covered[slot] += (double)(to - from);
		from = to;
	}
}

void meters_add_busy(struct meters *meters, struct meter *meter, enum meter_kind kind, uint64_t begin, uint64_t end,
		     uint64_t busy)
{
	if (!meter || meter->kind > kind || begin >= end || !reach(meters, begin) || !reach(meters, end - 1))
		return;
	if (meter->kind < kind) {
		memset(meter->amounts, 0, sizeof meter->amounts);
		memset(meter->covered, 0, sizeof meter->covered);
		meter->kind = kind;
		meter->first = begin;
	}
	if (begin < meter->first)
		meter->first = begin;
	add_to_slots(meters, meter, begin, end, (double)busy);
}

static double limited(double percent)
{
	return percent > 100 ? 100 : percent;
}

static double percent_of(double value)
{
	return value > 0 ? limited(value) : 0;
}

/* Adds a gauge, whose value applies to the time since the previous one. */
static void add_gauge(struct meters *meters, struct meter *meter, uint64_t begin, uint64_t end, double value)
{
	if (meter->kind == METER_GAUGE)
		begin = meter->last_end;
	else if (begin >= end)
		begin = end > meters->width ? end - meters->width : 0;
	if (begin >= end)
		return;
	meters_add_busy(meters, meter, METER_GAUGE, begin, end, (uint64_t)((double)(end - begin) * value / 100));
	meter->last_end = end;
}

void meters_take_counter(struct meters *meters, const struct iaprof_counter *counter,
			 const struct iaprof_activity *activity, uint64_t end)
{
	static const char suffix[] = "utilization";
	size_t length = strlen(counter->name);
	if (!counter->count || counter->device == IAPROF_ACTIVITY_NONE || strcmp(counter->unit, "percent") != 0 ||
	    length < sizeof suffix - 1 || strcmp(counter->name + length - (sizeof suffix - 1), suffix) != 0)
		return;
	struct meter *meter = find_by_label(meters, iaprof_activity_device(activity, counter->device)->name, NULL);
	if (!meter || meter->counter_count >= counter->count)
		return;
	for (size_t i = 0; meters->recorded && i < counter->point_count; i++)
		add_gauge(meters, meter, counter->points[i].begin, counter->points[i].end,
			  percent_of(counter->points[i].mean));
	if (!meters->recorded || !counter->point_count)
		add_gauge(meters, meter, end, end, percent_of(counter->last));
	meter->counter_count = counter->count;
}

void meters_advance(struct meters *meters, uint64_t end)
{
	if (!meters->recorded)
		end -= end < LAG ? end : LAG;
	if (end && meters->begin && reach(meters, end - 1))
		meters->end = end;
}

uint32_t meters_slots(const struct meters *meters)
{
	if (!meters->begin || meters->end <= meters->begin)
		return 0;
	uint64_t slots = (meters->end - meters->begin) / meters->width;
	/* The last slot of a recording need not be full. */
	slots += meters->recorded && (meters->end - meters->begin) % meters->width;
	return slots < METER_SLOTS ? (uint32_t)slots : METER_SLOTS;
}

/* Returns the known time of a slot in ns, 0 if it is unknown, and how much of it was busy. */
static double slot_time(const struct meters *meters, const struct meter *meter, uint32_t slot, double *busy)
{
	uint64_t begin = meters->begin + slot * meters->width, end = begin + meters->width;
	bool is_idle = meter->kind == METER_BUSY && end > meter->first;
	*busy = 0;
	if (slot >= METER_SLOTS || (meter->covered[slot] <= 0 && !is_idle) || (meter->is_cpu && !meters->cpus))
		return 0;
	*busy = meter->amounts[slot];
	if (meter->kind == METER_GAUGE)
		return meter->covered[slot];
	if (meters->recorded && end > meters->end)
		end = meters->end;
	if (begin < meter->first)
		begin = meter->first;
	return begin < end ? (double)(end - begin) * (meter->is_cpu ? (double)meters->cpus : 1) : 0;
}

double meter_slots_mean(const struct meters *meters, const struct meter *meter, uint32_t from, uint32_t to)
{
	double all_busy = 0, all_time = 0, busy;
	for (uint32_t i = from; i < to; i++) {
		double time = slot_time(meters, meter, i, &busy);
		all_time += time;
		all_busy += time > 0 ? busy : 0;
	}
	return all_time > 0 ? limited(100 * all_busy / all_time) : NAN;
}

double meter_slot(const struct meters *meters, const struct meter *meter, uint32_t slot)
{
	return meter_slots_mean(meters, meter, slot, slot + 1);
}

double meter_now(const struct meters *meters, const struct meter *meter)
{
	uint32_t slots = meters_slots(meters);
	return slots ? meter_slot(meters, meter, slots - 1) : NAN;
}

double meter_mean(const struct meters *meters, const struct meter *meter)
{
	return meter_slots_mean(meters, meter, 0, meters_slots(meters));
}

const struct meter *meters_at(const struct meters *meters, uint32_t position)
{
	for (uint32_t i = 0; i < meters->count; i++)
		if (meters->items[i].is_cpu)
			return &meters->items[position == 0 ? i : position <= i ? position - 1 : position];
	return &meters->items[position];
}
