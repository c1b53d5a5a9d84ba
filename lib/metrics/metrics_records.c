/* SPDX-License-Identifier: Apache-2.0 */
/* Use of devices, from records: profiles do not have it. See metrics.h. */
#include <string.h>

#include "base/saturating.h"
#include "metrics/metrics.h"
#include "process/process_cgroup.h"
#include "stacks/value_label.h"

/* Counters of sources, by their names. */
#define KERNEL_SIDE_TIME "kernel-side-time"
#define KERNEL_SIDE UINT32_MAX
/* The label of the core's counters of a sink. */
#define SINK_LABEL "sink="

#define DEVICE_IDS_MAX 256u
#define PROCESSES_MAX 4096u

static struct label_text name_of(const struct metrics *metrics, uint32_t string)
{
	return label_of(recent_strings_text(&metrics->strings, string));
}

/* Returns NULL if there are too many sources, or when out of memory. */
static struct metric_source *find_source(struct metrics *metrics, uint16_t number)
{
	for (size_t i = 0; i < metrics->sources.count; i++)
		if (metrics->sources.items[i].number == number)
			return &metrics->sources.items[i];
	if (metrics->sources.count >= METRIC_SOURCES_MAX ||
	    !array_push(&metrics->sources, (struct metric_source){ .number = number }))
		return NULL;
	return &metrics->sources.items[metrics->sources.count - 1];
}

static void take_source(struct metrics *metrics, const struct iaprof_record_source *record)
{
	struct metric_source *source =
		record->number <= UINT16_MAX ? find_source(metrics, (uint16_t)record->number) : NULL;
	metrics->dropped += !source;
	if (source)
		source->name = name_of(metrics, record->name);
}

static struct metric_device_id *find_device_id(struct metrics *metrics, uint16_t source, uint32_t id)
{
	for (size_t i = 0; i < metrics->device_ids.count; i++)
		if (metrics->device_ids.items[i].source == source && metrics->device_ids.items[i].id == id)
			return &metrics->device_ids.items[i];
	return NULL;
}

static struct metric_device *find_device(struct metrics *metrics, uint16_t source, uint32_t id)
{
	const struct metric_device_id *known = find_device_id(metrics, source, id);
	return known ? &metrics->devices[known->device] : NULL;
}

/* Returns the index of the device with these labels; METRIC_DEVICES_MAX if there are too many. */
static uint32_t add_device(struct metrics *metrics, const struct metric_device *wanted)
{
	for (uint32_t i = 0; i < metrics->device_count; i++) {
		const struct metric_device *device = &metrics->devices[i];
		if (label_is_equal(&device->source, &wanted->source) && label_is_equal(&device->name, &wanted->name) &&
		    label_is_equal(&device->address, &wanted->address))
			return i;
	}
	if (metrics->device_count == METRIC_DEVICES_MAX)
		return METRIC_DEVICES_MAX;
	metrics->devices[metrics->device_count] = *wanted;
	return metrics->device_count++;
}

static void take_device(struct metrics *metrics, const struct iaprof_record_device *record)
{
	const struct metric_source *source = find_source(metrics, record->header.source);
	struct metric_device device = { .source = source ? source->name : label_of(""),
					.name = name_of(metrics, record->name),
					.address = name_of(metrics, record->address),
					.kind = record->header.size >= sizeof *record ? record->kind
										      : IAPROF_DEVICE_UNKNOWN };
	struct metric_device_id *known = find_device_id(metrics, record->header.source, record->id);
	struct metric_device_id added = { record->header.source, record->id, add_device(metrics, &device) };
	if (added.device < METRIC_DEVICES_MAX && known)
		*known = added;
	else if (added.device == METRIC_DEVICES_MAX || metrics->device_ids.count >= DEVICE_IDS_MAX ||
		 !array_push(&metrics->device_ids, added))
		metrics->dropped++;
}

/* Finds the column of a container; a new one replaces one that was idle for long. */
static uint32_t find_container(struct metrics *metrics, const char *name, uint64_t now)
{
	struct metric_container wanted = { .name = label_of(name), .seen = now };
	uint32_t last = METRIC_CONTAINERS_MAX - 1, oldest = last;
	for (uint32_t i = 0; i < metrics->container_count; i++) {
		struct metric_container *known = &metrics->containers[i];
		if (label_is_equal(&known->name, &wanted.name)) {
			known->seen = now;
			return i;
		}
		if (i && (oldest == last || known->seen < metrics->containers[oldest].seen))
			oldest = i;
	}
	uint32_t column = metrics->container_count < last ? metrics->container_count++ : oldest;
	struct metric_container *place = &metrics->containers[column];
	if (column == oldest && (now < place->seen || now - place->seen < METRIC_CONTAINER_IDLE))
		return last;
	for (uint32_t i = 0; i < metrics->device_count; i++)
		metrics->devices[i].busy[column] = 0;
	*place = wanted;
	return column;
}

static uint32_t container_of_process(struct metrics *metrics, uint32_t pid, uint64_t now)
{
	char container[CONTAINER_NAME_SIZE], pod[POD_UID_SIZE];
	if (!pid || metrics->recorded)
		return 0;
	hash_index_each (probe, &metrics->process_index, hash_u64(pid))
		if (metrics->processes.items[probe.position].pid == pid)
			return metrics->processes.items[probe.position].container;
	if (metrics->processes.count >= PROCESSES_MAX)
		return METRIC_CONTAINERS_MAX - 1;
	process_cgroup_read(pid, container, pod);
	struct metric_process process = { pid, find_container(metrics, container, now) };
	hash_index_push(&metrics->process_index, hash_u64(pid), &metrics->processes, process);
	return process.container;
}

static void add_busy(struct metrics *metrics, struct metric_device *device, enum metric_evidence evidence, uint32_t pid,
		     uint64_t busy, uint64_t now)
{
	if (evidence < device->evidence)
		return;
	device->evidence = evidence;
	saturating_increase(&device->busy[container_of_process(metrics, pid, now)], busy);
}

static void take_activity(struct metrics *metrics, const struct iaprof_record_device_activity *record)
{
	struct metric_device *device = find_device(metrics, record->header.source, record->device);
	bool is_exact = record->kind == IAPROF_ACTIVITY_SCHEDULER;
	metrics->dropped += !device;
	if (device)
		add_busy(metrics, device, is_exact ? EVIDENCE_SCHEDULER : EVIDENCE_STATISTICS, record->pid,
			 record->busy, record->header.time);
}

/* Jobs of a device run one after the other, unless a record states when they started. */
static void take_job(struct metrics *metrics, const struct iaprof_record_job *record)
{
	struct metric_device *device = find_device(metrics, record->header.source, record->device);
	uint64_t begin = record->started ? record->started : record->queued ? record->queued : record->submitted;
	uint64_t end = record->header.time;
	metrics->dropped += !device && record->device;
	if (!device || record->state == IAPROF_JOB_IN_FLIGHT || iaprof_record_job_copy(record))
		return;
	*(record->state == IAPROF_JOB_ABORTED ? &device->jobs_aborted : &device->jobs_done) += 1;
	if (!begin || begin >= end || iaprof_record_job_is_estimate(record))
		return;
	if (begin < device->last_end)
		begin = device->last_end;
	if (begin >= end)
		return;
	device->last_end = end;
	add_busy(metrics, device, EVIDENCE_JOBS, record->pid, end - begin, end);
}

static void take_reason(struct metrics *metrics, const struct iaprof_record_stall_reason *record)
{
	struct metric_source *source = find_source(metrics, record->header.source);
	metrics->dropped += !source;
	if (source && record->id < METRIC_REASONS_MAX)
		source->reasons[record->id] = name_of(metrics, record->name);
}

static void take_stalls(struct metrics *metrics, const struct iaprof_record_stall_sample *record)
{
	const uint64_t *counts = iaprof_record_stall_sample_counts(record);
	struct metric_device *device = find_device(metrics, record->header.source, record->device);
	const struct metric_source *source = find_source(metrics, record->header.source);
	metrics->dropped += !device;
	for (uint32_t i = 0; device && i < record->reason_count && i < METRIC_REASONS_MAX; i++) {
		if (!counts[i])
			continue;
		saturating_increase(&device->stalls[i], counts[i]);
		if (!*device->reasons[i].text && source)
			device->reasons[i] = source->reasons[i];
	}
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);
	return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* Counters by the end of their names, and their units. */
static const struct {
	const char *name, *unit;
	double scale, maximum;
} readings[READING_COUNT] = {
	[READING_UTILIZATION] = { "utilization", "percent", 0.01, 1 },
	[READING_MEMORY] = { "memory", "bytes", 1, 1e18 },
	[READING_POWER] = { "power", "watts", 1, 1e9 },
};

/* Counters of the core: its records have no source. */
static uint32_t core_reading_of(uint16_t source, const char *name)
{
	static const char *const names[CORE_READING_COUNT] = {
		[CORE_BUDGET] = "cpu-budget", [CORE_USE] = "cpu-use", [CORE_RATE] = "sampling-rate"
	};
	uint32_t which = 0;
	while (which < CORE_READING_COUNT && (source || strcmp(name, names[which]) != 0))
		which++;
	return which;
}

/* As core_reading_of(), of what became of the items of a sink. */
static uint32_t sink_count_of(uint16_t source, const char *name)
{
	static const char *const names[SINK_COUNT_COUNT] = {
		[SINK_DELIVERED] = "sink-delivered", [SINK_REFUSED] = "sink-refused",
		[SINK_DROPPED] = "sink-dropped",     [SINK_WAITING] = "sink-waiting",
		[SINK_STORED] = "sink-stored",       [SINK_PROFILE_END] = "sink-profile-end",
		[SINK_BUSY] = "sink-busy",           [SINK_QUEUED] = "sink-queued"
	};
	uint32_t which = 0;
	while (which < SINK_COUNT_COUNT && (source || strcmp(name, names[which]) != 0))
		which++;
	return which;
}

/* Returns the index of the sink of labels; METRIC_SINKS_MAX if there are too many, or when out of memory. */
static uint32_t find_sink(struct metrics *metrics, const char *labels)
{
	size_t length = strlen(SINK_LABEL);
	struct metric_sink wanted = { .name = label_of(strncmp(labels, SINK_LABEL, length) ? "" : labels + length) };
	for (uint32_t i = 0; i < metrics->sinks.count; i++)
		if (label_is_equal(&metrics->sinks.items[i].name, &wanted.name))
			return i;
	bool is_kept = metrics->sinks.count < METRIC_SINKS_MAX && array_push(&metrics->sinks, wanted);
	return is_kept ? (uint32_t)metrics->sinks.count - 1 : METRIC_SINKS_MAX;
}

static enum device_reading reading_of(const char *name, const char *unit)
{
	uint32_t what = 0;
	while (what < READING_COUNT && (strcmp(unit, readings[what].unit) != 0 || !ends_in(name, readings[what].name)))
		what++;
	return (enum device_reading)what;
}

/* Returns the index of a reading; METRIC_READINGS_MAX if there are too many, or when out of memory. */
static uint32_t find_reading(struct metrics *metrics, uint32_t device, enum device_reading what, const char *name,
			     const char *engine)
{
	struct metric_reading wanted = { .device = device, .what = what, .engine = label_of(engine) };
	uint32_t kind = metrics->devices[device].kind;
	wanted.is_gpu = (kind ? kind : device_kind_of_name(name)) == IAPROF_DEVICE_GPU;
	for (uint32_t i = 0; i < metrics->readings.count; i++) {
		const struct metric_reading *known = &metrics->readings.items[i];
		if (known->device == device && known->what == what && label_is_equal(&known->engine, &wanted.engine))
			return i;
	}
	bool is_kept = metrics->readings.count < METRIC_READINGS_MAX && array_push(&metrics->readings, wanted);
	return is_kept ? (uint32_t)metrics->readings.count - 1 : METRIC_READINGS_MAX;
}

/* Keeps the readings of devices, without those of single processes, and the cost of BPF programs. */
static void take_counter(struct metrics *metrics, const struct iaprof_record_counter *record)
{
	const char *name = recent_strings_text(&metrics->strings, record->name);
	const char *unit = recent_strings_text(&metrics->strings, record->unit);
	bool has_engine = record->header.size >= offsetof(struct iaprof_record_counter, pad_3);
	const struct metric_device_id *device = find_device_id(metrics, record->header.source, record->device);
	struct metric_counter counter = { record->header.source, record->id, KERNEL_SIDE, 0 };
	uint32_t core = core_reading_of(record->header.source, name), of_sink;
	if (core < CORE_READING_COUNT) {
		counter.reading = METRIC_CORE_READING + core;
	} else if (has_engine && (of_sink = sink_count_of(record->header.source, name)) < SINK_COUNT_COUNT) {
		uint32_t sink = find_sink(metrics, recent_strings_text(&metrics->strings, record->labels));
		counter.reading = sink == METRIC_SINKS_MAX ? METRIC_READINGS_MAX
							   : METRIC_SINK_COUNT + sink * SINK_COUNT_COUNT + of_sink;
	} else if (strcmp(name, KERNEL_SIDE_TIME) != 0) {
		enum device_reading what = reading_of(name, unit);
		if (!device || what == READING_COUNT || record->kind != IAPROF_COUNTER_GAUGE ||
		    (has_engine && (record->pid || record->labels)))
			return;
		const char *engine = has_engine ? recent_strings_text(&metrics->strings, record->engine) : "";
		counter.reading = find_reading(metrics, device->device, what, name, engine);
	}
	for (size_t i = 0; i < metrics->counters.count; i++)
		if (metrics->counters.items[i].source == counter.source && metrics->counters.items[i].id == counter.id)
			return;
	if (counter.reading == METRIC_READINGS_MAX || metrics->counters.count >= METRIC_COUNTERS_MAX ||
	    !array_push(&metrics->counters, counter))
		metrics->dropped++;
}

static void take_counter_value(struct metrics *metrics, const struct iaprof_record_counter_value *record)
{
	for (size_t i = 0; i < metrics->counters.count; i++) {
		struct metric_counter *counter = &metrics->counters.items[i];
		if (counter->source != record->header.source || counter->id != record->counter)
			continue;
		if (counter->reading == KERNEL_SIDE) {
			counter->kernel_side = record->value;
			return;
		}
		if (counter->reading >= METRIC_SINK_COUNT) {
			uint32_t place = counter->reading - METRIC_SINK_COUNT;
			struct metric_sink *sink = &metrics->sinks.items[place / SINK_COUNT_COUNT];
			sink->counts[place % SINK_COUNT_COUNT] = record->value > 0 ? (uint64_t)record->value : 0;
			sink->is_known[place % SINK_COUNT_COUNT] = true;
			return;
		}
		if (counter->reading >= METRIC_CORE_READING) {
			metrics->core_readings[counter->reading - METRIC_CORE_READING] = record->value;
			metrics->has_core_reading[counter->reading - METRIC_CORE_READING] = true;
			return;
		}
		struct metric_reading *reading = &metrics->readings.items[counter->reading];
		double value = record->value * readings[reading->what].scale, maximum = readings[reading->what].maximum;
		reading->value = value < 0 ? 0 : value > maximum ? maximum : value;
		reading->is_known = true;
		return;
	}
}

void metrics_take_record(struct metrics *metrics, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		recent_strings_take(&metrics->strings, (const struct iaprof_record_string *)record);
		break;
	case IAPROF_RECORD_SOURCE:
		take_source(metrics, (const struct iaprof_record_source *)record);
		break;
	case IAPROF_RECORD_DEVICE:
		take_device(metrics, (const struct iaprof_record_device *)record);
		break;
	case IAPROF_RECORD_DEVICE_ACTIVITY:
		take_activity(metrics, (const struct iaprof_record_device_activity *)record);
		break;
	case IAPROF_RECORD_JOB:
		take_job(metrics, (const struct iaprof_record_job *)record);
		break;
	case IAPROF_RECORD_STALL_REASON:
		take_reason(metrics, (const struct iaprof_record_stall_reason *)record);
		break;
	case IAPROF_RECORD_STALL_SAMPLE:
		take_stalls(metrics, (const struct iaprof_record_stall_sample *)record);
		break;
	case IAPROF_RECORD_COUNTER:
		take_counter(metrics, (const struct iaprof_record_counter *)record);
		break;
	case IAPROF_RECORD_COUNTER_VALUE:
		take_counter_value(metrics, (const struct iaprof_record_counter_value *)record);
		break;
	default:
		break;
	}
}
