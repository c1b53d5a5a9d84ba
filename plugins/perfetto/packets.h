/* SPDX-License-Identifier: Apache-2.0 */
/* The packets of a trace, written as they are made: tracks, events on them, clocks, and each text only once. */
#ifndef IAPROF_PLUGINS_PERFETTO_PACKETS_H
#define IAPROF_PLUGINS_PERFETTO_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

#include "common/item_index.h"
#include "common/text.h"

/* A text that the trace has, which later packets name by its number, 1 + position. */
struct packet_text {
	uint32_t kind; /* enum packet_text_kind */
	char *text;
};
enum packet_text_kind { PACKET_TEXT_CATEGORY, PACKET_TEXT_EVENT, PACKET_TEXT_KEY, PACKET_TEXT_VALUE };

struct packets {
	const struct iaprof_host *host;
	struct iaprof_output *output; /* NULL before the first packet */
	struct text text;             /* packets that are not handed to the output yet */
	struct packet_text *texts;
	size_t text_count, text_capacity, text_bytes;
	struct item_index index; /* of texts */
	bool is_begun;           /* the sequence has its defaults, and texts mean something */
	int result;              /* negative errno after host->fail(): nothing more is written */
};

/* One value that is told of an event. */
struct packet_value {
	const char *key;
	enum { PACKET_UNSIGNED, PACKET_SIGNED, PACKET_DOUBLE, PACKET_STRING } type;
	uint64_t number;
	int64_t signed_number;
	double real;
	const char *string; /* any bytes; anybody's */
};

/* The most values that one event can have. */
#define PACKET_VALUE_COUNT_MAX 64

enum packet_event_type { PACKET_SLICE_BEGIN = 1, PACKET_SLICE_END = 2, PACKET_INSTANT = 3, PACKET_COUNTER = 4 };

struct packet_event {
	enum packet_event_type type;
	uint64_t track;
	uint64_t time;
	const char *name;     /* NULL: none, as for ends and counters */
	const char *category; /* NULL: none */
	const struct packet_value *values;
	size_t value_count;
	uint64_t flow; /* joins the events that have the same one; 0 none */
	double counter;
};

/* A track: of a process, of a thread, of a counter, or by its name. */
struct packet_track {
	uint64_t id;
	uint64_t parent;  /* 0 none */
	const char *name; /* anybody's; NULL none */
	uint32_t pid;     /* 0: not of a process */
	uint32_t tid;     /* 0: not of a thread */
	bool is_counter;
	const char *unit; /* of a counter */
};

/* Initialise with { .host = host }; these open the output with the first packet. Failures are in result. */
void packets_track(struct packets *packets, const struct packet_track *track);
void packets_event(struct packets *packets, const struct packet_event *event);
/* The same moment on several clocks; 0 for those that are not known. The first one also says which the trace is in. */
void packets_clocks(struct packets *packets, uint64_t monotonic, uint64_t boottime, uint64_t realtime);
/* A fact about the whole trace. */
void packets_attribute(struct packets *packets, const char *key, const char *value);
/* Hands all packets on, and closes the output. Returns result. */
int packets_finish(struct packets *packets);
void packets_free(struct packets *packets);

#endif
