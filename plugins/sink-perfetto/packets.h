/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the packets of a trace: tracks, events, clocks and interned strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

#include "base/string_table.h"
#include "text/text.h"

/* Each kind has its own ids. */
enum packet_text_kind {
	PACKET_TEXT_CATEGORY,
	PACKET_TEXT_EVENT,
	PACKET_TEXT_KEY,
	PACKET_TEXT_VALUE,
	PACKET_TEXT_COUNT
};

struct packets {
	const struct iaprof_host *host;
	struct iaprof_output *output; /* NULL before the first packet */
	struct text text;             /* packets that were not passed to the output yet */
	struct string_table texts[PACKET_TEXT_COUNT];
	size_t text_count, text_bytes;
	bool is_begun; /* the defaults of the sequence were written, and interned ids are valid */
	int result;    /* negative errno after host->fail(): nothing more is written */
};

/* An argument of an event. */
struct packet_value {
	const char *key;
	enum { PACKET_UNSIGNED, PACKET_SIGNED, PACKET_DOUBLE, PACKET_STRING } type;
	uint64_t number;
	int64_t signed_number;
	double real;
	const char *string; /* untrusted; any bytes */
};

/* Limit on arguments of an event. */
#define PACKET_VALUE_COUNT_MAX 64

enum packet_event_type { PACKET_SLICE_BEGIN = 1, PACKET_SLICE_END = 2, PACKET_INSTANT = 3, PACKET_COUNTER = 4 };

struct packet_event {
	enum packet_event_type type;
	uint64_t track;
	uint64_t time;
	const char *name;     /* NULL: none, as for slice ends and counters */
	const char *category; /* NULL: none */
	const struct packet_value *values;
	size_t value_count;
	uint64_t flow; /* links events with the same id; 0 if none */
	double counter;
};

/* A track: of a process, of a thread, of a counter, or a named one. */
struct packet_track {
	uint64_t id;
	uint64_t parent;  /* 0 if none */
	const char *name; /* untrusted; NULL if none */
	uint32_t pid;     /* 0: not of a process */
	uint32_t tid;     /* 0: not of a thread; otherwise, name is that of the thread */
	bool is_counter;
	const char *unit; /* unit of a counter */
};

/*
 * Initialise with { .host = host }. These functions open the output with the first packet; failures are stored in
 * result.
 */
void packets_track(struct packets *packets, const struct packet_track *track);
void packets_event(struct packets *packets, const struct packet_event *event);
/* Writes a snapshot of several clocks at one time; 0 means unknown. The first call also sets the clock of the trace. */
void packets_clocks(struct packets *packets, uint64_t monotonic, uint64_t boottime, uint64_t realtime);
/* Writes an attribute of the trace. */
void packets_attribute(struct packets *packets, const char *key, const char *value);
/* Flushes all packets and closes the output. Returns result. */
int packets_finish(struct packets *packets);
void packets_free(struct packets *packets);
