/* SPDX-License-Identifier: Apache-2.0 */
/* Hierarchy and names of tracks: see tracks.h. */
#include "tracks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/counter_name.h"
#include "stacks/value_label.h"

#define BUCKET_COUNT (sizeof((struct tracks *)NULL)->processes / sizeof(struct track_process *))

/* The table is cleared when it has this many tracks; describing a track twice is harmless. */
#define DESCRIBED_COUNT_MAX 65536u

static size_t bucket_of(uint32_t pid)
{
	return hash_bytes(&pid, sizeof pid) % BUCKET_COUNT;
}

static struct track_process *find_process(const struct tracks *tracks, uint32_t pid)
{
	struct track_process *process = tracks->processes[bucket_of(pid)];
	while (process && process->pid != pid)
		process = process->next;
	return process;
}

static void forget_ended(struct tracks *tracks)
{
	for (size_t i = 0; i < BUCKET_COUNT; i++)
		for (struct track_process **place = &tracks->processes[i], *process; (process = *place);) {
			if (!process->has_ended) {
				place = &process->next;
				continue;
			}
			*place = process->next;
			tracks->process_count--;
			free(process);
		}
	tracks->ended_count = 0;
}

bool tracks_process(struct tracks *tracks, const struct iaprof_record_process *record)
{
	struct track_process *process = find_process(tracks, record->pid);
	if (!process) {
		if (tracks->process_count == TRACKS_PROCESS_COUNT_MAX && tracks->ended_count >= TRACKS_ENDED_COUNT_MIN)
			forget_ended(tracks);
		if (tracks->process_count == TRACKS_PROCESS_COUNT_MAX) {
			tracks->refused++;
			return true;
		}
		process = calloc(1, sizeof *process);
		if (!process)
			return false;
		process->pid = record->pid;
		struct track_process **bucket = &tracks->processes[bucket_of(record->pid)];
		process->next = *bucket;
		*bucket = process;
		tracks->process_count++;
	}
	if (process->has_ended && record->event != IAPROF_PROCESS_EXIT) {
		process->has_ended = false;
		tracks->ended_count--;
		process->reuse++;
		process->name = process->shown = 0;
	}
	if (record->event == IAPROF_PROCESS_EXIT && !process->has_ended) {
		process->has_ended = true;
		tracks->ended_count++;
	}
	if (record->name)
		process->name = record->name;
	return true;
}

const char *tracks_process_name(const struct tracks *tracks, uint32_t pid)
{
	const struct track_process *process = find_process(tracks, pid);
	return process && process->name ? definitions_text(tracks->definitions, process->name) : "";
}

/* Returns whether a track has not been described yet; when out of memory, it is described again. */
static bool is_new(struct tracks *tracks, uint64_t id)
{
	bool is_added = false;
	if (tracks->described.entries.count >= DESCRIBED_COUNT_MAX)
		string_table_free(&tracks->described);
	return !string_table_add(&tracks->described, (const char *)&id, sizeof id, &is_added) || is_added;
}

/* IDs are part of the trace and must be reproducible, so the hash has no secret key. */
static uint64_t id_add(uint64_t id, uint32_t number)
{
	id = (id ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return id ^ id >> 29;
}

static uint64_t id_of(const struct track_key *key, uint32_t lane)
{
	uint64_t id = id_add(0x6961, key->kind);
	for (int i = 0; i < 3; i++)
		id = id_add(id, key->numbers[i]);
	id = id_add(id, lane);
	return id ? id : 1;
}

static uint64_t process_track(struct tracks *tracks, uint32_t pid)
{
	struct track_process *process = find_process(tracks, pid);
	const struct track_key key = { TRACK_PROCESS, { pid, process ? process->reuse : 0, 0 } };
	uint64_t id = id_of(&key, 0);
	if (!is_new(tracks, id) && (!process || process->shown == process->name))
		return id;
	if (process)
		process->shown = process->name;
	packets_track(tracks->packets,
		      &(struct packet_track){ .id = id, .pid = pid, .name = tracks_process_name(tracks, pid) });
	return id;
}

/*
 * The main thread has the name of its process. name: of another thread, NULL if it is not known. A later description
 * replaces an earlier one, unless it has no name or the name of the process: a thread has the process's name before it
 * gets its own, and samples of one time step are unordered.
 */
static uint64_t describe_thread(struct tracks *tracks, uint32_t pid, uint32_t tid, const char *name)
{
	const struct track_process *process = find_process(tracks, pid);
	const struct track_key key = { TRACK_THREAD, { pid, tid, process ? process->reuse : 0 } };
	const char *process_name = tracks_process_name(tracks, pid);
	uint64_t id = id_of(&key, 0), parent = process_track(tracks, pid), described = id;
	uint64_t inherited = id_add(id, 0);
	bool has_own_name = tid != pid && name && strcmp(name, process_name) != 0;
	if (tid == pid)
		name = process_name;
	else if (has_own_name)
		for (const char *letter = name; *letter; letter++)
			described = id_add(described, (unsigned char)*letter);
	else if (name)
		described = inherited;
	bool was_described = !is_new(tracks, described);
	if (described != id)
		(void)is_new(tracks, id);
	if (has_own_name)
		(void)is_new(tracks, inherited);
	if (!was_described)
		packets_track(
			tracks->packets,
			&(struct packet_track){ .id = id, .parent = parent, .name = name, .pid = pid, .tid = tid });
	return id;
}

static uint64_t thread_track(struct tracks *tracks, uint32_t pid, uint32_t tid)
{
	return describe_thread(tracks, pid, tid, NULL);
}

void tracks_name_thread(struct tracks *tracks, uint32_t pid, uint32_t tid, const char *name)
{
	if (pid && tid && name && *name)
		describe_thread(tracks, pid, tid, name);
}

/* Returns the track of a thread, of a process (tid 0), or the top level (pid 0): 0. */
static uint64_t owner_track(struct tracks *tracks, uint32_t pid, uint32_t tid)
{
	if (!pid)
		return 0;
	return tid ? thread_track(tracks, pid, tid) : process_track(tracks, pid);
}

static const struct iaprof_record_device *find_device(const struct tracks *tracks, uint32_t source, uint32_t device)
{
	return definitions_find(tracks->definitions, IAPROF_RECORD_DEVICE, (uint16_t)source, device);
}

/* As the core does, for sources that do not state the kind. */
static uint32_t kind_of_device(const struct tracks *tracks, const struct iaprof_record_device *device)
{
	bool has_kind = device && device->header.size >= sizeof *device;
	bool has_name = device && device->header.size >= offsetof(struct iaprof_record_device, kind);
	const char *name = has_name && device->value_name ? definitions_text(tracks->definitions, device->value_name)
							  : "gpu-stalls";
	return has_kind && device->kind ? device->kind : device_kind_of_name(name);
}

void tracks_device(struct tracks *tracks, const struct iaprof_record_device *device)
{
	uint32_t kind = kind_of_device(tracks, device);
	if (!device->machine)
		return;
	tracks->has_device_kinds |= tracks->device_kind && tracks->device_kind != kind;
	tracks->device_kind = kind;
}

static void set_device(const struct tracks *tracks, const struct track_key *key, struct text *name)
{
	const struct iaprof_record_device *device = find_device(tracks, key->numbers[0], key->numbers[1]);
	if (!device) {
		text_append_format(name, "device %" PRIu32, key->numbers[1]);
		return;
	}
	text_append_string(name, definitions_text(tracks->definitions, device->name));
	if (device->address)
		text_append_format(name, " (%s)", definitions_text(tracks->definitions, device->address));
}

static uint64_t device_track(struct tracks *tracks, const struct track_key *key)
{
	return tracks_find(tracks, &(struct track_key){ TRACK_DEVICE, { key->numbers[0], key->numbers[1], 0 } }, 0);
}

/* Describes a counter of a source. */
static void set_counter(struct tracks *tracks, const struct track_key *key, struct packet_track *track,
			struct text *name)
{
	const struct iaprof_record_counter *counter = definitions_find(tracks->definitions, IAPROF_RECORD_COUNTER,
								       (uint16_t)key->numbers[0], key->numbers[1]);
	track->is_counter = true;
	if (!counter) {
		text_append_format(name, "counter %" PRIu32, key->numbers[1]);
	} else {
		bool has_all = counter->header.size >= sizeof *counter; /* as in iaprof/record.h */
		counter_name_append(name, definitions_text(tracks->definitions, counter->name),
				    has_all ? definitions_text(tracks->definitions, counter->engine) : "",
				    has_all ? definitions_text(tracks->definitions, counter->labels) : "",
				    has_all ? counter->pid : 0);
		track->unit = definitions_text(tracks->definitions, counter->unit);
	}
	const struct track_key source = { TRACK_SOURCE, { key->numbers[0], 0, 0 } };
	const struct track_key device = { TRACK_DEVICE, { key->numbers[0], counter ? counter->device : 0, 0 } };
	track->parent = tracks_find(tracks, counter && counter->device ? &device : &source, 0);
}

static struct iaprof_value_type value_type_of(const struct tracks *tracks,
					      const struct iaprof_record_value_type *record)
{
	struct iaprof_value_type type = { .name = "samples", .unit = "" };
	if (!record)
		return type;
	type.name = definitions_text(tracks->definitions, record->name);
	type.unit = definitions_text(tracks->definitions, record->unit);
	type.role = value_role_of_name(type.name, type.unit);
	if (iaprof_record_value_type_has_role(record)) {
		type.role = record->role;
		type.device_kind = record->device_kind;
	}
	return type;
}

static void set_value(struct tracks *tracks, const struct track_key *key, struct packet_track *track, struct text *name)
{
	const struct iaprof_value_type type = value_type_of(
		tracks, definitions_find(tracks->definitions, IAPROF_RECORD_VALUE_TYPE, 0, key->numbers[0]));
	bool is_time = strcmp(type.unit, "nanoseconds") == 0;
	track->is_counter = true;
	/* Seconds per second: how many CPUs were in use, or threads waited, on average. */
	track->unit = !is_time ? "samples/s" : type.role == IAPROF_VALUE_CPU_TIME ? "CPUs" : "threads";
	track->parent = owner_track(tracks, key->numbers[1], 0);
	value_type_append_title(name, &type);
	text_append_string(name, key->numbers[1] ? "" : " of all processes");
}

/* Describes the samples of a device, of one stall reason or all. */
static void set_samples(struct tracks *tracks, const struct track_key *key, struct packet_track *track,
			struct text *name)
{
	const struct iaprof_record_device *device = find_device(tracks, key->numbers[0], key->numbers[1]);
	bool has_kind = device && device->header.size >= sizeof *device;
	const struct iaprof_value_type type = { .role = IAPROF_VALUE_DEVICE_SAMPLES,
						.device_kind = kind_of_device(tracks, device),
						.sample_unit = has_kind && device->sample_unit
								       ? definitions_text(tracks->definitions,
											  device->sample_unit)
								       : NULL };
	const struct iaprof_record_stall_reason *reason = definitions_find(
		tracks->definitions, IAPROF_RECORD_STALL_REASON, (uint16_t)key->numbers[0], key->numbers[2]);
	track->is_counter = true;
	track->unit = "samples/s";
	track->parent = device_track(tracks, key);
	value_type_append_title(name, &type);
	if (key->kind == TRACK_SAMPLES)
		return;
	if (reason)
		text_append_format(name, ": %s", definitions_text(tracks->definitions, reason->name));
	else
		text_append_format(name, ": reason %" PRIu32, key->numbers[2]);
}

/* Describes a named track below its parent. */
static void describe(struct tracks *tracks, const struct track_key *key, struct packet_track *track, struct text *name)
{
	const uint32_t *numbers = key->numbers;
	const struct iaprof_record_source *source;

	switch (key->kind) {
	case TRACK_RUN:
		text_append_string(name, "iaprof");
		break;
	case TRACK_LOST:
		text_append_string(name, "lost");
		break;
	case TRACK_SOURCE:
		source = definitions_find(tracks->definitions, IAPROF_RECORD_SOURCE, 0, numbers[0]);
		text_append_string(name, source ? definitions_text(tracks->definitions, source->name) : "iaprof");
		break;
	case TRACK_DEVICE:
		set_device(tracks, key, name);
		break;
	case TRACK_ENGINE:
		track->parent = device_track(tracks, key);
		text_append_string(name, numbers[2] ? definitions_text(tracks->definitions, numbers[2]) : "jobs");
		break;
	case TRACK_CALLS:
		track->parent = owner_track(tracks, numbers[0], numbers[1]);
		text_append_string(name, numbers[0] ? "calls" : "calls of no program");
		break;
	case TRACK_LAUNCHES:
		track->parent = owner_track(tracks, numbers[0], numbers[1]);
		if (tracks->device_kind && !tracks->has_device_kinds)
			text_append_format(name, "%s ", device_kind_word(tracks->device_kind));
		text_append_string(name, "kernel launches");
		break;
	case TRACK_JOBS:
		track->parent = owner_track(tracks, numbers[0], 0);
		text_append_string(name, "jobs that wait");
		break;
	case TRACK_FINDINGS:
		track->parent = owner_track(tracks, numbers[0], 0);
		text_append_string(name, "findings");
		break;
	case TRACK_COUNTER:
		set_counter(tracks, key, track, name);
		break;
	case TRACK_SAMPLES:
	case TRACK_STALL_REASON:
		set_samples(tracks, key, track, name);
		break;
	case TRACK_BUSY:
		track->is_counter = true;
		track->unit = "%";
		track->parent = device_track(tracks, key);
		text_append_string(name, numbers[2] == IAPROF_ACTIVITY_SCHEDULER ? "busy" : "busy, by statistics");
		break;
	case TRACK_CALL_RATE:
		track->is_counter = true;
		track->unit = "calls/s";
		track->parent = tracks_find(tracks, &(struct track_key){ TRACK_SOURCE, { numbers[0], 0, 0 } }, 0);
		text_append_string(name, definitions_text(tracks->definitions, numbers[1]));
		break;
	case TRACK_VALUE:
		set_value(tracks, key, track, name);
		break;
	default:
		break;
	}
}

uint64_t tracks_find(struct tracks *tracks, const struct track_key *key, uint32_t lane)
{
	/* A thread's calls are shown on the thread's own track. */
	if (key->kind == TRACK_CALLS && key->numbers[0] && key->numbers[1] && !lane)
		return thread_track(tracks, key->numbers[0], key->numbers[1]);
	if (key->kind == TRACK_PROCESS)
		return process_track(tracks, key->numbers[0]);
	if (key->kind == TRACK_THREAD)
		return thread_track(tracks, key->numbers[0], key->numbers[1]);
	uint64_t id = id_of(key, lane);
	const struct track_process *process =
		key->kind >= TRACK_CALLS && key->kind <= TRACK_FINDINGS ? find_process(tracks, key->numbers[0]) : NULL;
	if (process)
		id = id_add(id, process->reuse);
	if (!is_new(tracks, id))
		return id;
	struct text name = { 0 };
	struct packet_track track = { .id = id };
	describe(tracks, key, &track, &name);
	track.name = text_string(&name);
	packets_track(tracks->packets, &track);
	text_free(&name);
	return id;
}

void tracks_free(struct tracks *tracks)
{
	for (size_t i = 0; i < BUCKET_COUNT; i++)
		for (struct track_process *process = tracks->processes[i], *next; process; process = next) {
			next = process->next;
			free(process);
		}
	string_table_free(&tracks->described);
}
