/* SPDX-License-Identifier: Apache-2.0 */
/* What a record is in a trace: a slice or an instant on a track, with what is told of it. */
#ifndef IAPROF_PLUGINS_PERFETTO_EVENTS_H
#define IAPROF_PLUGINS_PERFETTO_EVENTS_H

#include <iaprof/record.h>

#include "common/definitions.h"
#include "packets.h"
#include "timelines.h"
#include "tracks.h"

/* The most engines of which the last job is known. */
#define EVENTS_ENGINE_COUNT_MAX 64u

/* Initialise with { .packets = ..., .definitions = ..., .tracks = ..., .timelines = ... }. */
struct events {
	struct packets *packets;
	const struct definitions *definitions;
	struct tracks *tracks;
	struct timelines *timelines;
	struct {
		struct track_key engine;
		uint64_t end; /* of its last job */
	} engines[EVENTS_ENGINE_COUNT_MAX];
	uint32_t engine_count;
	uint64_t jobs; /* how many there were */
};

/* The calls and launches of a record that is one event, a job, a finding or a loss. False when out of memory. */
bool events_add_call(struct events *events, const struct iaprof_record_call *call, bool is_nested);
bool events_add_launch(struct events *events, const struct iaprof_record_launch *launch);
bool events_add_job(struct events *events, const struct iaprof_record_job *job);
bool events_add_finding(struct events *events, const struct iaprof_record_finding *finding);
bool events_add_lost(struct events *events, const struct iaprof_record_lost *lost);

/* For struct timeline_writer: context is a struct events. */
uint64_t events_begin(void *context, const struct timeline *timeline, uint32_t lane,
		      const struct timeline_event *event);
void events_end(void *context, uint64_t track, uint64_t time);

#endif
