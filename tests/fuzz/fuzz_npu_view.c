/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the activity of a profile (jobs, calls, counters) and its JSON in the flame graph's page, from records
 * of a hostile capture. The input is records laid end to end; well-formed ones are taken. The activity must be
 * consistent and have every job and call, and the JSON must be well formed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bus/record_check.h"
#include "page_npu.h"
#include "base/saturating.h"
#include "profile/record_order.h"
#include "profile/run_activity.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Brackets that match, strings that end, and nothing else but what numbers are made of. */
static void check_json(const struct text *text)
{
	char open[64];
	size_t depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < text->size; i++) {
		char c = text->data[i];
		if (in_string) {
			check((unsigned char)c >= ' ');
			i += c == '\\';
			in_string = c != '"';
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			check(depth < sizeof open);
			open[depth++] = c;
		} else if (c == '}' || c == ']') {
			check(depth > 0 && open[--depth] == (c == '}' ? '{' : '['));
		} else {
			check(c && strchr(",:0123456789.e+-", c));
		}
	}
	check(!in_string && !depth);
}

/* The tables that a collector has for what is not samples. */
struct tables {
	struct intern *intern;
	struct process_table *processes;
	struct sampled_devices devices;
	struct call_tree calls;
	struct histograms histograms;
	struct findings findings;
	struct run_metadata metadata;
	struct run_activity activity;
	struct record_order order;
};

static void check_events(const struct iaprof_activity *content, const struct iaprof_track *track)
{
	uint64_t kept = track->slot_count ? track->count : 0;
	check(track->event_count <= TIMELINE_EVENTS_MAX && !(track->slot_count && track->event_count));
	for (size_t i = 0; i < track->event_count; i++) {
		const struct iaprof_event *event = &track->events[i];
		kept = saturating_add(kept, event->count);
		check(event->begin <= event->end && event->begin >= content->begin && event->end <= content->end);
		check(event->function == IAPROF_ACTIVITY_NONE || event->function < content->function_count);
	}
	check(kept == track->count);
}

static uint64_t counted(const struct iaprof_activity *content)
{
	uint64_t count = 0;
	for (size_t i = 0; i < content->track_count; i++) {
		const struct iaprof_track *track = iaprof_activity_track(content, i);
		check_events(content, track);
		check(track->device == IAPROF_ACTIVITY_NONE || track->device < content->device_count);
		check(track->process == IAPROF_ACTIVITY_NONE || track->process < content->process_count);
		count = saturating_add(count, track->count);
	}
	return count;
}

static void place(void *context, enum record_wait wait, const struct iaprof_record *record)
{
	struct run_activity *activity = context;
	if (record->type == IAPROF_RECORD_JOB)
		run_activity_place_job(activity, (const void *)record);
	else
		run_activity_place_call(activity, (const void *)record);
}

static void take(struct tables *tables, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		intern_define_string(tables->intern, (const void *)record);
		break;
	case IAPROF_RECORD_SOURCE:
		run_metadata_take_source(&tables->metadata, (const void *)record);
		break;
	case IAPROF_RECORD_PROCESS:
		process_table_event(tables->processes, (const void *)record,
				    intern_text(tables->intern, ((const struct iaprof_record_process *)record)->name),
				    false);
		break;
	case IAPROF_RECORD_DEVICE:
		sampled_devices_take(&tables->devices, (const void *)record);
		break;
	case IAPROF_RECORD_CALL:
		record_order_add(&tables->order, WAIT_PROCESSES, record);
		break;
	case IAPROF_RECORD_CALL_FUNCTION:
		call_tree_take_function(&tables->calls, (const void *)record);
		break;
	case IAPROF_RECORD_CALL_NODE:
		call_tree_take_node(&tables->calls, (const void *)record);
		break;
	case IAPROF_RECORD_HISTOGRAM:
		histograms_take(&tables->histograms, (const void *)record);
		break;
	case IAPROF_RECORD_JOB:
		histograms_take_job(&tables->histograms, (const void *)record);
		record_order_add(&tables->order, WAIT_PROCESSES, record);
		break;
	case IAPROF_RECORD_COUNTER:
		check(counters_take(&tables->activity.counters, (const void *)record));
		break;
	case IAPROF_RECORD_COUNTER_VALUE:
		check(counters_take_value(&tables->activity.counters, (const void *)record));
		break;
	case IAPROF_RECORD_FINDING:
		findings_take(&tables->findings, (const void *)record);
		break;
	case IAPROF_RECORD_SYNC:
		record_order_release(&tables->order, WAIT_PROCESSES, record->time);
		break;
	default:
		break;
	}
}

/* Takes the records up to the first that is malformed; *sent: jobs and calls. */
static void take_all(struct tables *tables, const uint64_t *records, size_t size, uint64_t *sent)
{
	for (size_t at = 0; at < size;) {
		const struct iaprof_record *record = (const void *)((const char *)records + at);
		struct error error;
		if (record_check(record, size - at, &error))
			return;
		if (record->type == IAPROF_RECORD_JOB)
			*sent = saturating_add(*sent, 1);
		else if (record->type == IAPROF_RECORD_CALL)
			*sent = saturating_add(*sent, ((const struct iaprof_record_call *)record)->count);
		take(tables, record);
		at += record->size;
	}
}

static void tables_init(struct tables *tables)
{
	tables->intern = intern_new(NULL);
	tables->processes = process_table_new();
	check(tables->intern && tables->processes);
	tables->devices.intern = tables->calls.intern = tables->histograms.intern = tables->findings.intern =
		tables->metadata.intern = tables->intern;
	tables->activity = (struct run_activity){ .intern = tables->intern,
						  .processes = tables->processes,
						  .devices = &tables->devices,
						  .calls = &tables->calls,
						  .histograms = &tables->histograms,
						  .findings = &tables->findings,
						  .metadata = &tables->metadata };
	tables->order = (struct record_order){ .pass = place, .context = &tables->activity };
}

static void tables_free(struct tables *tables)
{
	record_order_free(&tables->order);
	run_activity_free(&tables->activity);
	run_metadata_free(&tables->metadata);
	findings_free(&tables->findings);
	histograms_free(&tables->histograms);
	call_tree_free(&tables->calls);
	sampled_devices_free(&tables->devices);
	process_table_free(tables->processes);
	intern_free(tables->intern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tables tables = { 0 };
	struct text text = { 0 };
	uint64_t sent = 0;
	/* Records have to be where their members are aligned. */
	uint64_t *records = malloc(size + 8);
	check(records != NULL);
	memcpy(records, data, size);
	tables_init(&tables);
	/* Of some inputs next to nothing is kept one by one: then they reach the slots. */
	if (size && data[size - 1] % 2)
		tables.activity.timeline.events_max = 1 + data[size - 1] / 2;
	take_all(&tables, records, size, &sent);
	record_order_release(&tables.order, WAIT_PROCESSES, UINT64_MAX);
	check(!tables.activity.out_of_memory);
	struct snapshot_memory memory = { 0 };
	struct iaprof_activity content;
	run_activity_copy(&tables.activity, true, &memory, &content);
	check(!memory.failed);
	check(saturating_add(counted(&content), content.calls_dropped) == sent);
	const struct iaprof_profile profile = {
		.size = sizeof profile, .begin = 1000, .end = 2000, .activity = &content
	};
	page_npu_append(&text, &profile);
	check(!text.failed);
	check_json(&text);
	text_free(&text);
	snapshot_memory_free(&memory);
	tables_free(&tables);
	free(records);
	return 0;
}
