/* SPDX-License-Identifier: Apache-2.0 */
/* See perf_script.h. */
#include "perf_script.h"

#include <errno.h>

#include "text/text_span.h"

/* Minimum number of digits of an address after a header, to distinguish perf's output from other text. */
#define ADDRESS_DIGITS 6

static struct perf_text keep_text(struct perf_script *script, struct text_span span)
{
	struct perf_text kept = { .offset = script->texts.size, .length = span.length };
	if (span.length)
		text_append(&script->texts, span.text, span.length);
	return kept;
}

static struct text_span text_of(const struct perf_script *script, struct perf_text text)
{
	return text.length ? (struct text_span){ script->texts.data + text.offset, text.length }
			   : (struct text_span){ 0 };
}

static void refuse(struct perf_script *script, const struct text_line *line, const char *why)
{
	if (script->taker->refuse)
		script->taker->refuse(script->taker->context, line, why);
}

static bool is_clock(struct text_span event)
{
	const char *colon = event.length ? memchr(event.text, ':', event.length) : NULL;
	if (colon)
		event.length = (size_t)(colon - event.text);
	return span_is(event, "cpu-clock") || span_is(event, "task-clock");
}

static void describe_value(const struct perf_script *script, struct text_sample *sample)
{
	const struct perf_header *header = &script->header;
	sample->value_type = text_of(script, script->event);
	sample->count = 1;
	sample->value = header->has_period ? header->period : 1;
	sample->unit = !header->has_period ? "samples" : is_clock(sample->value_type) ? "nanoseconds" : "count";
	if (!sample->value_type.length)
		sample->value_type = span_of(header->has_period ? "period" : "samples");
	sample->begin = sample->time = header->has_time ? header->time : 0;
}

/* The time just before a later sample, because more samples with the same time may follow. */
static int advance(struct perf_script *script, uint64_t time)
{
	if (time <= script->time)
		return 0;
	script->time = time;
	return script->taker->time ? script->taker->time(script->taker->context, time - 1) : 0;
}

static int give(struct perf_script *script)
{
	struct text_span comm = text_of(script, script->comm);
	struct text_frame *next = script->frames;
	/* Without a header, the program is unknown. */
	*next++ = (struct text_frame){ .name = comm.length ? comm : span_of("[unknown]"),
				       .kind = IAPROF_FRAME_PROCESS,
				       .pid = script->header.pid };
	for (uint32_t i = script->count; i-- > 0;) {
		const struct perf_script_frame *frame = &script->stack[i];
		*next++ = (struct text_frame){ .name = text_of(script, frame->name),
					       .module = text_of(script, frame->module),
					       .file = text_of(script, frame->file),
					       .line = frame->line,
					       .kind = frame->kind,
					       .flags = frame->flags };
	}
	struct text_sample sample = { .frames = script->frames,
				      .frame_count = script->count + 1,
				      .is_cut = script->is_cut };
	describe_value(script, &sample);
	int result = advance(script, sample.time);
	return result || !script->taker->sample ? result : script->taker->sample(script->taker->context, &sample);
}

/* Ends the current sample, if there is one. */
static int end(struct perf_script *script)
{
	int result = 0;
	if (script->texts.failed)
		return -ENOMEM;
	if (script->is_begun && !script->header.is_certain && !script->count) {
		script->first.text = text_of(script, script->comm);
		refuse(script, &script->first, "is neither the beginning of a sample nor a frame");
	} else if (script->is_begun) {
		result = give(script);
	}
	script->is_begun = script->is_cut = false;
	script->count = 0;
	script->texts.size = 0;
	return result;
}

static void push(struct perf_script *script, const struct text_frame *frame)
{
	size_t size = frame->name.length + frame->module.length;
	/* One entry is for the program. */
	if (script->count >= TEXT_FRAMES_MAX - 1 || size > PERF_STACK_TEXT_MAX ||
	    script->texts.size > PERF_STACK_TEXT_MAX - size) {
		script->is_cut = true;
		return;
	}
	script->stack[script->count++] = (struct perf_script_frame){ .name = keep_text(script, frame->name),
								     .module = keep_text(script, frame->module),
								     .kind = frame->kind,
								     .flags = frame->flags };
}

/* Parses "  tile.c:31" below a frame, with -F +srcline. */
static bool take_source_line(struct perf_script *script, struct text_span line)
{
	struct text_span place = span_trim(line);
	struct perf_script_frame *frame = script->count ? &script->stack[script->count - 1] : NULL;
	size_t colon = place.length;
	uint64_t number;
	while (colon > 0 && place.text[colon - 1] != ':')
		colon--;
	if (!frame || colon < 2 || !span_decimal(span_part(place, colon, place.length), &number) ||
	    number > UINT32_MAX || place.length > PERF_STACK_TEXT_MAX - script->texts.size)
		return false;
	if (number && place.text[0] != '?') {
		frame->file = keep_text(script, span_part(place, 0, colon - 1));
		frame->line = (uint32_t)number;
	}
	return true;
}

/* Returns whether a line is no sample: "PERF_RECORD_LOST lost 12", "PERF_RECORD_COMM: sh:12/12". */
static bool is_record(const struct perf_header *header)
{
	return span_begins(header->event.length ? header->event : header->rest, "PERF_RECORD_");
}

/*
 * Returns whether a line below a frame describes the sample or the frame, in a way that stacks do not show: registers
 * ("ABI:2 SP:0x7ff...", -F +iregs, +uregs), instructions ("insn: 48 01 c8", -F +insn), those between branches
 * ("<TAB>00000000004004ef<TAB>insn: eb 1a # PRED" below "<TAB>main+38:", -F +brstackinsn), and a place without a source
 * line ("  [kernel.kallsyms][ffffffff821f5b65]", "  memset+12", -F +srcline).
 */
static bool is_detail(struct text_span line)
{
	struct text_span text = span_trim(line), rest = text;
	uint64_t address;
	if (span_is(text, ":0") || span_is(text, "??") || span_begins(text, "ABI:") || span_begins(text, "insn:") ||
	    span_begins(text, "ilen:") || span_begins(text, "... "))
		return true;
	if (line.text[0] == '\t') {
		bool has_address = span_hexadecimal(span_take_word(&rest), &address);
		rest = span_trim(rest);
		return has_address ? span_begins(rest, "insn:") || span_begins(rest, "ilen:") : span_ends(text, ":");
	}
	size_t end = text.length, digits = end;
	bool is_address = span_ends(text, "]");
	digits -= is_address;
	end = digits;
	while (digits > 0 && (is_address ? is_hexadecimal(text.text[digits - 1]) : is_digit(text.text[digits - 1])))
		digits--;
	return digits > 1 && digits < end && text.text[digits - 1] == (is_address ? '[' : '+');
}

/* Parses "PERF_RECORD_LOST lost 12" (--show-lost-events); other such lines are about processes, not samples. */
static int take_record(struct perf_script *script, const struct perf_header *header)
{
	struct text_span rest = header->rest;
	struct text_span kind = header->event.length ? header->event : span_take_word(&rest);
	struct text_span word = span_take_word(&rest);
	struct text_lost lost = { .source = span_of("perf"), .reason = span_of("lost") };
	if (!span_begins(kind, "PERF_RECORD_LOST") || !span_is(word, "lost"))
		return 0;
	if (!span_decimal(span_take_word(&rest), &lost.count))
		lost.count = IAPROF_COUNT_UNKNOWN;
	lost.time = header->has_time ? header->time : 0;
	return script->taker->lost ? script->taker->lost(script->taker->context, &lost) : 0;
}

/* Returns false if the line does not begin a sample. */
static bool begin(struct perf_script *script, const struct text_line *line, int *result)
{
	struct perf_header header;
	struct text_frame frame;
	if (!perf_header_read(line->text, &header))
		return false;
	*result = end(script);
	if (*result)
		return true;
	if (is_record(&header)) {
		*result = take_record(script, &header);
		return true;
	}
	script->is_begun = true;
	script->header = header;
	script->comm = keep_text(script, header.comm);
	script->event = keep_text(script, header.event);
	script->first = (struct text_line){ .number = line->number };
	if (header.rest.length && memchr(line->text.text, '(', line->text.length) &&
	    perf_frame_read(header.rest, &frame) && frame.name.length)
		push(script, &frame);
	return true;
}

int perf_script_line(struct perf_script *script, const struct text_line *line)
{
	struct text_span text = line->text;
	struct text_frame frame;
	struct perf_header header;
	int result = 0;
	if (line->wrong) {
		refuse(script, line, line->wrong);
		return 0;
	}
	if (!span_trim(text).length)
		return end(script);
	if (span_is_comment(text) && !script->is_begun)
		return 0;
	bool is_indented = is_blank(text.text[0]);
	/*
	 * perf indents frames with a tab; if it was replaced by blanks, a sample of a program named "bad" looks like a
	 * frame.
	 */
	bool may_be_frame = text.text[0] == '\t' || (is_indented && script->is_begun &&
						     !(perf_header_read(text, &header) && header.is_certain));
	if (may_be_frame && perf_frame_read(text, &frame)) {
		/* With -F ip,sym there is no other line. */
		if (!script->is_begun)
			script->header = (struct perf_header){ .is_certain = true };
		if (!script->is_begun)
			script->comm = script->event = (struct perf_text){ 0 };
		script->is_begun = true;
		push(script, &frame);
		return 0;
	}
	if (is_indented && script->is_begun && take_source_line(script, text))
		return 0;
	if (is_indented && script->is_begun && is_detail(text) && !(perf_header_read(text, &header) && header.has_time))
		return 0;
	if (!begin(script, line, &result))
		refuse(script, line, "is neither the beginning of a sample nor a frame");
	return result;
}

int perf_script_end(struct perf_script *script)
{
	int result = end(script);
	if (!result && script->time && script->taker->time)
		result = script->taker->time(script->taker->context, script->time);
	return result;
}

void perf_script_free(struct perf_script *script)
{
	text_free(&script->texts);
}

bool perf_script_is(struct text_span line, struct text_span after)
{
	struct perf_header header;
	struct text_frame frame;
	bool is_header = perf_header_read(line, &header);
	if (line.text[0] == '\t' && perf_frame_read(line, &frame))
		return true;
	return is_header &&
	       (header.is_certain || (after.length && after.text[0] == '\t' && perf_frame_read(after, &frame)));
}

/* Addresses have a digit, because "add" and "face" are words, and usually more digits than a number in a text. */
static bool is_frame(struct text_span text, size_t digits_min)
{
	struct text_frame frame;
	struct text_span rest = text, address = span_take_word(&rest);
	bool has_digit = false;
	for (size_t i = 0; i < address.length; i++)
		has_digit |= is_digit(address.text[i]);
	return has_digit && (address.length >= digits_min || span_ends(text, ")")) && perf_frame_read(text, &frame);
}

/* Returns whether a line is the place of the frame above it: "  tile.c:31", "  ??:0". */
static bool is_source_line(struct text_span line)
{
	size_t digits = line.length;
	while (digits > 0 && is_digit(line.text[digits - 1]))
		digits--;
	return digits > 1 && digits < line.length && line.text[digits - 1] == ':';
}

bool perf_script_has_form(struct text_span line, struct text_span after, bool is_below_form)
{
	if (is_below_form && is_blank(line.text[0]) && is_detail(line))
		return true;
	struct perf_header header;
	bool is_indented = is_blank(line.text[0]);
	bool is_above_frame = after.length && is_blank(after.text[0]) && is_frame(span_trim(after), 1);
	line = span_trim(line);
	if (is_indented && (is_frame(line, 1) || (is_below_form && is_source_line(line))))
		return true;
	if (!perf_header_read(line, &header))
		return false;
	if (is_above_frame || is_frame(header.rest, ADDRESS_DIGITS) || is_record(&header))
		return true;
	bool is_tracepoint = header.event.length && memchr(header.event.text, ':', header.event.length);
	bool is_whole = header.comm.length && !header.rest.length;
	return header.is_certain && (header.has_time || header.has_thread || is_tracepoint || is_whole);
}
