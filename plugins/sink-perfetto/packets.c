/* SPDX-License-Identifier: Apache-2.0 */
/* See packets.h. */
#include "packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packets_write.h"

/* ID of the packet sequence, which is the scope of interned strings. Arbitrary. */
#define SEQUENCE 1

/* Size of a write, in bytes. */
#define WRITE_SIZE 65536u

/* Limits on the interning table, which is then cleared. */
#define TEXT_COUNT_MAX 16384u
#define TEXT_BYTES_MAX (16u << 20)

static void fail(struct packets *packets)
{
	if (!packets->result)
		packets->result = packets->host->fail(packets->host, ENOMEM, "out of memory for the trace");
}

static void flush(struct packets *packets, size_t at_least)
{
	if (packets->text.failed)
		fail(packets);
	if (packets->result || packets->text.size < at_least)
		return;
	packets->result = text_write(&packets->text, packets->host, packets->output);
}

void packets_write(struct packets *packets, const PerfettoTrace__Packet *packet)
{
	if (packets->result)
		return;
	if (!packets->output) {
		packets->output = packets->host->output_open(packets->host, NULL, 0);
		if (!packets->output)
			packets->result = -EIO;
	}
	size_t size = perfetto_trace__packet__get_packed_size(packet);
	if (packets->result)
		return;
	text_append(&packets->text, "\x0a", 1); /* field 1 of a Trace */
	size_t rest = size;
	do {
		char byte = (char)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
		text_append(&packets->text, &byte, 1);
		rest >>= 7;
	} while (rest);
	if (text_reserve(&packets->text, size))
		packets->text.size +=
			perfetto_trace__packet__pack(packet, (uint8_t *)packets->text.data + packets->text.size);
	flush(packets, WRITE_SIZE);
}

static void forget_texts(struct packets *packets)
{
	for (size_t i = 0; i < PACKET_TEXT_COUNT; i++)
		string_table_free(&packets->texts[i]);
	packets->text_count = packets->text_bytes = 0;
}

/* Writes the defaults of the sequence, at first and whenever the interning table is cleared. */
static void begin_sequence(struct packets *packets)
{
	if (packets->is_begun && packets->text_count < TEXT_COUNT_MAX && packets->text_bytes < TEXT_BYTES_MAX)
		return;
	forget_texts(packets);
	PerfettoTrace__PacketDefaults defaults = PERFETTO_TRACE__PACKET_DEFAULTS__INIT;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = CLOCK_NUMBER_MONOTONIC;
	PerfettoTrace__Packet packet = PERFETTO_TRACE__PACKET__INIT;
	packet.has_trusted_packet_sequence_id = packet.has_sequence_flags = true;
	packet.trusted_packet_sequence_id = SEQUENCE;
	packet.sequence_flags = SEQUENCE_BEGINS;
	packet.trace_packet_defaults = &defaults;
	packets_write(packets, &packet);
	packets->is_begun = true;
}

/* New interned strings of a packet. */
struct new_texts {
	PerfettoTrace__InternedText items[2 + 2 * PACKET_VALUE_COUNT_MAX];
	PerfettoTrace__InternedText *pointers[4][1 + PACKET_VALUE_COUNT_MAX];
	size_t counts[4], count;
};

/* Returns the ID of a sanitized text; 0 after a failure. */
static uint64_t intern(struct packets *packets, struct new_texts *new_texts, enum packet_text_kind kind,
		       const char *name)
{
	struct text safe = { 0 };
	bool is_new = false;
	text_append_name(&safe, name);
	const char *text = text_string(&safe);
	uint32_t id = safe.failed ? 0 : string_table_add(&packets->texts[kind], text, safe.size, &is_new);
	if (!id)
		fail(packets);
	if (is_new) {
		PerfettoTrace__InternedText *item = &new_texts->items[new_texts->count++];
		perfetto_trace__interned_text__init(item);
		item->has_iid = true;
		item->iid = id;
		item->name = (char *)(uintptr_t)string_table_text(&packets->texts[kind], id);
		new_texts->pointers[kind][new_texts->counts[kind]++] = item;
		packets->text_count++;
		packets->text_bytes += safe.size;
	}
	text_free(&safe);
	return id;
}

static void set_value(struct packets *packets, struct new_texts *new_texts, PerfettoTrace__DebugAnnotation *annotation,
		      const struct packet_value *value)
{
	perfetto_trace__debug_annotation__init(annotation);
	annotation->has_name_iid = true;
	annotation->name_iid = intern(packets, new_texts, PACKET_TEXT_KEY, value->key);
	switch (value->type) {
	case PACKET_UNSIGNED:
		annotation->has_uint_value = true;
		annotation->uint_value = value->number;
		return;
	case PACKET_SIGNED:
		annotation->has_int_value = true;
		annotation->int_value = value->signed_number;
		return;
	case PACKET_DOUBLE:
		annotation->has_double_value = true;
		annotation->double_value = value->real;
		return;
	case PACKET_STRING:
		annotation->has_string_value_iid = true;
		annotation->string_value_iid = intern(packets, new_texts, PACKET_TEXT_VALUE, value->string);
		return;
	}
}

void packets_event(struct packets *packets, const struct packet_event *event)
{
	if (packets->result)
		return;
	begin_sequence(packets);
	struct new_texts new_texts;
	new_texts.count = 0;
	memset(new_texts.counts, 0, sizeof new_texts.counts);
	PerfettoTrace__DebugAnnotation annotations[PACKET_VALUE_COUNT_MAX];
	PerfettoTrace__DebugAnnotation *pointers[PACKET_VALUE_COUNT_MAX];
	PerfettoTrace__TrackEvent track_event = PERFETTO_TRACE__TRACK_EVENT__INIT;
	PerfettoTrace__InternedData interned = PERFETTO_TRACE__INTERNED_DATA__INIT;
	PerfettoTrace__Packet packet = PERFETTO_TRACE__PACKET__INIT;
	uint64_t category, flow = event->flow;

	packet.has_timestamp = packet.has_trusted_packet_sequence_id = packet.has_sequence_flags = true;
	packet.timestamp = event->time;
	packet.trusted_packet_sequence_id = SEQUENCE;
	packet.sequence_flags = SEQUENCE_CONTINUES;
	packet.track_event = &track_event;
	track_event.has_type = track_event.has_track_uuid = true;
	track_event.type = event->type;
	track_event.track_uuid = event->track;
	if (event->name) {
		track_event.has_name_iid = true;
		track_event.name_iid = intern(packets, &new_texts, PACKET_TEXT_EVENT, event->name);
	}
	if (event->category) {
		category = intern(packets, &new_texts, PACKET_TEXT_CATEGORY, event->category);
		track_event.category_iids = &category;
		track_event.n_category_iids = 1;
	}
	size_t count = event->value_count < PACKET_VALUE_COUNT_MAX ? event->value_count : PACKET_VALUE_COUNT_MAX;
	for (size_t i = 0; i < count; i++) {
		set_value(packets, &new_texts, &annotations[i], &event->values[i]);
		pointers[i] = &annotations[i];
	}
	track_event.debug_annotations = pointers;
	track_event.n_debug_annotations = count;
	if (flow) {
		track_event.flow_ids = &flow;
		track_event.n_flow_ids = 1;
	}
	if (event->type == PACKET_COUNTER) {
		track_event.has_double_counter_value = true;
		track_event.double_counter_value = event->counter;
	}
	if (new_texts.count) {
		packet.interned_data = &interned;
		interned.event_categories = new_texts.pointers[PACKET_TEXT_CATEGORY];
		interned.n_event_categories = new_texts.counts[PACKET_TEXT_CATEGORY];
		interned.event_names = new_texts.pointers[PACKET_TEXT_EVENT];
		interned.n_event_names = new_texts.counts[PACKET_TEXT_EVENT];
		interned.debug_annotation_names = new_texts.pointers[PACKET_TEXT_KEY];
		interned.n_debug_annotation_names = new_texts.counts[PACKET_TEXT_KEY];
		interned.debug_annotation_string_values = new_texts.pointers[PACKET_TEXT_VALUE];
		interned.n_debug_annotation_string_values = new_texts.counts[PACKET_TEXT_VALUE];
	}
	packets_write(packets, &packet);
}

void packets_track(struct packets *packets, const struct packet_track *track)
{
	if (packets->result)
		return;
	begin_sequence(packets);
	PerfettoTrace__TrackDescriptor descriptor = PERFETTO_TRACE__TRACK_DESCRIPTOR__INIT;
	PerfettoTrace__ProcessDescriptor process = PERFETTO_TRACE__PROCESS_DESCRIPTOR__INIT;
	PerfettoTrace__ThreadDescriptor thread = PERFETTO_TRACE__THREAD_DESCRIPTOR__INIT;
	PerfettoTrace__CounterDescriptor counter = PERFETTO_TRACE__COUNTER_DESCRIPTOR__INIT;
	PerfettoTrace__Packet packet = PERFETTO_TRACE__PACKET__INIT;
	struct text name = { 0 }, unit = { 0 };

	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = SEQUENCE;
	packet.track_descriptor = &descriptor;
	descriptor.has_uuid = true;
	descriptor.uuid = track->id;
	descriptor.has_parent_uuid = track->parent != 0;
	descriptor.parent_uuid = track->parent;
	if (track->name) {
		text_append_name(&name, track->name);
		if (!*text_string(&name) && name.failed)
			fail(packets);
	}
	if (track->tid) {
		thread.has_pid = thread.has_tid = true;
		thread.pid = (int32_t)track->pid;
		thread.tid = track->tid;
		thread.thread_name = name.data;
		descriptor.thread = &thread;
	} else if (track->pid) {
		process.has_pid = true;
		process.pid = (int32_t)track->pid;
		process.process_name = name.data;
		descriptor.process = &process;
	} else {
		descriptor.name = name.data;
	}
	if (track->is_counter) {
		descriptor.counter = &counter;
		text_append_name(&unit, track->unit ? track->unit : "");
		counter.unit_name = (char *)(uintptr_t)text_string(&unit);
	}
	packets_write(packets, &packet);
	text_free(&name);
	text_free(&unit);
}

void packets_clocks(struct packets *packets, uint64_t monotonic, uint64_t boottime, uint64_t realtime)
{
	const struct {
		uint32_t clock;
		uint64_t time;
	} known[] = { { CLOCK_NUMBER_MONOTONIC, monotonic },
		      { CLOCK_NUMBER_BOOTTIME, boottime },
		      { CLOCK_NUMBER_REALTIME, realtime } };
	PerfettoTrace__ClockSnapshot snapshot = PERFETTO_TRACE__CLOCK_SNAPSHOT__INIT;
	PerfettoTrace__ClockSnapshot__Clock clocks[3], *pointers[3];
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (i && !known[i].time)
			continue;
		PerfettoTrace__ClockSnapshot__Clock *clock = &clocks[snapshot.n_clocks];
		perfetto_trace__clock_snapshot__clock__init(clock);
		clock->has_clock_id = clock->has_timestamp = true;
		clock->clock_id = known[i].clock;
		clock->timestamp = known[i].time;
		pointers[snapshot.n_clocks++] = clock;
	}
	snapshot.clocks = pointers;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = CLOCK_NUMBER_MONOTONIC;
	PerfettoTrace__Packet packet = PERFETTO_TRACE__PACKET__INIT;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = SEQUENCE;
	packet.clock_snapshot = &snapshot;
	packets_write(packets, &packet);
}

void packets_attribute(struct packets *packets, const char *key, const char *value)
{
	struct text safe_key = { 0 }, safe_value = { 0 };
	text_append_name(&safe_key, key);
	text_append_name(&safe_value, value);
	PerfettoTrace__TraceAttributes__Attribute attribute = PERFETTO_TRACE__TRACE_ATTRIBUTES__ATTRIBUTE__INIT;
	PerfettoTrace__TraceAttributes__Attribute *pointer = &attribute;
	PerfettoTrace__TraceAttributes attributes = PERFETTO_TRACE__TRACE_ATTRIBUTES__INIT;
	PerfettoTrace__Packet packet = PERFETTO_TRACE__PACKET__INIT;
	attribute.key = (char *)(uintptr_t)text_string(&safe_key);
	attribute.string_value = (char *)(uintptr_t)text_string(&safe_value);
	attributes.attribute = &pointer;
	attributes.n_attribute = 1;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = SEQUENCE;
	packet.trace_attributes = &attributes;
	if (safe_key.failed || safe_value.failed)
		fail(packets);
	packets_write(packets, &packet);
	text_free(&safe_key);
	text_free(&safe_value);
}

int packets_finish(struct packets *packets)
{
	begin_sequence(packets);
	flush(packets, 0);
	if (packets->result)
		return packets->result;
	struct iaprof_output *output = packets->output;
	packets->output = NULL;
	return packets->result = packets->host->output_close(packets->host, output);
}

void packets_free(struct packets *packets)
{
	forget_texts(packets);
	text_free(&packets->text);
}
