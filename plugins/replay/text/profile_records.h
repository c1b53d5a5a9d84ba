/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a text profile into the records of a replay: PROFILE_STACK for each distinct stack, PROFILE_VALUE for each
 * sample, LOST, counters, and SYNC as time advances. Memory grows with the number of distinct items, not with the file.
 */
#pragma once

#include "base/array.h"
#include "base/item_index.h"
#include "records/record_batch.h"
#include "text_profile.h"

struct profile_records_options {
	const char *source;     /* source of losses for which the file names no source */
	const char *value_type; /* value type of samples for which the file names none */
	const char *unit;
};

struct profile_stack {
	size_t first; /* position in stack_frames */
	uint32_t count;
};

struct profile_value_type {
	char *name;
	const char *unit;
	uint32_t id;
};

/* Initialise with {0} before profile_records_init(). */
struct profile_records {
	struct profile_records_options options;
	struct record_batch batch;
	uint64_t samples;      /* number of samples so far */
	uint64_t stacks_cut;   /* samples with too deep a stack */
	uint64_t types_lost;   /* samples beyond the limit on value types, or whose value type has too long a name */
	uint64_t numbers_lost; /* values of counters beyond the limit */
	/* Private members. */
	ARRAY(struct iaprof_record_frame) frames; /* each stored once */
	struct item_index frame_index;
	ARRAY(uint32_t) stack_frames;
	ARRAY(struct profile_stack) stacks;
	struct item_index stack_index;
	ARRAY(struct profile_value_type) value_types;
	ARRAY(uint32_t)
	sources; /* string ids of names; a source's number is its position + 1, and the first is replay's own */
	ARRAY(uint32_t) counters; /* string ids of names; a counter's id is its position + 1 */
	bool has_begun;           /* a SYNC was sent */
	uint64_t synced, latest;  /* ns of the file's time */
};

/* Returns 0, or a negative errno after host->fail(). */
int profile_records_init(struct profile_records *records, const struct iaprof_host *host,
			 const struct profile_records_options *options);
/* Functions for a reader's taker; the context is a struct profile_records. They return 0 or a negative errno. */
int profile_records_sample(void *context, const struct text_sample *sample);
int profile_records_lost(void *context, const struct text_lost *lost);
int profile_records_number(void *context, struct text_span name, int64_t value, uint64_t time);
int profile_records_time(void *context, uint64_t time);
/* Sends pending records. */
int profile_records_flush(struct profile_records *records);
/* Sends pending records after the last sample. */
int profile_records_end(struct profile_records *records);
void profile_records_free(struct profile_records *records);
