/* SPDX-License-Identifier: Apache-2.0 */
/* See page_npu.h. */
#include "page_npu.h"

#include <inttypes.h>

struct writing {
	struct text *text;
	const struct npu_events *events;
	uint64_t origin; /* what times are told from */
};

static void append_text(const struct writing *writing, const char *key, const char *value)
{
	text_append_format(writing->text, "\"%s\":", key);
	text_append_json(writing->text, value);
	text_append_string(writing->text, ",");
}

static void append_string(const struct writing *writing, const char *key, uint32_t id)
{
	append_text(writing, key, definitions_text(writing->events->definitions, id));
}

static void append_source(const struct writing *writing, uint32_t number)
{
	const struct iaprof_record_source *source =
		definitions_find(writing->events->definitions, IAPROF_RECORD_SOURCE, 0, number);
	append_string(writing, "source", source ? source->name : 0);
}

static void append_processes(const struct writing *writing)
{
	const struct process_names *processes = &writing->events->processes;
	text_append_string(writing->text, "\"processes\":[");
	for (uint32_t i = 0; i < processes->used_count; i++) {
		text_append_string(writing->text, i ? ",{" : "{");
		append_string(writing, "name", processes->used[i].name);
		text_append_format(writing->text, "\"pid\":%" PRIu32 "}", processes->used[i].pid);
	}
	text_append_string(writing->text, "],");
}

/* All of them: calls refer to them by position. */
static void append_functions(const struct writing *writing)
{
	const struct call_sums *calls = &writing->events->calls;
	text_append_string(writing->text, "\"functions\":[");
	for (uint32_t i = 0; i < calls->function_count; i++) {
		const struct called_function *function = &calls->functions[i];
		text_append_string(writing->text, i ? ",{" : "{");
		append_string(writing, "name", function->name);
		append_string(writing, "family", function->family);
		text_append_format(writing->text,
				   "\"kind\":%" PRIu32 ",\"count\":%" PRIu64 ",\"duration\":%" PRIu64
				   ",\"own\":%" PRIu64 "}",
				   function->kind, function->count, function->duration, function->self_duration);
	}
	text_append_string(writing->text, "],");
}

/* A time that may not be known, after a comma. */
static void append_known(const struct writing *writing, uint64_t time)
{
	if (time && time >= writing->origin)
		text_append_format(writing->text, ",%" PRIu64, time - writing->origin);
	else
		text_append_string(writing->text, ",-1");
}

static void append_job(const struct writing *writing, const struct moment *job)
{
	text_append_format(writing->text, "[%" PRIu64, job->begin - writing->origin);
	append_known(writing, job->queued);
	append_known(writing, job->started);
	text_append_format(writing->text,
			   ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
			   ",%" PRIu32 "]",
			   job->end - writing->origin, job->waiting, job->busy, job->id, job->context, job->tid,
			   job->state, job->status);
}

static void append_call(const struct writing *writing, const struct moment *call)
{
	text_append_format(writing->text,
			   "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRId64
			   ",%" PRIu32 "]",
			   call->begin - writing->origin, call->end - writing->origin, call->count, call->busy,
			   call->duration, call->tid, call->result, call->function);
}

static void append_slots(const struct writing *writing, const struct track *track)
{
	const char *between = "";
	text_append_string(writing->text, ",\"slots\":[");
	for (uint32_t i = 0; i < TIMELINE_SLOT_COUNT; i++) {
		const struct slot *slot = &track->slots[i];
		if (!slot->count && !slot->busy && !slot->waiting)
			continue;
		text_append_format(writing->text, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
				   between, i, slot->count, slot->busy, slot->waiting, slot->aborted);
		between = ",";
	}
	text_append_string(writing->text, "]}");
}

static void append_moments(const struct writing *writing, const struct track *track)
{
	bool are_jobs = track->key.kind == TRACK_JOBS;
	text_append_string(writing->text, are_jobs ? ",\"jobs\":[" : ",\"calls\":[");
	for (uint32_t i = 0; i < track->moment_count; i++) {
		text_append_string(writing->text, i ? "," : "");
		(are_jobs ? append_job : append_call)(writing, &track->moments[i]);
	}
	text_append_string(writing->text, "]}");
}

static void append_track(const struct writing *writing, const struct track *track)
{
	const struct iaprof_record_device *device = definitions_find(writing->events->definitions, IAPROF_RECORD_DEVICE,
								     (uint16_t)track->key.source, track->key.device);
	text_append_string(writing->text, "{");
	append_source(writing, track->key.source);
	append_string(writing, "device", device ? device->name : 0);
	append_string(writing, "address", device ? device->address : 0);
	append_string(writing, "name", track->key.name);
	text_append_format(
		writing->text, "\"kind\":%" PRIu32 ",\"process\":%" PRId64 ",\"count\":%" PRIu64 ",\"busy\":%" PRIu64,
		track->key.kind, track->key.process == TRACK_NO_PROCESS ? (int64_t)-1 : (int64_t)track->key.process,
		track->count, track->busy);
	text_append_format(writing->text, ",\"waiting\":%" PRIu64 ",\"aborted\":%" PRIu64 ",\"inFlight\":%" PRIu64,
			   track->waiting, track->aborted, track->in_flight);
	(track->slots ? append_slots : append_moments)(writing, track);
}

static void append_histogram(const struct writing *writing, const struct value_histogram *histogram)
{
	static const struct {
		const char *name;
		double part;
	} quantiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 } };
	append_source(writing, histogram->source);
	if (histogram->label) {
		append_text(writing, "name", histogram->label);
		append_text(writing, "unit", "nanoseconds");
	} else {
		append_string(writing, "name", histogram->name);
		append_string(writing, "unit", histogram->unit);
	}
	for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
		text_append_format(writing->text, "\"%s\":%" PRIu64 ",", quantiles[i].name,
				   value_histogram_quantile(histogram, quantiles[i].part));
	text_append_format(writing->text, "\"count\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"maximum\":%" PRIu64,
			   histogram->count, histogram->sum, histogram->maximum);
	text_append_string(writing->text, ",\"buckets\":[");
	unsigned last = IAPROF_HISTOGRAM_BUCKET_COUNT_MAX;
	while (last > 1 && !histogram->buckets[last - 1])
		last--;
	for (unsigned i = 0; i < last; i++)
		text_append_format(writing->text, "%s%" PRIu64, i ? "," : "", histogram->buckets[i]);
	text_append_string(writing->text, "]}");
}

static void append_lists(const struct writing *writing)
{
	const struct npu_events *events = writing->events;
	struct text *text = writing->text;
	text_append_string(text, "\"tracks\":[");
	for (uint32_t i = 0; i < events->timeline.track_count; i++) {
		text_append_string(text, i ? "," : "");
		append_track(writing, &events->timeline.tracks[i]);
	}
	text_append_string(text, "],\"histograms\":[");
	for (uint32_t i = 0; i < events->histograms.count; i++) {
		text_append_string(text, i ? ",{" : "{");
		append_histogram(writing, &events->histograms.items[i]);
	}
	text_append_string(text, "],\"gauges\":");
	gauges_append(text, &events->gauges, events->definitions, writing->origin);
}

/* What bounds have left out. */
static void append_dropped(const struct writing *writing)
{
	const struct npu_events *events = writing->events;
	text_append_format(writing->text,
			   "\"dropped\":{\"calls\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"values\":%" PRIu64
			   ",\"levels\":%" PRIu64 "},",
			   events->calls.unplaced, events->timeline.unplaced, events->histograms.dropped,
			   events->gauges.dropped);
}

static void append_npu(struct writing *writing, const struct iaprof_profile *profile)
{
	const struct npu_events *events = writing->events;
	const struct timeline *timeline = &events->timeline;
	uint64_t begin = timeline->has_time ? timeline->begin : UINT64_MAX;
	uint64_t end = timeline->has_time ? timeline->end : 0;
	gauges_widen(&events->gauges, &begin, &end);
	if (begin > end)
		begin = end = profile->begin;
	writing->origin = begin;
	/* A trace of another time, whose times are put about the begin of the run: its first one is the begin. */
	uint64_t since = begin > profile->begin ? begin - profile->begin : 0;
	text_append_format(writing->text, ",\"npu\":{\"begin\":%" PRIu64 ",\"length\":%" PRIu64 ",", since,
			   end - begin);
	if (timeline->has_slots)
		text_append_format(writing->text, "\"slotWidth\":%" PRIu64 ",\"slotBegin\":%" PRId64 ",",
				   timeline_slot_width(timeline),
				   (int64_t)(timeline->first_slot * timeline_slot_width(timeline) - begin));
	text_append_format(writing->text, "\"done\":%" PRIu64 ",\"aborted\":%" PRIu64 ",\"inFlight\":%" PRIu64 ",",
			   events->histograms.jobs_done, events->histograms.jobs_aborted,
			   events->histograms.jobs_in_flight);
	append_processes(writing);
	append_functions(writing);
	append_dropped(writing);
	append_lists(writing);
	text_append_string(writing->text, "}");
}

void page_npu_append(struct text *text, const struct npu_events *events, const struct iaprof_profile *profile)
{
	struct writing writing = { .text = text, .events = events };
	if (events->findings.count) {
		text_append_string(text, ",\"findings\":");
		finding_list_append(text, &events->findings, events->definitions);
	}
	if (npu_events_are_there(events))
		append_npu(&writing, profile);
}
