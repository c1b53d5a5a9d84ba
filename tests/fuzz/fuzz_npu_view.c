/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what the flame graph's page shows of jobs and calls, from records of a capture that nobody wrote
 * honestly. The input is records laid end to end; those that are well formed are taken as by the sink, and the JSON
 * that comes out must be one, and have every job and call in it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bus/record_check.h"
#include "page_names.h"
#include "page_npu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Brackets that match, strings that end, and nothing else but what numbers are made of. */
static void check_json(const struct text *text)
{
	char open[64];
	size_t depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < text->size; i++) {
		char c = text->data[i];
		if (in_string) {
			check((unsigned char)c >= ' ');
			i += c == '\\';
			in_string = c != '"';
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			check(depth < sizeof open);
			open[depth++] = c;
		} else if (c == '}' || c == ']') {
			check(depth > 0 && open[--depth] == (c == '}' ? '{' : '['));
		} else {
			check(c && strchr(",:0123456789.e+-", c));
		}
	}
	check(!in_string && !depth);
}

static uint64_t counted(const struct npu_events *events)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < events->timeline.track_count; i++) {
		const struct track *track = &events->timeline.tracks[i];
		uint64_t kept = track->slots ? track->count : 0;
		for (uint32_t k = 0; k < track->moment_count; k++)
			check(!__builtin_add_overflow(kept, track->moments[k].count, &kept) ||
			      track->count == UINT64_MAX);
		check(track->count == UINT64_MAX || kept == track->count);
		check(track->moment_count <= TIMELINE_MOMENTS_MAX && !(track->slots && track->moments));
		for (uint32_t k = 0; k < track->moment_count; k++)
			check(track->moments[k].begin <= track->moments[k].end &&
			      track->moments[k].begin >= events->timeline.begin &&
			      track->moments[k].end <= events->timeline.end);
		count = __builtin_add_overflow(count, track->count, &count) ? UINT64_MAX : count;
	}
	return count;
}

/* Takes the records up to the first that is malformed; *sent: jobs and calls. */
static void take_all(struct npu_events *events, struct definitions *names, const uint64_t *records, size_t size,
		     uint64_t *sent)
{
	for (size_t at = 0; at < size;) {
		const struct iaprof_record *record = (const void *)((const char *)records + at);
		uint64_t count = 0;
		struct error error;
		if (record_check(record, size - at, &error))
			return;
		if (record->type == IAPROF_RECORD_JOB)
			count = 1;
		else if (record->type == IAPROF_RECORD_CALL)
			count = ((const struct iaprof_record_call *)record)->count;
		*sent = __builtin_add_overflow(*sent, count, sent) ? UINT64_MAX : *sent;
		check(!page_names_take(names, record));
		check(npu_events_take(events, record));
		at += record->size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct npu_events *events = calloc(1, sizeof *events);
	struct definitions names = { 0 };
	const struct iaprof_profile profile = { .begin = 1000, .end = 2000 };
	struct text text = { 0 };
	uint64_t sent = 0;
	/* Records have to be where their members are aligned. */
	uint64_t *records = malloc(size + 8);
	check(events && records);
	events->definitions = &names;
	memcpy(records, data, size);
	/* Of some inputs next to nothing is kept one by one: then they reach the slots. */
	if (size && data[size - 1] % 2)
		events->timeline.moments_max = 1 + data[size - 1] / 2;
	take_all(events, &names, records, size, &sent);
	uint64_t kept = counted(events);
	kept = __builtin_add_overflow(kept, events->calls.unplaced, &kept) ? UINT64_MAX : kept;
	check(kept == sent || sent == UINT64_MAX || kept == UINT64_MAX);
	page_npu_append(&text, events, &profile);
	check(!text.failed);
	check_json(&text);
	text_free(&text);
	free(records);
	npu_events_free(events);
	definitions_free(&names);
	free(events);
	return 0;
}
