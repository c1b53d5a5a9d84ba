/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink perfetto: a trace for ui.perfetto.dev and trace_processor. Calls, jobs and launches are slices; aggregated
 * values are rates over time. The trace is written during the run; items that wait for names do so for a bounded time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <iaprof/plugin.h>

#include "events.h"
#include "packets.h"
#include "rates.h"
#include "samples.h"
#include "timelines.h"
#include "tracks.h"
#include "base/boot_id.h"
#include "base/saturating.h"
#include "stacks/profile_facts.h"
#include "text/plural.h"

/* Symbols arrive with the next SYNC, about a second later; after this time none will. */
#define WAIT_FOR_NAMES 5000000000ull
/* A call is reported when it ends: nested calls wait for it up to this time. */
#define WAIT_FOR_OUTER 30000000000ull

#define CONTEXT_COUNT_MAX 256u
#define SOURCE_COUNT_MAX 65536u

struct perfetto {
	uint64_t step; /* option */
	struct packets packets;
	struct definitions definitions;
	struct tracks tracks;
	struct timelines timelines;
	struct events events;
	struct rates rates;
	bool is_started, has_clocks;
	uint64_t realtime_offset;
	bool has_boot_id;
	bool is_same_boot;                    /* CLOCK_BOOTTIME of the run is this machine's */
	uint32_t contexts[CONTEXT_COUNT_MAX]; /* string ids of contexts, which enclose calls but are not calls */
	uint32_t context_count;
	unsigned char sums[SOURCE_COUNT_MAX / 8]; /* sources that declared that their calls are aggregated */
	uint64_t rates_refused;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct perfetto, step, DURATION, "step", "20ms",
		      "Averaging interval of rates, and time resolution of samples", .minimum = 1000000,
		      .maximum = 10000000000ull),
};

static int perfetto_configure(const struct iaprof_host *host, void *instance)
{
	const struct perfetto *perfetto = instance;
	host->request(host, IAPROF_REQUEST_THREADS | IAPROF_REQUEST_RECORD_SPANS);
	host->request_times(host, perfetto->step);
	return 0;
}

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "out of memory for the trace");
}

static void write_rate(void *context, const struct rate *rate, uint64_t time, double value)
{
	struct perfetto *perfetto = context;
	packets_event(&perfetto->packets,
		      &(struct packet_event){ .type = PACKET_COUNTER,
					      .track = tracks_find(&perfetto->tracks, &rate->key, 0),
					      .time = time,
					      .counter = value });
}

/* Runs on the first call, because outputs belong to the sink's thread. */
static void start(const struct iaprof_host *host, struct perfetto *perfetto, uint64_t time)
{
	if (perfetto->is_started)
		return;
	perfetto->is_started = true;
	perfetto->packets.host = host;
	perfetto->tracks.packets = perfetto->events.packets = &perfetto->packets;
	perfetto->tracks.definitions = perfetto->events.definitions = &perfetto->definitions;
	perfetto->events.tracks = &perfetto->tracks;
	perfetto->events.timelines = &perfetto->timelines;
	perfetto->timelines.writer = (struct timeline_writer){ &perfetto->events, events_begin, events_end };
	perfetto->rates.step = perfetto->step;
	perfetto->rates.context = perfetto;
	perfetto->rates.write = write_rate;
	/* The clock must precede the first timestamp. */
	packets_clocks(&perfetto->packets, time, 0, 0);
}

static bool add_rate(struct perfetto *perfetto, const struct track_key *key, double scale, uint64_t begin, uint64_t end,
		     uint64_t amount)
{
	struct rate *rate = rates_find(&perfetto->rates, key, scale);
	if (!rate) {
		perfetto->rates_refused++;
		return true;
	}
	return rate_add(&perfetto->rates, rate, begin, end, amount);
}

static bool take_stall_sample(struct perfetto *perfetto, const struct iaprof_record_stall_sample *sample)
{
	const uint64_t *counts = iaprof_record_stall_sample_counts(sample);
	uint64_t total = 0;
	bool good = true;
	for (uint32_t i = 0; i < sample->reason_count && good; i++) {
		const struct track_key key = { TRACK_STALL_REASON, { sample->header.source, sample->device, i } };
		saturating_increase(&total, counts[i]);
		if (counts[i])
			good = add_rate(perfetto, &key, 1e9, sample->begin, sample->header.time, counts[i]);
	}
	const struct track_key key = { TRACK_SAMPLES, { sample->header.source, sample->device, 0 } };
	return good && add_rate(perfetto, &key, 1e9, sample->begin, sample->header.time, total);
}

static bool take_launch(struct perfetto *perfetto, const struct iaprof_record_launch *launch)
{
	tracks_name_thread(&perfetto->tracks, launch->pid, launch->tid,
			   definitions_text(&perfetto->definitions, iaprof_record_launch_thread_name(launch)));
	return events_add_launch(&perfetto->events, launch);
}

static bool take_sample(struct perfetto *perfetto, const struct iaprof_record_sample *sample)
{
	const struct iaprof_record_value_type *type =
		definitions_find(&perfetto->definitions, IAPROF_RECORD_VALUE_TYPE, 0, sample->value_type);
	bool is_time = type && strcmp(definitions_text(&perfetto->definitions, type->unit), "nanoseconds") == 0;
	const struct track_key all = { TRACK_VALUE, { sample->value_type, 0, 0 } };
	const struct track_key own = { TRACK_VALUE, { sample->value_type, sample->pid, 0 } };
	uint64_t begin = sample->first_time, amount = is_time ? sample->value : sample->count;
	/* A sample represents the time since the previous one. */
	uint64_t one = is_time && sample->count ? sample->value / sample->count : 0;
	begin = begin > one ? begin - one : 0;
	double scale = is_time ? 1 : 1e9;
	return add_rate(perfetto, &all, scale, begin, sample->header.time, amount) &&
	       (!sample->pid || add_rate(perfetto, &own, scale, begin, sample->header.time, amount));
}

static bool take_activity(struct perfetto *perfetto, const struct iaprof_record_device_activity *activity)
{
	const struct track_key key = { TRACK_BUSY, { activity->header.source, activity->device, activity->kind } };
	return add_rate(perfetto, &key, 100, activity->begin, activity->header.time, activity->busy);
}

static bool is_context(const struct perfetto *perfetto, uint32_t name)
{
	for (uint32_t i = 0; i < perfetto->context_count; i++)
		if (perfetto->contexts[i] == name)
			return true;
	return false;
}

/* A single call is a slice; aggregated calls are not. */
static bool take_call(struct perfetto *perfetto, const struct iaprof_record_call *call)
{
	uint16_t source = call->header.source;
	if (call->count == 1 && !(perfetto->sums[source / 8] & 1u << source % 8)) {
		tracks_name_thread(&perfetto->tracks, call->pid, call->tid,
				   definitions_text(&perfetto->definitions, iaprof_record_call_thread_name(call)));
		return events_add_call(&perfetto->events, call, call->parent && !is_context(perfetto, call->parent));
	}
	const struct track_key key = { TRACK_CALL_RATE, { source, call->name, 0 } };
	return add_rate(perfetto, &key, 1e9, call->first_time, call->header.time, call->count);
}

static void take_counter_value(struct perfetto *perfetto, const struct iaprof_record_counter_value *value)
{
	const struct track_key key = { TRACK_COUNTER, { value->header.source, value->counter, 0 } };
	packets_event(&perfetto->packets, &(struct packet_event){ .type = PACKET_COUNTER,
								  .track = tracks_find(&perfetto->tracks, &key, 0),
								  .time = value->header.time,
								  .counter = value->value });
}

static void take_metadata(struct perfetto *perfetto, const struct iaprof_record_metadata *metadata)
{
	const char *key = definitions_text(&perfetto->definitions, metadata->key);
	const char *value = definitions_text(&perfetto->definitions, metadata->value);
	uint16_t source = metadata->header.source;
	if (strcmp(key, "mode") == 0 && strcmp(value, "count") == 0)
		perfetto->sums[source / 8] |= (unsigned char)(1u << source % 8);
	else if (source == 0 && strcmp(key, "realtime offset") == 0)
		perfetto->realtime_offset = strtoull(value, NULL, 10);
	else if (source == 0 && strcmp(key, "boot id") == 0) {
		char own[BOOT_ID_SIZE];
		boot_id_read(own);
		perfetto->has_boot_id = true;
		perfetto->is_same_boot = *own && strcmp(value, own) == 0;
	}
}

/* Shortest suspend time that is recorded, ns. */
#define SLEEP_LEAST 10000000ll

/* Writes a clock snapshot, so that other traces of the machine can be aligned. */
static void write_clocks(struct perfetto *perfetto, uint64_t time)
{
	if (perfetto->has_clocks || !perfetto->realtime_offset || !time)
		return;
	uint64_t boottime = 0;
	struct timespec monotonic, boot;
	if (perfetto->is_same_boot && clock_gettime(CLOCK_MONOTONIC, &monotonic) == 0 &&
	    clock_gettime(CLOCK_BOOTTIME, &boot) == 0) {
		int64_t ahead = (boot.tv_sec - monotonic.tv_sec) * 1000000000ll + (boot.tv_nsec - monotonic.tv_nsec);
		/* Time for which the machine was suspended. Delays between the two calls do not count. */
		boottime = time + (uint64_t)(ahead > SLEEP_LEAST ? ahead / SLEEP_LEAST * SLEEP_LEAST : 0);
	}
	packets_clocks(&perfetto->packets, time, boottime, time + perfetto->realtime_offset);
	perfetto->has_clocks = true;
}

static uint64_t time_before(uint64_t time, uint64_t wait)
{
	return time > wait ? time - wait : 0;
}

static bool process_record(struct perfetto *perfetto, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_CALL_FUNCTION: {
		const struct iaprof_record_call_function *function = (const void *)record;
		if (function->kind == IAPROF_CALL_CONTEXT && perfetto->context_count < CONTEXT_COUNT_MAX &&
		    !is_context(perfetto, function->name))
			perfetto->contexts[perfetto->context_count++] = function->name;
		return true;
	}
	case IAPROF_RECORD_DEVICE:
		tracks_device(&perfetto->tracks, (const void *)record);
		return true;
	case IAPROF_RECORD_METADATA:
		take_metadata(perfetto, (const void *)record);
		return true;
	case IAPROF_RECORD_PROCESS:
		return tracks_process(&perfetto->tracks, (const void *)record);
	case IAPROF_RECORD_SAMPLE:
		return take_sample(perfetto, (const void *)record);
	case IAPROF_RECORD_LAUNCH:
		return take_launch(perfetto, (const void *)record);
	case IAPROF_RECORD_STALL_SAMPLE:
		return take_stall_sample(perfetto, (const void *)record);
	case IAPROF_RECORD_CALL:
		return take_call(perfetto, (const void *)record);
	case IAPROF_RECORD_JOB:
		return events_add_job(&perfetto->events, (const void *)record);
	case IAPROF_RECORD_COUNTER_VALUE:
		take_counter_value(perfetto, (const void *)record);
		return true;
	case IAPROF_RECORD_FINDING:
		return events_add_finding(&perfetto->events, (const void *)record);
	case IAPROF_RECORD_LOST:
		return events_add_lost(&perfetto->events, (const void *)record);
	case IAPROF_RECORD_DEVICE_ACTIVITY:
		return take_activity(perfetto, (const void *)record);
	case IAPROF_RECORD_SYNC:
		timelines_flush(&perfetto->timelines, time_before(record->time, WAIT_FOR_NAMES),
				time_before(record->time, WAIT_FOR_OUTER));
		rates_flush(&perfetto->rates, time_before(record->time, WAIT_FOR_NAMES));
		return true;
	default:
		return true;
	}
}

/* Records of addresses and single frames are not shown. */
static bool is_shown(const struct iaprof_record *record)
{
	return record->type != IAPROF_RECORD_STACK;
}

static int perfetto_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct perfetto *perfetto = instance;
	const struct iaprof_record *first = iaprof_batch_next(batch, NULL);
	start(host, perfetto, first ? first->time : 0);
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		if (is_shown(record) && definitions_take(&perfetto->definitions, record) < 0)
			return out_of_memory(host);
		if (!process_record(perfetto, record))
			return out_of_memory(host);
		/* Not done at the end of a batch, because batches end at arbitrary places. */
		if (perfetto->has_boot_id && record->type == IAPROF_RECORD_METADATA)
			write_clocks(perfetto, record->time);
		if (perfetto->packets.result)
			return perfetto->packets.result;
	}
	return perfetto->packets.result;
}

/* Writes metadata and losses of the run: a slice over the whole run, and attributes of the trace. */
struct facts {
	struct perfetto *perfetto;
	struct packet_event event;
	struct packet_value values[PACKET_VALUE_COUNT_MAX];
};

/* Writes the run's metadata; the part that does not fit into one event is written as instants at its start. */
static void write_facts(struct facts *facts)
{
	packets_event(&facts->perfetto->packets, &facts->event);
	facts->event.type = PACKET_INSTANT;
	facts->event.name = "run (more)";
	facts->event.value_count = 0;
}

static void add_fact(struct facts *facts, const char *key, const char *value)
{
	if (facts->event.value_count == PACKET_VALUE_COUNT_MAX)
		write_facts(facts);
	facts->values[facts->event.value_count++] =
		(struct packet_value){ .key = key, .type = PACKET_STRING, .string = value };
	packets_attribute(&facts->perfetto->packets, key, value);
}

static int perfetto_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct perfetto *perfetto = instance;
	start(host, perfetto, profile->begin);
	write_clocks(perfetto, profile->begin);
	struct facts facts = { .perfetto = perfetto };
	const struct track_key key = { TRACK_RUN, { 0, 0, 0 } };
	uint64_t track = tracks_find(&perfetto->tracks, &key, 0);
	facts.event = (struct packet_event){ .type = PACKET_SLICE_BEGIN,
					     .track = track,
					     .time = profile->begin,
					     .name = "run",
					     .category = "run",
					     .values = facts.values };
	struct text *texts = calloc(2 * profile->lost_count + 1, sizeof *texts);
	char number[LOST_COUNT_SIZE];
	if (!texts)
		return out_of_memory(host);
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		struct text *name = &texts[2 * i], *count = &texts[2 * i + 1];
		text_append_format(name, "lost: %s: %s", lost->source, lost->reason);
		text_append_string(count, lost_count_text(lost, number));
		add_fact(&facts, text_string(name), text_string(count));
	}
	for (const char *const *pair = profile->metadata; pair && pair[0] && pair[1]; pair += 2)
		add_fact(&facts, pair[0], pair[1]);
	write_facts(&facts);
	if (profile->end > profile->begin)
		packets_event(&perfetto->packets,
			      &(struct packet_event){ .type = PACKET_SLICE_END, .track = track, .time = profile->end });
	for (size_t i = 0; i < 2 * profile->lost_count; i++)
		text_free(&texts[i]);
	free(texts);
	if (!samples_write(&perfetto->packets, &perfetto->tracks, profile, perfetto->step))
		return out_of_memory(host);
	return perfetto->packets.result;
}

/* Reports dropped items in the trace and to the user. */
static void write_dropped(struct perfetto *perfetto, const char *key, uint64_t count, const char *noun, const char *why,
			  unsigned limit)
{
	char number[24];
	if (!count)
		return;
	snprintf(number, sizeof number, "%" PRIu64, count);
	packets_attribute(&perfetto->packets, key, number);
	perfetto->packets.host->log(perfetto->packets.host, IAPROF_LOG_WARNING,
				    "dropped %" PRIu64 " %s%s: more than %u %s", count, noun, plural(count), limit,
				    why);
}

static int perfetto_finish(const struct iaprof_host *host, void *instance)
{
	struct perfetto *perfetto = instance;
	start(host, perfetto, 0);
	timelines_finish(&perfetto->timelines);
	rates_finish(&perfetto->rates);
	write_dropped(perfetto, "slices not drawn", perfetto->timelines.not_drawn, "slice",
		      "overlap on one track, or they arrived too late", TIMELINE_LANE_COUNT_MAX);
	write_dropped(perfetto, "events without a track", perfetto->timelines.refused, "event", "active tracks",
		      TIMELINES_BUSY_COUNT_MAX);
	write_dropped(perfetto, "records of unnamed processes", perfetto->tracks.refused, "process name",
		      "processes at once", TRACKS_PROCESS_COUNT_MAX);
	write_dropped(perfetto, "amounts not shown", perfetto->rates_refused, "value", "rates", RATES_COUNT_MAX);
	if (perfetto->rates.moved)
		host->log(host, IAPROF_LOG_INFO, "%" PRIu64 " late value%s shown after their time",
			  perfetto->rates.moved, plural(perfetto->rates.moved));
	return packets_finish(&perfetto->packets);
}

static void perfetto_destroy(const struct iaprof_host *host, void *instance)
{
	struct perfetto *perfetto = instance;
	timelines_free(&perfetto->timelines);
	rates_free(&perfetto->rates);
	tracks_free(&perfetto->tracks);
	packets_free(&perfetto->packets);
	definitions_free(&perfetto->definitions);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "pftrace",
	.finish = perfetto_finish,
	.records = perfetto_records,
	.profile = perfetto_profile,
};

static const struct iaprof_plugin perfetto_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_BINARY,
	.name = "perfetto",
	.version = PLUGIN_VERSION,
	.description = "Trace of slices, samples and counters for ui.perfetto.dev",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct perfetto),
	.sink = &operations,
	.configure = perfetto_configure,
	.destroy = perfetto_destroy,
};

IAPROF_REGISTER_PLUGIN(perfetto_plugin)
