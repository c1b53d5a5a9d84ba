/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink perfetto: a trace for ui.perfetto.dev and trace_processor. Calls, jobs and launches are slices, what is only a
 * sum is a rate over time. It is written as the run goes on; what waits for names waits for a bounded time.
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
#include "timelines.h"
#include "tracks.h"

/* Names of stacks come with the SYNC that follows an event, a second later or so: after this long none will. */
#define WAIT_FOR_NAMES 5000000000ull
/* A call is told when it ends: for this long those nested in it wait for it. */
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
	uint32_t contexts[CONTEXT_COUNT_MAX]; /* names of what is around calls and no call itself: string ids */
	uint32_t context_count;
	unsigned char sums[SOURCE_COUNT_MAX / 8]; /* sources that said that their calls are sums */
	uint64_t rates_refused;
};

static const struct iaprof_option options[] = {
	{ .name = "step",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct perfetto, step),
	  .default_value = "20ms",
	  .minimum = 1000000,
	  .maximum = 10000000000ull,
	  .help = "how finely rates are shown: stalls, calls, and CPUs in use are averages of this time" },
};

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "not enough memory for the trace");
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

/* With the first call: outputs belong to the sink's thread. */
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
	/* Which clock the times are of, before the first of them. */
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

static uint64_t sum_of(uint64_t one, uint64_t other)
{
	return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}

static bool take_stall_sample(struct perfetto *perfetto, const struct iaprof_record_stall_sample *sample)
{
	const uint64_t *counts = iaprof_record_stall_sample_counts(sample);
	uint64_t total = 0;
	bool good = true;
	for (uint32_t i = 0; i < sample->reason_count && good; i++) {
		const struct track_key key = { TRACK_STALL_REASON, { sample->header.source, sample->device, i } };
		total = sum_of(total, counts[i]);
		if (counts[i])
			good = add_rate(perfetto, &key, 1e9, sample->begin, sample->header.time, counts[i]);
	}
	const struct track_key key = { TRACK_STALLS, { sample->header.source, sample->device, 0 } };
	return good && add_rate(perfetto, &key, 1e9, sample->begin, sample->header.time, total);
}

static bool take_sample(struct perfetto *perfetto, const struct iaprof_record_sample *sample)
{
	const struct iaprof_record_value_type *type =
		definitions_find(&perfetto->definitions, IAPROF_RECORD_VALUE_TYPE, 0, sample->value_type);
	bool is_time = type && strcmp(definitions_text(&perfetto->definitions, type->unit), "nanoseconds") == 0;
	const struct track_key all = { TRACK_VALUE, { sample->value_type, 0, 0 } };
	const struct track_key own = { TRACK_VALUE, { sample->value_type, sample->pid, 0 } };
	uint64_t begin = sample->first_time, amount = is_time ? sample->value : sample->count;
	/* A sample stands for the time since the one before. */
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

/* One call is a slice; a sum of calls is none. */
static bool take_call(struct perfetto *perfetto, const struct iaprof_record_call *call)
{
	uint16_t source = call->header.source;
	if (call->count == 1 && !(perfetto->sums[source / 8] & 1u << source % 8))
		return events_add_call(&perfetto->events, call, call->parent && !is_context(perfetto, call->parent));
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

static bool is_this_boot(const char *id)
{
	char own[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!file)
		return false;
	bool is_read = fgets(own, sizeof own, file);
	fclose(file);
	return is_read && strlen(id) >= 36 && strncmp(own, id, 36) == 0;
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
		perfetto->has_boot_id = true;
		perfetto->is_same_boot = is_this_boot(value);
	}
}

/* Of the time that a machine slept, shorter parts are not told: ns. */
#define SLEEP_LEAST 10000000ll

/* A moment on all clocks that are known, so that other traces of the machine can be laid beside this one. */
static void tell_clocks(struct perfetto *perfetto, uint64_t time)
{
	if (perfetto->has_clocks || !perfetto->realtime_offset || !time)
		return;
	uint64_t boottime = 0;
	struct timespec monotonic, boot;
	if (perfetto->is_same_boot && clock_gettime(CLOCK_MONOTONIC, &monotonic) == 0 &&
	    clock_gettime(CLOCK_BOOTTIME, &boot) == 0) {
		int64_t ahead = (boot.tv_sec - monotonic.tv_sec) * 1000000000ll + (boot.tv_nsec - monotonic.tv_nsec);
		/* How long the machine slept; the calls' own time is none of it. */
		boottime = time + (uint64_t)(ahead > SLEEP_LEAST ? ahead / SLEEP_LEAST * SLEEP_LEAST : 0);
	}
	packets_clocks(&perfetto->packets, time, boottime, time + perfetto->realtime_offset);
	perfetto->has_clocks = true;
}

static uint64_t before(uint64_t time, uint64_t wait)
{
	return time > wait ? time - wait : 0;
}

static bool take(struct perfetto *perfetto, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_CALL_FUNCTION: {
		const struct iaprof_record_call_function *function = (const void *)record;
		if (function->kind == IAPROF_CALL_CONTEXT && perfetto->context_count < CONTEXT_COUNT_MAX &&
		    !is_context(perfetto, function->name))
			perfetto->contexts[perfetto->context_count++] = function->name;
		return true;
	}
	case IAPROF_RECORD_METADATA:
		take_metadata(perfetto, (const void *)record);
		return true;
	case IAPROF_RECORD_PROCESS:
		return tracks_process(&perfetto->tracks, (const void *)record);
	case IAPROF_RECORD_SAMPLE:
		return take_sample(perfetto, (const void *)record);
	case IAPROF_RECORD_LAUNCH:
		return events_add_launch(&perfetto->events, (const void *)record);
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
		timelines_flush(&perfetto->timelines, before(record->time, WAIT_FOR_NAMES),
				before(record->time, WAIT_FOR_OUTER));
		rates_flush(&perfetto->rates, before(record->time, WAIT_FOR_NAMES));
		return true;
	default:
		return true;
	}
}

/* Addresses of stacks, and what the symbolizer says of single ones, are not shown. */
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
		if (!take(perfetto, record))
			return out_of_memory(host);
		/* Not with the end of a batch, which is somewhere else each time. */
		if (perfetto->has_boot_id && record->type == IAPROF_RECORD_METADATA)
			tell_clocks(perfetto, record->time);
		if (perfetto->packets.result)
			return perfetto->packets.result;
	}
	return perfetto->packets.result;
}

/* What is known of the whole run, and what is missing: a slice over all of it, and attributes of the trace. */
struct facts {
	struct perfetto *perfetto;
	struct packet_event event;
	struct packet_value values[PACKET_VALUE_COUNT_MAX];
};

/* Tells what there is; more facts than one event can have are instants at its begin. */
static void tell_facts(struct facts *facts)
{
	packets_event(&facts->perfetto->packets, &facts->event);
	facts->event.type = PACKET_INSTANT;
	facts->event.name = "run (more)";
	facts->event.value_count = 0;
}

static void add_fact(struct facts *facts, const char *key, const char *value)
{
	if (facts->event.value_count == PACKET_VALUE_COUNT_MAX)
		tell_facts(facts);
	facts->values[facts->event.value_count++] =
		(struct packet_value){ .key = key, .type = PACKET_STRING, .string = value };
	packets_attribute(&facts->perfetto->packets, key, value);
}

static int perfetto_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct perfetto *perfetto = instance;
	start(host, perfetto, profile->begin);
	tell_clocks(perfetto, profile->begin);
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
	if (!texts)
		return out_of_memory(host);
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		struct text *name = &texts[2 * i], *count = &texts[2 * i + 1];
		text_append_string(name, "lost: ");
		text_append_string(name, lost->source);
		text_append_string(name, ": ");
		text_append_string(name, lost->reason);
		text_append(name, "", 1);
		text_append_format(count, "%" PRIu64 "%s", lost->count, lost->unknown ? ", and an unknown number" : "");
		text_append(count, "", 1);
		if (!name->failed && !count->failed)
			add_fact(&facts, name->data, count->data);
	}
	for (const char *const *pair = profile->metadata; pair && pair[0] && pair[1]; pair += 2)
		add_fact(&facts, pair[0], pair[1]);
	tell_facts(&facts);
	if (profile->end > profile->begin)
		packets_event(&perfetto->packets,
			      &(struct packet_event){ .type = PACKET_SLICE_END, .track = track, .time = profile->end });
	for (size_t i = 0; i < 2 * profile->lost_count; i++)
		text_free(&texts[i]);
	free(texts);
	return perfetto->packets.result;
}

/* What is not in the trace is stated there, too. */
static void tell_count(struct perfetto *perfetto, const char *what, uint64_t count)
{
	char number[24];
	snprintf(number, sizeof number, "%" PRIu64, count);
	if (count)
		packets_attribute(&perfetto->packets, what, number);
}

static int perfetto_finish(const struct iaprof_host *host, void *instance)
{
	struct perfetto *perfetto = instance;
	start(host, perfetto, 0);
	timelines_finish(&perfetto->timelines);
	rates_finish(&perfetto->rates);
	tell_count(perfetto, "slices not drawn", perfetto->timelines.not_drawn);
	tell_count(perfetto, "events without a track", perfetto->timelines.refused);
	tell_count(perfetto, "records of unnamed processes", perfetto->tracks.refused);
	tell_count(perfetto, "amounts not shown", perfetto->rates_refused);
	if (perfetto->timelines.not_drawn)
		host->log(host, IAPROF_LOG_WARNING,
			  "%" PRIu64 " slices are not in the trace: more than %u lie above each other on one track, or "
			  "they came late",
			  perfetto->timelines.not_drawn, TIMELINE_LANE_COUNT_MAX);
	if (perfetto->timelines.refused)
		host->log(host, IAPROF_LOG_WARNING,
			  "%" PRIu64 " events are not in the trace: it has no room for more than %u tracks at once",
			  perfetto->timelines.refused, TIMELINES_BUSY_COUNT_MAX);
	if (perfetto->tracks.refused)
		host->log(host, IAPROF_LOG_WARNING,
			  "processes have no names in the trace: %" PRIu64
			  " records came when more than %u processes ran at once",
			  perfetto->tracks.refused, TRACKS_PROCESS_COUNT_MAX);
	if (perfetto->rates_refused)
		host->log(host, IAPROF_LOG_WARNING,
			  "%" PRIu64 " amounts are not in the trace: it has no room for more than %u rates at once",
			  perfetto->rates_refused, RATES_COUNT_MAX);
	if (perfetto->rates.moved)
		host->log(host, IAPROF_LOG_INFO,
			  "%" PRIu64 " amounts came when their time had been written, and are shown later",
			  perfetto->rates.moved);
	return packets_finish(&perfetto->packets);
}

static void perfetto_destroy(const struct iaprof_host *host, void *instance)
{
	(void)host;
	struct perfetto *perfetto = instance;
	timelines_free(&perfetto->timelines);
	rates_free(&perfetto->rates);
	tracks_free(&perfetto->tracks);
	packets_free(&perfetto->packets);
	definitions_free(&perfetto->definitions);
}

static const struct iaprof_plugin perfetto_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof perfetto_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_BINARY,
	.option_size = sizeof(struct iaprof_option),
	.name = "perfetto",
	.version = PLUGIN_VERSION,
	.description = "a trace for ui.perfetto.dev: slices and counters over time",
	.extension = "pftrace",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct perfetto),
	.finish = perfetto_finish,
	.destroy = perfetto_destroy,
	.records = perfetto_records,
	.profile = perfetto_profile,
};

IAPROF_REGISTER_PLUGIN(perfetto_plugin)
