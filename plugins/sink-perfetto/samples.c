/* SPDX-License-Identifier: Apache-2.0 */
/* See samples.h. */
#include "samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_table.h"
#include "packets_write.h"
#include "stacks/different_frames.h"
#include "stacks/profile_facts.h"
#include "stacks/timed_values.h"
#include "stacks/value_label.h"

/* Each value type has a packet sequence, which Perfetto shows as a session; that of events is 1. */
#define SEQUENCE_FIRST 2u

/* IDs of interned data: frames by number + 1, callstacks by stack + 1, functions as their frames. */
struct writer {
	struct packets *packets;
	const struct iaprof_profile *profile;
	const struct different_frames *frames;
	struct string_table files; /* paths of mappings, which have the ids of their paths */
	bool *has_frame, *has_stack;
	uint32_t sequence;
	uint64_t *rests; /* by stack: value that is less than a sample */
	uint64_t period;
	bool failed;
};

static PerfettoTrace__Packet packet_of(const struct writer *writer, uint32_t flags)
{
	PerfettoTrace__Packet packet = PERFETTO_TRACE__PACKET__INIT;
	packet.has_trusted_packet_sequence_id = packet.has_sequence_flags = true;
	packet.trusted_packet_sequence_id = writer->sequence;
	packet.sequence_flags = flags;
	return packet;
}

static void write_interned(struct writer *writer, PerfettoTrace__InternedData *interned)
{
	PerfettoTrace__Packet packet = packet_of(writer, SEQUENCE_CONTINUES);
	packet.interned_data = interned;
	packets_write(writer->packets, &packet);
}

static void set_bytes(PerfettoTrace__InternedBytes *bytes, uint64_t id, const char *text, size_t size)
{
	perfetto_trace__interned_bytes__init(bytes);
	bytes->has_iid = bytes->has_str = true;
	bytes->iid = id;
	bytes->str = (ProtobufCBinaryData){ .len = size, .data = (uint8_t *)(uintptr_t)text };
}

/*
 * Appends the file that a frame is in, as the path of its mapping. The path that Perfetto knows as the Linux kernel is
 * /kernel. GPU kernels are in no file, and frames have no other attribute: theirs is the class, "[kernel class: copy]".
 */
static void append_file(struct text *text, const struct writer *writer, const struct iaprof_frame *frame)
{
	const char *class = different_frames_class(writer->frames, frame);
	text_append_string(text, class ? "[kernel class: " : "");
	text_append_name(text, class                                      ? class
			       : frame->module                            ? frame->module
			       : frame->kind == IAPROF_FRAME_LINUX_KERNEL ? "/kernel"
									  : "");
	text_append_string(text, class ? "]" : "");
}

/* Appends the build id of a file in bytes; nothing if it is unknown. */
static void build_id_append(const struct iaprof_profile *profile, const char *path, struct text *bytes)
{
	const char *digits = profile_build_id(profile, path);
	for (; digits && digits[0] && digits[1]; digits += 2) {
		const char pair[] = { digits[0], digits[1], '\0' };
		char byte = (char)strtoul(pair, NULL, 16);
		text_append(bytes, &byte, 1);
	}
}

static uint64_t intern_file(struct writer *writer, const struct iaprof_frame *frame)
{
	struct text safe = { 0 }, build_id = { 0 };
	bool is_new = false;
	append_file(&safe, writer, frame);
	uint32_t id = safe.failed ? 0 : string_table_add(&writer->files, text_string(&safe), safe.size, &is_new);
	if (is_new) {
		PerfettoTrace__InternedBytes text, id_bytes, *texts = &text, *ids = &id_bytes;
		PerfettoTrace__Mapping mapping = PERFETTO_TRACE__MAPPING__INIT, *mappings = &mapping;
		PerfettoTrace__InternedData interned = PERFETTO_TRACE__INTERNED_DATA__INIT;
		uint64_t path_id = id;
		build_id_append(writer->profile, frame->module ?: "", &build_id);
		set_bytes(&text, id, text_string(&safe), safe.size);
		set_bytes(&id_bytes, id, build_id.data, build_id.size);
		mapping.has_iid = true;
		mapping.iid = id;
		mapping.has_build_id = build_id.size > 0;
		mapping.build_id = id;
		mapping.path_string_ids = &path_id;
		mapping.n_path_string_ids = 1;
		interned.mapping_paths = &texts;
		interned.n_mapping_paths = 1;
		interned.build_ids = &ids;
		interned.n_build_ids = build_id.size > 0;
		interned.mappings = &mappings;
		interned.n_mappings = 1;
		write_interned(writer, &interned);
	}
	writer->failed |= !id || build_id.failed;
	text_free(&safe);
	text_free(&build_id);
	return id;
}

static void intern_frame(struct writer *writer, uint32_t number)
{
	if (writer->has_frame[number])
		return;
	writer->has_frame[number] = true;
	const struct iaprof_frame *from = writer->frames->items[number];
	struct text name = { 0 };
	PerfettoTrace__InternedBytes text, *texts = &text;
	PerfettoTrace__Frame frame = PERFETTO_TRACE__FRAME__INIT, *frames = &frame;
	PerfettoTrace__InternedData interned = PERFETTO_TRACE__INTERNED_DATA__INIT;
	frame_name_append(&name, from);
	set_bytes(&text, number + 1, name.data, name.size);
	/* Frames of several addresses were merged: they are distinguished by their names. */
	frame.has_iid = frame.has_function_name_id = frame.has_mapping_id = frame.has_rel_pc = true;
	frame.iid = frame.function_name_id = number + 1;
	frame.mapping_id = intern_file(writer, from);
	interned.function_names = &texts;
	interned.n_function_names = 1;
	interned.frames = &frames;
	interned.n_frames = 1;
	if (name.failed)
		writer->failed = true;
	else
		write_interned(writer, &interned);
	text_free(&name);
}

static void intern_stack(struct writer *writer, uint32_t index)
{
	if (writer->has_stack[index])
		return;
	writer->has_stack[index] = true;
	const struct iaprof_stack *stack = iaprof_profile_stack(writer->profile, index);
	uint64_t *ids = calloc(stack->frame_count, sizeof *ids);
	PerfettoTrace__Callstack callstack = PERFETTO_TRACE__CALLSTACK__INIT, *callstacks = &callstack;
	PerfettoTrace__InternedData interned = PERFETTO_TRACE__INTERNED_DATA__INIT;
	for (uint32_t i = 0; ids && i < stack->frame_count; i++) {
		uint32_t number = writer->frames->numbers[stack->frames[i]];
		if (number == FRAME_IS_HIDDEN)
			continue;
		intern_frame(writer, number);
		ids[callstack.n_frame_ids++] = number + 1;
	}
	callstack.has_iid = true;
	callstack.iid = index + 1;
	callstack.frame_ids = ids;
	interned.callstacks = &callstacks;
	interned.n_callstacks = 1;
	if (ids)
		write_interned(writer, &interned);
	else
		writer->failed = true;
	free(ids);
}

/* Returns the thread that shows a stack's samples: the main thread of the process if it is not known. */
static uint32_t thread_of(const struct iaprof_profile *profile, uint32_t stack, uint32_t pid)
{
	uint32_t tid = iaprof_profile_stack(profile, stack)->origin.tid;
	return tid ? tid : pid;
}

static void write_sample(struct writer *writer, const struct timed_value *value, uint64_t time)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(writer->profile, value->stack);
	const struct iaprof_frame *root = iaprof_profile_frame(writer->profile, stack->frames[0]);
	const struct iaprof_frame *leaf = iaprof_profile_frame(writer->profile, stack->frames[stack->frame_count - 1]);
	PerfettoTrace__PerfSample sample = PERFETTO_TRACE__PERF_SAMPLE__INIT;
	PerfettoTrace__Packet packet = packet_of(writer, SEQUENCE_CONTINUES);
	packet.has_timestamp = true;
	packet.timestamp = time;
	packet.perf_sample = &sample;
	sample.has_pid = sample.has_tid = sample.has_callstack_iid = true;
	sample.pid = root->pid;
	sample.tid = thread_of(writer->profile, value->stack, root->pid);
	sample.callstack_iid = value->stack + 1;
	sample.has_cpu_mode = leaf->kind == IAPROF_FRAME_LINUX_KERNEL || leaf->kind == IAPROF_FRAME_USER ||
			      leaf->kind == IAPROF_FRAME_JIT || leaf->kind == IAPROF_FRAME_PYTHON;
	sample.cpu_mode = leaf->kind == IAPROF_FRAME_LINUX_KERNEL ? 1 : 2;
	packets_write(writer->packets, &packet);
}

static bool is_loss(const struct iaprof_profile *profile, uint32_t stack)
{
	return iaprof_profile_frame(profile, iaprof_profile_stack(profile, stack)->frames[0])->kind ==
	       IAPROF_FRAME_LOST;
}

/* Chooses the value of one sample, and writes it and the name of the value type. */
static void begin_type(struct writer *writer, const struct timed_value *begin, const struct timed_value *end)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(writer->profile, begin->value_type);
	unsigned __int128 total = 0;
	for (const struct timed_value *value = begin; value < end; value++)
		total += value->value;
	writer->period = type->period ? type->period : 1;
	while (total / writer->period > SAMPLES_COUNT_MAX)
		writer->period *= 10;
	for (size_t i = 0; i < writer->profile->stack_count; i++)
		writer->rests[i] = writer->period / 2; /* rounds */
	memset(writer->has_frame, 0, writer->frames->count * sizeof *writer->has_frame);
	memset(writer->has_stack, 0, writer->profile->stack_count * sizeof *writer->has_stack);
	string_table_free(&writer->files);
	writer->sequence++;

	struct text name = { 0 }, key = { 0 }, period = { 0 };
	value_type_append_own_title(&name, writer->profile, begin->value_type);
	text_append_format(&key, "value of one sample: %s", text_string(&name));
	text_append_format(&period, "%" PRIu64 " %s", writer->period,
			   strcmp(type->unit, "count") == 0 ? "" : type->unit);
	PerfettoTrace__PerfSampleDefaults__Timebase timebase = PERFETTO_TRACE__PERF_SAMPLE_DEFAULTS__TIMEBASE__INIT;
	PerfettoTrace__PerfSampleDefaults samples = PERFETTO_TRACE__PERF_SAMPLE_DEFAULTS__INIT;
	PerfettoTrace__PacketDefaults defaults = PERFETTO_TRACE__PACKET_DEFAULTS__INIT;
	PerfettoTrace__Packet packet = packet_of(writer, SEQUENCE_BEGINS);
	timebase.has_period = true;
	timebase.period = writer->period;
	timebase.name = (char *)(uintptr_t)text_string(&name);
	samples.timebase = &timebase;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = CLOCK_NUMBER_MONOTONIC;
	defaults.perf_sample_defaults = &samples;
	packet.trace_packet_defaults = &defaults;
	packets_write(writer->packets, &packet);
	packets_attribute(writer->packets, text_string(&key), text_string(&period));
	writer->failed |= name.failed || key.failed || period.failed;
	text_free(&name);
	text_free(&key);
	text_free(&period);
}

static void write_value(struct writer *writer, struct tracks *tracks, const struct timed_value *value, uint64_t width)
{
	if (is_loss(writer->profile, value->stack))
		return;
	uint64_t *rest = &writer->rests[value->stack];
	unsigned __int128 sum = (unsigned __int128)*rest + value->value;
	uint64_t count = (uint64_t)(sum / writer->period);
	*rest = (uint64_t)(sum % writer->period);
	if (!count)
		return;
	intern_stack(writer, value->stack);
	const struct iaprof_stack *stack = iaprof_profile_stack(writer->profile, value->stack);
	uint32_t pid = iaprof_profile_frame(writer->profile, stack->frames[0])->pid;
	uint32_t tid = thread_of(writer->profile, value->stack, pid);
	if (pid) {
		tracks_find(tracks, &(struct track_key){ TRACK_THREAD, { pid, tid, 0 } }, 0);
		tracks_name_thread(tracks, pid, tid,
				   iaprof_profile_stack(writer->profile, value->stack)->origin.thread);
	}
	for (uint64_t i = 0; i < count && !writer->packets->result; i++)
		write_sample(writer, value,
			     value->time + (uint64_t)((unsigned __int128)width * (2 * i + 1) / (2 * count)));
}

bool samples_write(struct packets *packets, struct tracks *tracks, const struct iaprof_profile *profile, uint64_t step)
{
	const struct stack_text_options options = { 0 };
	struct different_frames frames;
	struct timed_values values;
	bool good = different_frames_make(&frames, profile, &options);
	good = timed_values_make(&values, profile, step) && good;
	struct writer writer = { .packets = packets,
				 .profile = profile,
				 .frames = &frames,
				 .has_frame = calloc(frames.count + 1, sizeof *writer.has_frame),
				 .has_stack = calloc(profile->stack_count + 1, sizeof *writer.has_stack),
				 .rests = calloc(profile->stack_count + 1, sizeof *writer.rests),
				 .sequence = SEQUENCE_FIRST - 1 };
	good = good && writer.has_frame && writer.has_stack && writer.rests;
	const struct timed_value *end = array_end(&values.items);
	for (const struct timed_value *value = values.items.items, *first; good && value < end;) {
		for (first = value; value < end && value->value_type == first->value_type;)
			value++;
		begin_type(&writer, first, value);
		for (; first < value && !writer.failed && !packets->result; first++)
			write_value(&writer, tracks, first, values.width);
	}
	string_table_free(&writer.files);
	free(writer.has_frame);
	free(writer.has_stack);
	free(writer.rests);
	timed_values_free(&values);
	different_frames_free(&frames);
	return good && !writer.failed;
}
