/* SPDX-License-Identifier: Apache-2.0 */
/* See stall_stream.h. */
#include "stall_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "stacks/stall_columns.h"
#include "folded_frames.h"
#include "text/text_span.h"

#define UNKNOWN_FILE "[unknown file]"
#define AMBIGUOUS "[ambiguous]"

/* The device frames and the program, which are subtracted from the limit for the CPU stack. */
#define OTHER_FRAMES 8

static uint64_t hash_of_id(uint64_t id)
{
	return hash_bytes(&id, sizeof id);
}

static bool string_is_equal(const void *context, uint32_t position, const void *wanted)
{
	return ((const struct stall_stream *)context)->strings.items[position].id == *(const uint64_t *)wanted;
}

static uint32_t *find_slot(struct stall_stream *stream, uint64_t id)
{
	struct item_owner owner = { string_is_equal, stream };
	return item_index_find(&stream->string_index, &owner, hash_of_id(id), &id);
}

/* Returns the text of an id; empty if it is unknown. */
static struct text_span string_of(struct stall_stream *stream, uint64_t id)
{
	uint32_t *slot = find_slot(stream, id);
	if (!slot || !*slot)
		return (struct text_span){ "", 0 };
	const struct stall_string *string = &stream->strings.items[*slot - 1];
	return (struct text_span){ string->text, string->length };
}

static bool is_of_kernel(const struct stall_stream *stream, uint64_t id)
{
	return id == stream->kernel.program || id == stream->kernel.stack || id == stream->kernel.file ||
	       id == stream->kernel.symbol;
}

static int set_string(struct stall_stream *stream, uint64_t id, struct text_span text, const char **wrong)
{
	uint32_t *slot = find_slot(stream, id);
	if (!slot)
		return -ENOMEM;
	struct stall_string *known = *slot ? &stream->strings.items[*slot - 1] : NULL;
	size_t bytes = stream->string_bytes - (known ? known->length : 0);
	if (text.length > STALL_STREAM_STRINGS_MAX - bytes ||
	    (!known && stream->strings.count >= STALL_STREAM_STRINGS_MAX / sizeof *stream->strings.items)) {
		*wrong = "exceeds the limit for strings, 256 MiB";
		return 0;
	}
	if (!known && !array_reserve(&stream->strings, stream->strings.count + 1))
		return -ENOMEM;
	char *copy = malloc(text.length + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text.text, text.length);
	copy[text.length] = '\0';
	if (known) {
		free(known->text);
	} else {
		known = &stream->strings.items[stream->strings.count++];
		*slot = (uint32_t)stream->strings.count;
		stream->string_index.used++;
	}
	*known = (struct stall_string){ .id = id, .text = copy, .length = text.length };
	stream->string_bytes = bytes + text.length;
	if (is_of_kernel(stream, id))
		stream->prefix_count = 0;
	return 0;
}

/* Parses the next field as a number. */
static bool take_number(struct text_span *rest, uint64_t *number)
{
	struct text_span field;
	return span_take_field(rest, '\t', &field) && span_decimal(field, number);
}

static bool take_address(struct text_span *rest, uint64_t *address)
{
	struct text_span field;
	if (!span_take_field(rest, '\t', &field))
		return false;
	if (span_is(field, "0")) { /* std::format() prints 0 without 0x in some libraries */
		*address = 0;
		return true;
	}
	return span_begins(field, "0x") && span_hexadecimal(span_part(field, 2, field.length), address);
}

static int take_string(struct stall_stream *stream, struct text_span rest, const char **wrong)
{
	uint64_t id;
	if (!take_number(&rest, &id) || !rest.text) {
		*wrong = "is not a string with id and text";
		return 0;
	}
	return set_string(stream, id, rest, wrong);
}

static int send_time(struct stall_stream *stream, uint64_t time)
{
	return stream->taker->time ? stream->taker->time(stream->taker->context, time) : 0;
}

/* The following lines belong to the interval that ends at this time. */
static int take_interval(struct stall_stream *stream, struct text_span rest, const char **wrong)
{
	struct text_span field;
	uint64_t number, time;
	if (!take_number(&rest, &number) || !span_take_field(&rest, '\t', &field) || !span_seconds(field, &time) ||
	    rest.text) {
		*wrong = "is not an interval with number and seconds";
		return 0;
	}
	stream->has_kernel = false;
	if (time < stream->time) {
		*wrong = "goes back in time";
		return 0;
	}
	/* The interval began at the end of the previous one; the first interval has no known start. */
	stream->begin = stream->time ? stream->time : time > stream->interval ? time - stream->interval : 0;
	stream->time = time;
	return send_time(stream, stream->begin);
}

static void take_kernel(struct stall_stream *stream, struct text_span rest, const char **wrong)
{
	uint64_t address;
	stream->prefix_count = 0;
	stream->has_kernel = take_address(&rest, &address) && take_number(&rest, &stream->kernel.program) &&
			     take_number(&rest, &stream->kernel.pid) && take_number(&rest, &stream->kernel.stack) &&
			     take_number(&rest, &stream->kernel.file) && take_number(&rest, &stream->kernel.symbol) &&
			     !rest.text && stream->kernel.pid <= INT32_MAX;
	if (!stream->has_kernel)
		*wrong = "is not a kernel with address, program, pid, stack, file and symbol";
}

static struct text_frame named(struct text_span name, uint32_t kind)
{
	return (struct text_frame){ .name = name.length ? name : span_of("[unknown]"),
				    .kind = kind,
				    .flags = name.length ? 0 : IAPROF_FRAME_UNKNOWN };
}

/* Builds the frames up to the kernel's. Of a stack that is too deep, only the end is read. */
static void make_prefix(struct stall_stream *stream)
{
	const struct text_span whole = string_of(stream, stream->kernel.stack);
	struct text_span stack = whole, text;
	struct text_span file = string_of(stream, stream->kernel.file);
	struct text_frame *frames = stream->frames;
	uint32_t count = 0;
	bool is_ambiguous = false;
	frames[count] = named(string_of(stream, stream->kernel.program), IAPROF_FRAME_PROCESS);
	frames[count++].pid = (uint32_t)stream->kernel.pid;
	while (count < TEXT_FRAMES_MAX - OTHER_FRAMES && stack.length && span_take_field(&stack, ';', &text)) {
		frames[count++] = folded_frame_read(text);
		is_ambiguous = span_is(text, AMBIGUOUS);
	}
	stream->is_cut = stack.length > 0;
	if (stream->is_cut)
		is_ambiguous = span_ends(whole, ";" AMBIGUOUS);
	else if (is_ambiguous)
		count--;
	frames[count++] = named(span_of("-"), IAPROF_FRAME_SEPARATOR);
	if (is_ambiguous)
		frames[count++] = named(span_of(AMBIGUOUS), IAPROF_FRAME_SEPARATOR);
	if (file.length && !span_is(file, UNKNOWN_FILE))
		frames[count++] = named(file, IAPROF_FRAME_DEVICE_SOURCE);
	frames[count++] = named(string_of(stream, stream->kernel.symbol), IAPROF_FRAME_DEVICE_FUNCTION);
	stream->prefix_count = count;
}

static int give(struct stall_stream *stream, uint64_t offset, uint64_t instruction, const uint64_t *counts)
{
	struct text_sample sample = { .frames = stream->frames,
				      .value_type = span_of("gpu-stalls"),
				      .unit = "count",
				      .time = stream->time,
				      /* Each nanosecond belongs to exactly one interval. */
				      .begin = stream->begin + (stream->begin < stream->time) };
	struct text_span name = string_of(stream, instruction);
	char text[24];
	if (!stream->prefix_count)
		make_prefix(stream);
	uint32_t count = stream->prefix_count;
	sample.is_cut = stream->is_cut;
	if (name.length)
		stream->frames[count++] = named(name, IAPROF_FRAME_DEVICE_INSTRUCTION);
	snprintf(text, sizeof text, "0x%llx", (unsigned long long)offset);
	stream->frames[count + 1] = named(span_of(text), IAPROF_FRAME_DEVICE_OFFSET);
	stream->frames[count + 1].offset = offset;
	sample.frame_count = count + 2;
	int result = 0;
	for (size_t i = 0; !result && i < STALL_COLUMN_COUNT; i++) {
		if (!counts[i])
			continue;
		stream->frames[count] = named(span_of(stall_column_names[i]), IAPROF_FRAME_STALL_REASON);
		sample.value = sample.count = counts[i];
		if (stream->taker->sample)
			result = stream->taker->sample(stream->taker->context, &sample);
	}
	return result;
}

static int take_stalls(struct stall_stream *stream, struct text_span rest, const char **wrong)
{
	uint64_t offset, instruction, counts[STALL_COLUMN_COUNT];
	bool is_whole = take_address(&rest, &offset) && take_number(&rest, &instruction);
	for (size_t i = 0; is_whole && i < STALL_COLUMN_COUNT; i++)
		is_whole = take_number(&rest, &counts[i]);
	if (!is_whole || rest.text)
		*wrong = "is not an eustall line with offset, instruction and ten counts";
	else if (!stream->has_kernel)
		*wrong = "has no kernel before it in its interval";
	return *wrong ? 0 : give(stream, offset, instruction, counts);
}

/*
 * Parses losses as sink iaprof writes them: "lost SOURCE REASON", and "lost-unknown SOURCE REASON" for losses of
 * unknown size.
 */
static bool read_lost(struct text_span name, int64_t value, struct text_lost *lost)
{
	struct text_span word = span_take_word(&name);
	lost->source = span_take_word(&name);
	lost->reason = span_trim(name);
	lost->count = span_is(word, "lost") ? (uint64_t)value : IAPROF_COUNT_UNKNOWN;
	return value >= 0 && (span_is(word, "lost") || span_is(word, "lost-unknown")) && lost->source.length &&
	       lost->reason.length;
}

static int take_metric(struct stall_stream *stream, struct text_span rest, const char **wrong)
{
	const struct text_taker *taker = stream->taker;
	struct text_span name, field;
	struct text_lost lost = { .time = stream->time };
	int64_t value;
	if (!span_take_field(&rest, '\t', &name) || !name.length || !span_take_field(&rest, '\t', &field) ||
	    !span_signed(field, &value) || rest.text) {
		*wrong = "is not a metric with name and integer";
		return 0;
	}
	if (!read_lost(name, value, &lost))
		return taker->number ? taker->number(taker->context, name, value, stream->time) : 0;
	return taker->lost ? taker->lost(taker->context, &lost) : 0;
}

int stall_stream_line(struct stall_stream *stream, const struct text_line *line)
{
	struct text_span rest = line->text, word;
	const char *wrong = line->wrong;
	int result = 0;
	if (!wrong && !line->text.length)
		return 0;
	if (!wrong && span_take_field(&rest, '\t', &word)) {
		if (span_is(word, "string"))
			result = take_string(stream, rest, &wrong);
		else if (span_is(word, "eustall"))
			result = take_stalls(stream, rest, &wrong);
		else if (span_is(word, "interval"))
			result = take_interval(stream, rest, &wrong);
		else if (span_is(word, "metric"))
			result = take_metric(stream, rest, &wrong);
		else if (span_is(word, "kernel"))
			take_kernel(stream, rest, &wrong);
		else
			wrong = "does not begin with string, interval, kernel, eustall or metric";
	}
	/* Instructions of a kernel that could not be read must not be attributed to the previous kernel. */
	if (line->wrong)
		stream->has_kernel = false;
	if (wrong && stream->taker->refuse)
		stream->taker->refuse(stream->taker->context, line, wrong);
	return result;
}

int stall_stream_end(struct stall_stream *stream)
{
	return stream->time ? send_time(stream, stream->time) : 0;
}

void stall_stream_free(struct stall_stream *stream)
{
	for (size_t i = 0; i < stream->strings.count; i++)
		free(stream->strings.items[i].text);
	array_free(&stream->strings);
	free(stream->string_index.slots);
	stream->string_index = (struct item_index){ 0 };
}

bool stall_stream_is(struct text_span line)
{
	static const char *const words[] = { "string\t", "interval\t", "kernel\t0x", "eustall\t0x", "metric\t" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_begins(line, words[i]))
			return true;
	return false;
}
