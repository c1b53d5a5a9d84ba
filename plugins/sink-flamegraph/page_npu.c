/* SPDX-License-Identifier: Apache-2.0 */
/* See page_npu.h. */
#include "page_npu.h"

#include <inttypes.h>

#include "page_tables.h"
#include "stacks/finding_text.h"
#include "text/table_row.h"

struct writing {
	struct text *text;
	const struct iaprof_activity *activity;
	uint64_t origin; /* times are relative to it */
	uint64_t first_slot;
};

/* "KEY":"VALUE", */
static void append_text(const struct writing *writing, const char *key, const char *value)
{
	text_append_format(writing->text, "\"%s\":", key);
	text_append_json(writing->text, value);
	text_append_string(writing->text, ",");
}

static void append_processes(const struct writing *writing)
{
	text_append_string(writing->text, "\"processes\":[");
	for (size_t i = 0; i < writing->activity->process_count; i++) {
		const struct iaprof_process *process = iaprof_activity_process(writing->activity, i);
		text_append_string(writing->text, i ? ",{" : "{");
		append_text(writing, "name", process->name);
		text_append_format(writing->text, "\"pid\":%" PRIu32 "}", process->pid);
	}
	text_append_string(writing->text, "],");
}

/* Appends all functions: calls refer to them by position. */
static void append_functions(const struct writing *writing)
{
	text_append_string(writing->text, "\"functions\":[");
	for (size_t i = 0; i < writing->activity->function_count; i++) {
		const struct iaprof_call_function *function = iaprof_activity_function(writing->activity, i);
		text_append_string(writing->text, i ? ",{" : "{");
		append_text(writing, "name", function->name);
		append_text(writing, "family", function->family);
		text_append_format(writing->text,
				   "\"kind\":%" PRIu32 ",\"count\":%" PRIu64 ",\"duration\":%" PRIu64
				   ",\"own\":%" PRIu64 "}",
				   function->kind, function->count, function->duration, function->self_duration);
	}
	text_append_string(writing->text, "],");
}

/* Appends a comma and a time, which may be unknown. */
static void append_known(const struct writing *writing, uint64_t time)
{
	if (time && time >= writing->origin)
		text_append_format(writing->text, ",%" PRIu64, time - writing->origin);
	else
		text_append_string(writing->text, ",-1");
}

/* Appends a comma and the name of a thread, and ends the array; a name that is not known is left out. */
static void append_thread(const struct writing *writing, const char *thread)
{
	if (thread && *thread) {
		text_append_string(writing->text, ",");
		text_append_json(writing->text, thread);
	}
	text_append_string(writing->text, "]");
}

static void append_job(const struct writing *writing, const struct iaprof_event *job, const char *thread)
{
	text_append_format(writing->text, "[%" PRIu64, job->begin - writing->origin);
	append_known(writing, job->queued);
	append_known(writing, job->started);
	text_append_format(writing->text,
			   ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32
			   ",%" PRIu32,
			   job->end - writing->origin, job->waiting, job->busy, job->id, job->context, job->tid,
			   job->state, job->status);
	append_thread(writing, thread);
}

static void append_call(const struct writing *writing, const struct iaprof_event *call, const char *thread)
{
	text_append_format(writing->text,
			   "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRId64
			   ",%" PRIu32,
			   call->begin - writing->origin, call->end - writing->origin, call->count, call->busy,
			   call->duration, call->tid, call->result, call->function);
	append_thread(writing, thread);
}

static void append_slots(const struct writing *writing, const struct iaprof_track *track)
{
	text_append_string(writing->text, ",\"slots\":[");
	for (size_t i = 0; i < track->slot_count; i++) {
		const struct iaprof_track_slot *slot = &track->slots[i];
		text_append_format(writing->text, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
				   i ? "," : "", slot->number - writing->first_slot, slot->count, slot->busy,
				   slot->waiting, slot->aborted);
	}
	text_append_string(writing->text, "]}");
}

static void append_events(const struct writing *writing, const struct iaprof_track *track)
{
	bool are_jobs = iaprof_track_has_jobs(track);
	text_append_string(writing->text, are_jobs ? ",\"jobs\":[" : ",\"calls\":[");
	for (size_t i = 0; i < track->event_count; i++) {
		text_append_string(writing->text, i ? "," : "");
		(are_jobs ? append_job : append_call)(writing, &track->events[i], track->threads[i]);
	}
	text_append_string(writing->text, "]}");
}

static const struct iaprof_device *device_of(const struct writing *writing, uint32_t index)
{
	static const struct iaprof_device none = { .source = "", .name = "", .address = "" };
	return index == IAPROF_ACTIVITY_NONE ? &none : iaprof_activity_device(writing->activity, index);
}

static void append_track(const struct writing *writing, const struct iaprof_track *track)
{
	const struct iaprof_device *device = device_of(writing, track->device);
	bool are_copies = track->kind == IAPROF_TRACK_COPIES; /* drawn as jobs, but not added to them */
	text_append_string(writing->text, are_copies ? "{\"isCopy\":true," : "{");
	append_text(writing, "source", track->source);
	append_text(writing, "device", device->name);
	append_text(writing, "address", device->address);
	append_text(writing, "name", track->name);
	text_append_format(writing->text, "\"deviceKind\":%" PRIu32 ",", device->kind);
	text_append_format(writing->text,
			   "\"kind\":%" PRIu32 ",\"process\":%" PRId64 ",\"count\":%" PRIu64 ",\"busy\":%" PRIu64,
			   are_copies ? (uint32_t)IAPROF_TRACK_JOBS : track->kind,
			   track->process == IAPROF_ACTIVITY_NONE ? (int64_t)-1 : (int64_t)track->process, track->count,
			   track->busy);
	text_append_format(writing->text, ",\"waiting\":%" PRIu64 ",\"aborted\":%" PRIu64 ",\"inFlight\":%" PRIu64,
			   track->waiting, track->aborted, track->in_flight);
	(track->slot_count ? append_slots : append_events)(writing, track);
}

static void append_histogram(const struct writing *writing, const struct iaprof_histogram *histogram)
{
	static const struct {
		const char *name;
		double part;
	} quantiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 } };
	append_text(writing, "source", histogram->source);
	append_text(writing, "name", histogram->name);
	append_text(writing, "unit", histogram->unit);
	for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
		text_append_format(writing->text, "\"%s\":%" PRIu64 ",", quantiles[i].name,
				   iaprof_histogram_quantile(histogram->buckets, histogram->count, histogram->maximum,
							     quantiles[i].part));
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

/* Appends gauges, such as a frequency; cumulative counters are not shown. */
static bool is_gauge(const struct iaprof_counter *counter)
{
	return counter->kind == IAPROF_COUNTER_GAUGE && counter->point_count;
}

static void append_gauge(const struct writing *writing, const struct iaprof_counter *counter)
{
	append_text(writing, "name", counter->name);
	append_text(writing, "unit", counter->unit);
	append_text(writing, "device", device_of(writing, counter->device)->name);
	text_append_format(writing->text, "\"together\":%" PRIu64 ",\"points\":[", counter->values_per_point);
	for (size_t i = 0; i < counter->point_count; i++) {
		const struct iaprof_counter_point *point = &counter->points[i];
		text_append_format(writing->text, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.17g,%.17g,%.17g]",
				   i ? "," : "", point->begin - writing->origin, point->end - writing->origin,
				   point->count, point->minimum, point->maximum, point->mean);
	}
	text_append_string(writing->text, "]}");
}

static void append_lists(const struct writing *writing)
{
	const struct iaprof_activity *activity = writing->activity;
	struct text *text = writing->text;
	text_append_string(text, "\"tracks\":[");
	for (size_t i = 0; i < activity->track_count; i++) {
		text_append_string(text, i ? "," : "");
		append_track(writing, iaprof_activity_track(activity, i));
	}
	text_append_string(text, "],\"histograms\":[");
	for (size_t i = 0; i < activity->histogram_count; i++) {
		text_append_string(text, i ? ",{" : "{");
		append_histogram(writing, iaprof_activity_histogram(activity, i));
	}
	text_append_string(text, "],\"gauges\":[");
	const char *between = "{";
	for (size_t i = 0; i < activity->counter_count; i++) {
		if (!is_gauge(iaprof_activity_counter(activity, i)))
			continue;
		text_append_string(text, between);
		append_gauge(writing, iaprof_activity_counter(activity, i));
		between = ",{";
	}
	text_append_string(text, "]");
}

/* Appends the numbers of items that exceeded limits. */
static void append_dropped(const struct writing *writing)
{
	const struct iaprof_activity *activity = writing->activity;
	text_append_format(writing->text,
			   "\"dropped\":{\"calls\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"values\":%" PRIu64
			   ",\"levels\":%" PRIu64 "},",
			   activity->calls_dropped, activity->tracks_dropped, activity->histogram_dropped,
			   activity->counter_dropped);
}

/* Computes the time range of all events and gauges; *begin > *end: there are none. */
static void find_time(const struct iaprof_activity *activity, uint64_t *begin, uint64_t *end)
{
	*begin = activity->begin;
	*end = activity->end;
	for (size_t i = 0; i < activity->counter_count; i++) {
		const struct iaprof_counter *counter = iaprof_activity_counter(activity, i);
		for (size_t k = 0; is_gauge(counter) && k < counter->point_count; k++) {
			*begin = counter->points[k].begin < *begin ? counter->points[k].begin : *begin;
			*end = counter->points[k].end > *end ? counter->points[k].end : *end;
		}
	}
}

/* Returns the number of the earliest slot, UINT64_MAX if no track has slots. */
static uint64_t find_first_slot(const struct iaprof_activity *activity)
{
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < activity->track_count; i++) {
		const struct iaprof_track *track = iaprof_activity_track(activity, i);
		if (track->slot_count && track->slots[0].number < first)
			first = track->slots[0].number;
	}
	return first;
}

static void append_npu(struct writing *writing, const struct iaprof_profile *profile)
{
	const struct iaprof_activity *activity = writing->activity;
	uint64_t begin, end;
	find_time(activity, &begin, &end);
	if (begin > end)
		begin = end = profile->begin;
	writing->origin = begin;
	writing->first_slot = find_first_slot(activity);
	/* A trace recorded earlier, whose times are shifted to the start of the run: its first time is the start. */
	uint64_t since = begin > profile->begin ? begin - profile->begin : 0;
	text_append_format(writing->text, ",\"npu\":{\"begin\":%" PRIu64 ",\"length\":%" PRIu64 ",", since,
			   end - begin);
	if (writing->first_slot != UINT64_MAX)
		text_append_format(writing->text, "\"slotWidth\":%" PRIu64 ",\"slotBegin\":%" PRId64 ",",
				   activity->slot_width, (int64_t)(writing->first_slot * activity->slot_width - begin));
	text_append_format(writing->text, "\"done\":%" PRIu64 ",\"aborted\":%" PRIu64 ",\"inFlight\":%" PRIu64 ",",
			   activity->jobs_done, activity->jobs_aborted, activity->jobs_in_flight);
	append_processes(writing);
	append_functions(writing);
	append_dropped(writing);
	append_lists(writing);
	page_tables_append(writing->text, activity);
	text_append_string(writing->text, "}");
}

static void append_finding(const struct writing *writing, const struct iaprof_finding *finding)
{
	text_append_format(writing->text,
			   "{\"severity\":%" PRIu32 ",\"pid\":%" PRIu32 ",\"count\":%" PRIu64 ",\"value\":%.17g,"
			   "\"threshold\":%.17g,",
			   finding->severity, finding->pid, finding->count, finding->value, finding->threshold);
	append_text(writing, "source", finding->source);
	append_text(writing, "name", finding->name);
	struct text title = { 0 }, sentence = { 0 };
	finding_append_title(&title, finding->name);
	finding_append_sentence(&sentence, finding->text);
	append_text(writing, "title", text_string(&title));
	text_append_string(writing->text, "\"text\":");
	text_append_json(writing->text, text_string(&sentence));
	text_append_string(writing->text, "}");
	writing->text->failed |= title.failed || sentence.failed;
	text_free(&title);
	text_free(&sentence);
}

/* Most severe first. */
static void append_findings(const struct writing *writing)
{
	const struct iaprof_activity *activity = writing->activity;
	const char *between = "";
	text_append_format(writing->text, ",\"findings\":{\"dropped\":%" PRIu64 ",\"items\":[",
			   activity->findings_dropped);
	for (uint32_t severity = IAPROF_FINDING_PROBLEM + 1; severity-- > 0;)
		for (size_t i = 0; i < activity->finding_count; i++) {
			const struct iaprof_finding *finding = iaprof_activity_finding(activity, i);
			uint32_t known = finding->severity <= IAPROF_FINDING_PROBLEM ? finding->severity
										     : IAPROF_FINDING_PROBLEM;
			if (known != severity || finding_is_row(finding->severity, finding->text))
				continue;
			text_append_string(writing->text, between);
			append_finding(writing, finding);
			between = ",";
		}
	text_append_string(writing->text, "]}");
}

static bool has_gauge(const struct iaprof_activity *activity)
{
	for (size_t i = 0; i < activity->counter_count; i++)
		if (is_gauge(iaprof_activity_counter(activity, i)))
			return true;
	return false;
}

void page_npu_append(struct text *text, const struct iaprof_profile *profile)
{
	struct writing writing = { .text = text, .activity = profile->activity };
	const struct iaprof_activity *activity = writing.activity;
	if (!activity)
		return;
	if (activity->finding_count)
		append_findings(&writing);
	if (activity->track_count || activity->histogram_count || activity->calls_dropped || has_gauge(activity))
		append_npu(&writing, profile);
}
