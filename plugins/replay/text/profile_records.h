/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a text profile says, as the records that a replay sends: PROFILE_STACK for each distinct stack, PROFILE_VALUE
 * for each sample, LOST, counters, and SYNC as time goes on. Memory grows with what is distinct, not with the file.
 */
#ifndef IAPROF_PLUGINS_REPLAY_PROFILE_RECORDS_H
#define IAPROF_PLUGINS_REPLAY_PROFILE_RECORDS_H

#include "common/item_index.h"
#include "common/record_batch.h"
#include "text_profile.h"

struct profile_records_options {
	const char *source;     /* who lost what the file itself does not say */
	const char *value_type; /* of samples of which the file does not say */
	const char *unit;
};

struct profile_stack {
	size_t first; /* in stack_frames */
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
	uint64_t samples;      /* that were taken */
	uint64_t stacks_cut;   /* samples whose stack was too deep */
	uint64_t types_lost;   /* samples whose value type has too long a name, or is one too many */
	uint64_t numbers_lost; /* values of counters, of which there are too many */
	/* its own */
	struct iaprof_record_frame *frames; /* each once */
	size_t frame_count, frame_capacity;
	struct item_index frame_index;
	uint32_t *stack_frames;
	size_t stack_frame_count, stack_frame_capacity;
	struct profile_stack *stacks;
	size_t stack_count, stack_capacity;
	struct item_index stack_index;
	struct profile_value_type *value_types;
	size_t value_type_count, value_type_capacity;
	uint32_t *sources; /* string ids of names; a position and 1 is the source's number, the first our own */
	size_t source_count, source_capacity;
	uint32_t *counters; /* string ids of their names; a position and 1 is the counter's id */
	size_t counter_count, counter_capacity;
	bool has_begun;          /* a SYNC was sent */
	uint64_t synced, latest; /* ns of the file's time */
};

/* 0, or a negative errno after host->fail(). */
int profile_records_init(struct profile_records *records, const struct iaprof_host *host,
			 const struct profile_records_options *options);
/* What a reader's taker calls; the context is a struct profile_records. These return 0 or a negative errno. */
int profile_records_sample(void *context, const struct text_sample *sample);
int profile_records_lost(void *context, const struct text_lost *lost);
int profile_records_number(void *context, struct text_span name, int64_t value, uint64_t time);
int profile_records_time(void *context, uint64_t time);
/* Hands over what is there. */
int profile_records_flush(struct profile_records *records);
/* The same after the last sample. */
int profile_records_end(struct profile_records *records);
void profile_records_free(struct profile_records *records);

#endif
