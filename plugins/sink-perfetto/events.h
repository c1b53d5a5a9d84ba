/* SPDX-License-Identifier: Apache-2.0 */
/* Converts records to slices and instants on tracks. */
#pragma once

#include <iaprof/record.h>

#include "records/definitions.h"
#include "packets.h"
#include "timelines.h"
#include "tracks.h"

/* Limit on engines whose last job is remembered. */
#define EVENTS_ENGINE_COUNT_MAX 64u

/* Initialise with { .packets = ..., .definitions = ..., .tracks = ..., .timelines = ... }. */
struct events {
	struct packets *packets;
	const struct definitions *definitions;
	struct tracks *tracks;
	struct timelines *timelines;
	struct {
		struct track_key engine;
		uint64_t end; /* end of its last job */
	} engines[EVENTS_ENGINE_COUNT_MAX];
	uint32_t engine_count;
	uint64_t jobs; /* number of jobs so far */
};

/* Adds a call, launch, job, finding or loss. Returns false when out of memory. */
bool events_add_call(struct events *events, const struct iaprof_record_call *call, bool is_nested);
bool events_add_launch(struct events *events, const struct iaprof_record_launch *launch);
bool events_add_job(struct events *events, const struct iaprof_record_job *job);
bool events_add_finding(struct events *events, const struct iaprof_record_finding *finding);
bool events_add_lost(struct events *events, const struct iaprof_record_lost *lost);

/* Implements struct timeline_writer; the context is a struct events. */
uint64_t events_begin(void *context, const struct timeline *timeline, uint32_t lane,
		      const struct timeline_event *event);
void events_end(void *context, uint64_t track, uint64_t time);
