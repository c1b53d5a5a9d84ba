/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink firefox: a profile for profiler.firefox.com, in its processed format, whose types are in
 * github.com/firefox-devtools/profiler, src/types/profile.ts. The viewer reads older versions of the format.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "base/gzip.h"
#include "categories.h"
#include "records/counter_name.h"
#include "stacks/profile_facts.h"
#include "tables.h"
#include "threads.h"

/* Versions of the processed format, and of Firefox's own, from which it is derived. */
#define PROCESSED_VERSION 70
#define GECKO_VERSION 36

/* Smallest share of a value type with which a thread is shown from the start. */
#define VISIBLE_SHARE 0.005

struct firefox {
	const char *title; /* NULL: "iaprof" */
	struct stack_text_options text;
	uint64_t step; /* resolution of times, ns */
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct firefox, title, STRING, "title", NULL, "Name of the profile"),
	IAPROF_OPTION(struct firefox, text.lines, BOOL, "lines", "no", "Source lines and inlined functions (DWARF)"),
	TIMED_VALUES_OPTION(struct firefox, step, "20ms"),
};

static int firefox_configure(const struct iaprof_host *host, void *instance)
{
	const struct firefox *firefox = instance;
	stack_text_request(&firefox->text, host);
	host->request(host, IAPROF_REQUEST_THREADS | IAPROF_REQUEST_ACTIVITY);
	host->request_times(host, firefox->step);
	return 0;
}

static void append_entry(struct text *text, size_t i, const char *key, const char *value)
{
	text_append_string(text, i ? ",\n{\"label\":" : "\n{\"label\":");
	text_append_json(text, key);
	text_append_string(text, ",\"format\":\"string\",\"value\":");
	text_append_json(text, value);
	text_append_string(text, "}");
}

/* Appends metadata, findings and losses, which the viewer shows as information about the profile. */
static void append_extra(struct text *text, const struct iaprof_profile *profile)
{
	const struct iaprof_activity *activity = profile->activity;
	text_append_string(text, ",\n\"extra\":[{\"label\":\"Run\",\"entries\":[");
	for (size_t i = 0; profile->metadata && profile->metadata[i] && profile->metadata[i + 1]; i += 2)
		append_entry(text, i, profile->metadata[i], profile->metadata[i + 1]);
	text_append_string(text, "]},\n{\"label\":\"Findings\",\"entries\":[");
	for (size_t i = 0; activity && i < activity->finding_count; i++) {
		const struct iaprof_finding *finding = iaprof_activity_finding(activity, i);
		append_entry(text, i, finding->name, finding->text);
	}
	text_append_string(text, "]},\n{\"label\":\"Lost\",\"entries\":[");
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		struct text key = { 0 };
		char count[LOST_COUNT_SIZE];
		text_append_format(&key, "%s: %s", lost->source, lost->reason);
		append_entry(text, i, text_string(&key), lost_count_text(lost, count));
		text->failed |= key.failed;
		text_free(&key);
	}
	text_append_string(text, "]}]");
}

/* Appends the positions of visible threads, and of the selected one: the hottest of the value type shown first. */
static void append_chosen(struct text *text, const struct threads *threads)
{
	size_t selected = SIZE_MAX, visible = 0;
	text_append_string(text, ",\n\"initialVisibleThreads\":[");
	for (size_t i = 0; i < threads->items.count; i++) {
		const struct thread *thread = &threads->items.items[i];
		if (thread->is_lost)
			continue;
		if (thread->share >= VISIBLE_SHARE)
			text_append_format(text, "%s%zu", visible++ ? "," : "", i);
		if (thread->value_type == threads->shown_type &&
		    (selected == SIZE_MAX || thread->value > threads->items.items[selected].value))
			selected = i;
	}
	text_append_string(text, "]");
	if (selected != SIZE_MAX)
		text_append_format(text, ",\"initialSelectedThreads\":[%zu]", selected);
}

static void append_meta(struct text *text, const struct firefox *firefox, const struct iaprof_profile *profile,
			const struct threads *threads, const struct tables *tables)
{
	uint64_t length = profile->end > profile->begin ? profile->end - profile->begin : 0;
	text_append_string(text, "\"meta\":{\"product\":");
	text_append_json(text, firefox->title ? firefox->title : "iaprof");
	text_append_string(text, ",\"importedFrom\":\"iaprof " PLUGIN_VERSION "\",\"interval\":");
	milliseconds_append(text, threads->values.width ? threads->values.width : length);
	text_append_string(text, ",\"startTime\":");
	milliseconds_append(text, profile->begin_realtime);
	text_append_format(text, ",\"startTimeAsClockMonotonicNanosecondsSinceBoot\":%" PRIu64, profile->begin);
	text_append_string(text, ",\"profilingStartTime\":0,\"profilingEndTime\":");
	milliseconds_append(text, length);
	text_append_format(text, ",\n\"version\":%d,\"preprocessedProfileVersion\":%d", GECKO_VERSION,
			   PROCESSED_VERSION);
	text_append_string(text, ",\"processType\":0,\"stackwalk\":1,\"debug\":false,\"platform\":\"Linux\","
				 "\"symbolicated\":true,\"symbolicationNotSupported\":true,"
				 "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
				 "\"keepProfileThreadOrder\":true,\n"
				 "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
				 "\"markerSchema\":[],\n\"categories\":");
	categories_append(text, profile, &tables->classes);
	append_chosen(text, threads);
	append_extra(text, profile);
	text_append_string(text, "}");
}

/* Appends the changes of a counter, at the start of each point. */
static void append_points(struct text *text, const struct iaprof_counter *counter, uint64_t begin)
{
	double last = 0;
	text_append_format(text, "{\"length\":%zu,\"time\":[", counter->point_count);
	for (size_t i = 0; i < counter->point_count; i++) {
		text_append_string(text, i ? "," : "");
		milliseconds_append(text, counter->points[i].begin > begin ? counter->points[i].begin - begin : 0);
	}
	text_append_string(text, "],\"count\":[");
	for (size_t i = 0; i < counter->point_count; i++) {
		/* A cumulative counter starts at any value: its first point is no change. */
		double value = counter->points[i].mean;
		bool is_first = i == 0 && counter->kind == IAPROF_COUNTER_CUMULATIVE;
		text_append_format(text, "%s%.17g", i ? "," : "", is_first ? 0 : value - last);
		last = value;
	}
	text_append_string(text, "]}");
}

static void append_counter(struct text *text, const struct iaprof_activity *activity,
			   const struct iaprof_counter *counter, const struct iaprof_profile *profile, size_t i)
{
	static const char *const colors[] = { "blue", "green", "orange", "purple", "teal", "magenta" };
	bool is_bytes = strcmp(counter->unit, "bytes") == 0, is_rate = counter->kind == IAPROF_COUNTER_CUMULATIVE;
	struct text label = { 0 };
	if (counter->device != IAPROF_ACTIVITY_NONE)
		text_append_format(&label, "%s: ", iaprof_activity_device(activity, counter->device)->name);
	counter_name_append(&label, counter->name, counter->engine, counter->labels, counter->pid);
	text_append_format(&label, " (%s)", counter->unit);
	text_append_string(text, "{\"name\":");
	text_append_json(text, counter->name);
	text_append_string(text, ",\"category\":\"counter\",\"description\":");
	text_append_json(text, counter->source);
	text_append_string(text, ",\"samples\":");
	append_points(text, counter, profile->begin);
	text_append_format(text, ",\n\"display\":{\"graphType\":\"%s\",\"unit\":\"%s\",\"color\":\"%s\"",
			   is_rate ? "line-rate" : "line-accumulated", is_bytes ? "bytes" : "",
			   colors[i % (sizeof colors / sizeof *colors)]);
	text_append_format(text, ",\"markerSchemaLocation\":null,\"sortWeight\":%zu,\"label\":", 100 + i);
	text_append_json(text, text_string(&label));
	text_append_format(text,
			   ",\"tooltipRows\":[{\"type\":\"value\",\"source\":\"%s\",\"format\":{\"unit\":\"%s\"},"
			   "\"label\":",
			   is_rate ? "count" : "accumulated", is_bytes ? "bytes" : "number");
	text_append_json(text, is_rate ? "Increase since the previous value" : "Change from the lowest value");
	text_append_string(text, "}]}");
	text->failed |= label.failed;
	text_free(&label);
}

/* Counters belong to a process in this format; ours are those of the machine, and shown with the first one. */
static void append_counters(struct text *text, const struct iaprof_profile *profile, const struct threads *threads)
{
	const struct iaprof_activity *activity = profile->activity;
	size_t count = 0;
	text_append_string(text, "[");
	for (size_t i = 0; activity && threads->items.count && i < activity->counter_count; i++) {
		const struct iaprof_counter *counter = iaprof_activity_counter(activity, i);
		if (!counter->point_count)
			continue;
		text_append_string(text, count ? ",\n" : "\n");
		append_counter(text, activity, counter, profile, count++);
		const struct thread *first = threads->items.items;
		text_append_format(text, ",\"pid\":\"%" PRIu32 "%s\",\"mainThreadIndex\":0}", first->pid,
				   first->is_lost ? "-lost" : "");
	}
	text_append_string(text, "]");
}

static void append_file(struct text *text, const struct firefox *firefox, const struct iaprof_profile *profile,
			const struct threads *threads, struct tables *tables)
{
	text_append_string(text, "{");
	append_meta(text, firefox, profile, threads, tables);
	text_append_string(text, ",\n\"threads\":");
	threads_append(threads, tables, text);
	text_append_string(text, ",\n\"libs\":");
	tables_append_libraries(tables, text);
	text_append_string(text, ",\n\"counters\":");
	append_counters(text, profile, threads);
	text_append_string(text, ",\n\"shared\":");
	tables_append_shared(tables, text);
	text_append_string(text, "}\n");
	text->failed |= tables->failed;
}

static int firefox_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct firefox *firefox = instance;
	struct threads threads;
	struct tables tables;
	struct text text = { 0 }, compressed = { 0 };
	bool good = threads_make(&threads, profile, firefox->step);
	good = tables_make(&tables, profile, &firefox->text) && good;
	if (good)
		append_file(&text, firefox, profile, &threads, &tables);
	good = good && !text.failed;
	if (good)
		gzip_append(&compressed, text.data, text.size);
	threads_free(&threads);
	tables_free(&tables);
	text_free(&text);
	int result = good && !compressed.failed
			     ? text_write_whole(&compressed, host, NULL)
			     : host->fail(host, ENOMEM, "out of memory for %zu stacks", profile->value_count);
	text_free(&compressed);
	return result;
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "firefox.json.gz",
	.finish = output_is_finished,
	.profile = firefox_profile,
};

static const struct iaprof_plugin firefox_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_BINARY,
	.name = "firefox",
	.version = PLUGIN_VERSION,
	.description = "Profile for Firefox Profiler (profiler.firefox.com)",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct firefox),
	.sink = &operations,
	.configure = firefox_configure,
};

IAPROF_REGISTER_PLUGIN(firefox_plugin)
