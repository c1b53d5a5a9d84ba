/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the activity of a run for sinks, which read it on their own threads: see run_activity.h. */
#include "profile/run_activity.h"

/* The memory of the snapshot, and the content that is copied into it. */
struct copying {
	struct snapshot_memory *memory;
	struct iaprof_activity *content;
};

/* Allocates an array and adds it to the content. Returns NULL when out of memory. */
#define ADD_SECTION(copying, type, name, array, count)                                                                 \
	({                                                                                                             \
		struct type *section_ = snapshot_allocate((copying)->memory, (count), sizeof *section_);               \
		(copying)->content->array = section_;                                                                  \
		(copying)->content->name##_count = (count);                                                            \
		(copying)->content->name##_size = sizeof *section_;                                                    \
		section_;                                                                                              \
	})

static const char *source_name(const struct run_activity *activity, uint32_t source)
{
	return source ? run_metadata_source_name(activity->metadata, (uint16_t)source) : "";
}

/* Returns the index of a device among the announced ones. */
static uint32_t device_index(const struct run_activity *activity, uint32_t source, uint32_t id)
{
	const struct sampled_devices *devices = activity->devices;
	const struct sampled_device *wanted = id ? sampled_devices_get(devices, (uint16_t)source, id) : NULL;
	uint32_t index = 0;
	if (!wanted || !wanted->is_announced)
		return IAPROF_ACTIVITY_NONE;
	for (const struct sampled_device *device = devices->items.items; device < wanted; device++)
		index += device->is_announced;
	return index;
}

static void copy_devices(const struct copying *copying, const struct run_activity *activity)
{
	const struct sampled_devices *devices = activity->devices;
	struct iaprof_device *copies = ADD_SECTION(copying, iaprof_device, device, devices, devices->items.count);
	copying->content->device_count = 0;
	for (size_t i = 0; copies && i < devices->items.count; i++) {
		const struct sampled_device *device = &devices->items.items[i];
		if (device->is_announced)
			copies[copying->content->device_count++] =
				(struct iaprof_device){ .source = source_name(activity, device->source),
							.name = device->samples.name,
							.address = device->samples.address,
							.kind = device->kind };
	}
}

static void copy_processes(const struct copying *copying, const struct run_activity *activity)
{
	size_t count = activity->used.count;
	struct iaprof_process *copies = ADD_SECTION(copying, iaprof_process, process, processes, count);
	for (size_t i = 0; copies && i < count; i++) {
		const struct activity_process *used = &activity->used.items[i];
		/* The process table may release its texts before sinks have read them. */
		copies[i] = (struct iaprof_process){
			.name = snapshot_copy(copying->memory, used->name, strlen(used->name) + 1, 1),
			.pid = used->pid,
		};
	}
}

static void copy_functions(const struct copying *copying, const struct run_activity *activity)
{
	size_t count = activity->calls->functions.count;
	struct iaprof_call_function *copies = ADD_SECTION(copying, iaprof_call_function, function, functions, count);
	for (size_t i = 0; copies && i < count; i++) {
		const struct call_function *function = &activity->calls->functions.items[i];
		copies[i] = (struct iaprof_call_function){ .source = source_name(activity, function->key.source),
							   .name = function->name,
							   .family = function->family,
							   .kind = function->kind,
							   .count = function->sums.count,
							   .duration = function->sums.duration,
							   .self_duration = function->sums.self_duration };
	}
}

static void copy_nodes(const struct copying *copying, const struct run_activity *activity)
{
	size_t count = activity->calls->nodes.count;
	struct iaprof_call_node *copies = ADD_SECTION(copying, iaprof_call_node, node, nodes, count);
	for (size_t i = 0; copies && i < count; i++) {
		const struct call_node *node = &activity->calls->nodes.items[i];
		copies[i] = (struct iaprof_call_node){ .parent = node->parent,
						       .function = node->function,
						       .depth = node->depth,
						       .count = node->sums.count,
						       .duration = node->sums.duration,
						       .self_duration = node->sums.self_duration };
	}
}

static void copy_histograms(const struct copying *copying, const struct run_activity *activity)
{
	size_t count = activity->histograms->items.count, size = sizeof activity->histograms->items.items->buckets;
	struct iaprof_histogram *copies = ADD_SECTION(copying, iaprof_histogram, histogram, histograms, count);
	uint64_t *buckets = snapshot_allocate(copying->memory, count, size);
	for (size_t i = 0; !copying->memory->failed && i < count; i++, buckets += IAPROF_HISTOGRAM_BUCKET_COUNT_MAX) {
		const struct histogram *histogram = &activity->histograms->items.items[i];
		memcpy(buckets, histogram->buckets, size);
		copies[i] = (struct iaprof_histogram){ .source = source_name(activity, histogram->source),
						       .name = histogram->name,
						       .unit = histogram->unit,
						       .count = histogram->count,
						       .sum = histogram->sum,
						       .maximum = histogram->maximum,
						       .buckets = buckets };
	}
}

static void copy_findings(const struct copying *copying, const struct run_activity *activity)
{
	size_t count = activity->findings->items.count;
	struct iaprof_finding *copies = ADD_SECTION(copying, iaprof_finding, finding, findings, count);
	for (size_t i = 0; copies && i < count; i++) {
		const struct finding *finding = &activity->findings->items.items[i];
		copies[i] = (struct iaprof_finding){ .source = source_name(activity, finding->source),
						     .name = finding->name,
						     .text = finding->text,
						     .severity = finding->severity,
						     .pid = finding->pid,
						     .count = finding->count,
						     .value = finding->value,
						     .threshold = finding->threshold };
	}
}

static void copy_counters(const struct copying *copying, const struct run_activity *activity, bool timeline)
{
	size_t count = activity->counters.items.count, point_count = 0;
	for (size_t i = 0; timeline && i < count; i++)
		point_count += activity->counters.items.items[i].points.count;
	struct iaprof_counter *copies = ADD_SECTION(copying, iaprof_counter, counter, counters, count);
	struct iaprof_counter_point *points = snapshot_allocate(copying->memory, point_count, sizeof *points);
	for (size_t i = 0; !copying->memory->failed && i < count; i++) {
		const struct counter *counter = &activity->counters.items.items[i];
		copies[i] = (struct iaprof_counter){ .source = source_name(activity, counter->source),
						     .name = intern_text(activity->intern, counter->name),
						     .unit = intern_text(activity->intern, counter->unit),
						     .kind = counter->kind,
						     .device = device_index(activity, counter->source, counter->device),
						     .values_per_point = counter->values_per_point,
						     .points = points,
						     .point_count = timeline ? counter->points.count : 0,
						     .count = counter->count,
						     .last = counter->last,
						     .engine = intern_text(activity->intern, counter->engine),
						     .labels = intern_text(activity->intern, counter->labels),
						     .pid = counter->pid };
		for (size_t k = 0; k < copies[i].point_count; k++)
			*points++ = counter->points.items[k];
	}
}

static bool is_used(const struct slot *slot)
{
	return slot->count || slot->busy || slot->waiting;
}

static size_t slot_count(const struct track *track)
{
	size_t count = 0;
	for (size_t i = 0; track->slots && i < TIMELINE_SLOT_COUNT; i++)
		count += is_used(&track->slots[i]);
	return count;
}

/* Returns the position after the last copy. */
static struct iaprof_track_slot *copy_slots(struct iaprof_track_slot *copies, const struct timeline *timeline,
					    const struct track *track)
{
	for (size_t i = 0; track->slots && i < TIMELINE_SLOT_COUNT; i++)
		if (is_used(&track->slots[i]))
			*copies++ = (struct iaprof_track_slot){ .number = timeline->first_slot + i,
								.count = track->slots[i].count,
								.busy = track->slots[i].busy,
								.waiting = track->slots[i].waiting,
								.aborted = track->slots[i].aborted };
	return copies;
}

static void copy_tracks(const struct copying *copying, const struct run_activity *activity)
{
	const struct timeline *timeline = &activity->timeline;
	size_t count = timeline->tracks.count, event_count = 0, slots_used = 0;
	for (size_t i = 0; i < count; i++) {
		event_count += timeline->tracks.items[i].events.count;
		slots_used += slot_count(&timeline->tracks.items[i]);
	}
	struct iaprof_track *copies = ADD_SECTION(copying, iaprof_track, track, tracks, count);
	struct iaprof_event *events = snapshot_allocate(copying->memory, event_count, sizeof *events);
	const char **threads = snapshot_allocate(copying->memory, event_count, sizeof *threads);
	struct iaprof_track_slot *slots = snapshot_allocate(copying->memory, slots_used, sizeof *slots);
	for (size_t i = 0; !copying->memory->failed && i < count; i++) {
		const struct track *track = &timeline->tracks.items[i];
		copies[i] =
			(struct iaprof_track){ .kind = track->key.kind,
					       .device = device_index(activity, track->key.source, track->key.device),
					       .process = track->key.process,
					       .source = source_name(activity, track->key.source),
					       .name = intern_text(activity->intern, track->key.name),
					       .count = track->count,
					       .busy = track->busy,
					       .waiting = track->waiting,
					       .aborted = track->aborted,
					       .in_flight = track->in_flight,
					       .events = events,
					       .event_count = track->events.count,
					       .slots = slots,
					       .threads = threads };
		for (size_t k = 0; k < track->events.count; k++) {
			const struct timeline_event *event = &track->events.items[k];
			*events++ = event->event;
			*threads++ = event->thread_name ? intern_text(activity->intern, event->thread_name) : NULL;
		}
		slots = copy_slots(slots, timeline, track);
		copies[i].slot_count = (size_t)(slots - copies[i].slots);
	}
	if (timeline->has_time) {
		copying->content->begin = timeline->begin;
		copying->content->end = timeline->end;
	}
	copying->content->slot_width = timeline_slot_width(timeline);
}

void run_activity_copy(const struct run_activity *activity, bool timeline, struct snapshot_memory *memory,
		       struct iaprof_activity *content)
{
	const struct copying copying = { .memory = memory, .content = content };
	*content = (struct iaprof_activity){ .size = sizeof *content,
					     .begin = UINT64_MAX,
					     .jobs_done = activity->histograms->jobs_done,
					     .jobs_aborted = activity->histograms->jobs_aborted,
					     .jobs_in_flight = activity->histograms->jobs_in_flight,
					     .tracks_dropped = activity->timeline.unplaced,
					     .calls_dropped = activity->calls_unplaced,
					     .histogram_dropped = activity->histograms->dropped,
					     .counter_dropped = activity->counters.dropped,
					     .findings_dropped = activity->findings->dropped };
	copy_devices(&copying, activity);
	copy_processes(&copying, activity);
	copy_functions(&copying, activity);
	copy_nodes(&copying, activity);
	copy_histograms(&copying, activity);
	copy_findings(&copying, activity);
	copy_counters(&copying, activity, timeline);
	if (timeline)
		copy_tracks(&copying, activity);
}
