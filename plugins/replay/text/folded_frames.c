/* SPDX-License-Identifier: Apache-2.0 */
/* See folded_frames.h. lib/stacks/stack_text.c does the opposite. */
#include "folded_frames.h"
#include "text/text_span.h"

#define UNKNOWN "[unknown]"

/* Names of frames without a symbol. */
static void read_unknown(struct text_frame *frame)
{
	struct text_span name = frame->name;
	if (name.length < 3 || name.text[0] != '[' || name.text[name.length - 1] != ']')
		return;
	struct text_span inside = span_part(name, 1, name.length - 1);
	frame->flags |= IAPROF_FRAME_UNKNOWN;
	/*
	 * Returns whether the text is a file name. If it contained a blank, another bracket or a slash, sink folded
	 * would print it differently.
	 */
	bool is_file = memchr(inside.text, '.', inside.length);
	for (size_t i = 0; i < inside.length; i++)
		if (is_blank(inside.text[i]) || strchr("[]/", inside.text[i]))
			is_file = false;
	if (!is_file)
		return;
	frame->name = span_of(UNKNOWN);
	frame->module = inside;
}

/* Parses "<- send.ugm load tile.cl:31", given without the arrow: the instruction, and its line if it has one. */
static void read_producer(struct text_frame *frame, struct text_span text)
{
	uint64_t number = 0;
	size_t colon = text.length, blank;
	frame->flags |= IAPROF_FRAME_PRODUCER;
	frame->name = text;
	while (colon > 0 && is_digit(text.text[colon - 1]))
		colon--;
	if (colon < 2 || text.text[colon - 1] != ':' || !span_decimal(span_part(text, colon, text.length), &number) ||
	    !number || number > UINT32_MAX)
		return;
	for (blank = colon - 1; blank > 0 && text.text[blank - 1] != ' ';)
		blank--;
	struct text_span file = span_part(text, blank, colon - 1);
	if (blank < 2 || !file.length || memchr(file.text, '/', file.length))
		return;
	frame->name = span_part(text, 0, blank - 1);
	frame->file = file;
	frame->line = (uint32_t)number;
}

/* Removes "_[k]" and returns the letter; 0 if there is none. */
static char take_suffix(struct text_span *text)
{
	if (text->length < 5 || memcmp(text->text + text->length - 4, "_[", 2) != 0 ||
	    text->text[text->length - 1] != ']' || !strchr("kjiGg", text->text[text->length - 2]))
		return 0;
	text->length -= 4;
	return text->text[text->length + 2];
}

struct text_frame folded_frame_read(struct text_span text)
{
	struct text_frame frame = { .kind = IAPROF_FRAME_USER };
	char suffix = take_suffix(&text);
	frame.name = text;
	if (suffix == 'k')
		frame.kind = IAPROF_FRAME_LINUX_KERNEL;
	else if (suffix == 'j')
		frame.kind = IAPROF_FRAME_JIT;
	else if (suffix == 'i')
		frame.flags = IAPROF_FRAME_INLINED;
	else if (suffix == 'G')
		frame.kind = IAPROF_FRAME_DEVICE_FUNCTION;
	else if (suffix == 'g')
		frame.kind = IAPROF_FRAME_DEVICE_INSTRUCTION;
	if (suffix == 'g' && span_begins(text, "<- "))
		read_producer(&frame, span_part(text, 3, text.length));
	else
		read_unknown(&frame);
	return frame;
}

static bool is_of_device(const struct text_frame *frame)
{
	return frame->kind == IAPROF_FRAME_DEVICE_FUNCTION || frame->kind == IAPROF_FRAME_DEVICE_INSTRUCTION;
}

/*
 * Returns whether a frame is a source file, such as "tile.cl": compilers generate no function names with a short
 * extension.
 */
static bool is_source_file(struct text_span name)
{
	size_t point = name.length;
	while (point > 0 && name.text[point - 1] != '.')
		point--;
	if (point < 2 || point == name.length || name.length - point > 4 || memchr(name.text, '(', name.length))
		return false;
	for (size_t i = point; i < name.length; i++)
		if (!((name.text[i] | 0x20) >= 'a' && (name.text[i] | 0x20) <= 'z') && !is_digit(name.text[i]))
			return false;
	return true;
}

static bool read_offset(struct text_frame *frame)
{
	uint64_t offset;
	if (!span_begins(frame->name, "0x") ||
	    !span_hexadecimal(span_part(frame->name, 2, frame->name.length), &offset))
		return false;
	frame->kind = IAPROF_FRAME_DEVICE_OFFSET;
	frame->offset = offset;
	return true;
}

/* The parts after the separator, in order: source file, functions, instruction, dependency, stall reason, offset. */
static void read_device_part(struct text_frame *frames, uint32_t count)
{
	uint32_t first = 0, functions = 0;
	if (count && span_is(frames[0].name, "[ambiguous]") && !is_of_device(&frames[0])) {
		frames[0].kind = IAPROF_FRAME_SEPARATOR;
		frames[0].flags = 0;
		first = 1;
	}
	while (first + functions < count && frames[first + functions].kind == IAPROF_FRAME_DEVICE_FUNCTION)
		functions++;
	if (functions > 1 && is_source_file(frames[first].name))
		frames[first].kind = IAPROF_FRAME_DEVICE_SOURCE;
	uint32_t instruction = first + functions, last = count;
	if (last > instruction && read_offset(&frames[last - 1]))
		last--;
	if (last > instruction && is_of_device(&frames[last - 1]) && !(frames[last - 1].flags & IAPROF_FRAME_PRODUCER))
		frames[last - 1].kind = IAPROF_FRAME_STALL_REASON;
}

/* Only if a frame is marked as a device frame: other tools put "-" between user and kernel frames. */
static void read_parts(struct text_frame *frames, uint32_t count)
{
	uint32_t separator = 1;
	uint64_t pid;
	while (separator < count && !span_is(frames[separator].name, "-"))
		separator++;
	for (uint32_t i = separator + 1; i < count; i++) {
		if (!is_of_device(&frames[i]))
			continue;
		frames[separator].kind = IAPROF_FRAME_SEPARATOR;
		read_device_part(frames + separator + 1, count - separator - 1);
		break;
	}
	if (separator < count && frames[separator].kind == IAPROF_FRAME_SEPARATOR && separator > 1 &&
	    frames[0].kind == IAPROF_FRAME_PROCESS && span_decimal(frames[1].name, &pid) && pid && pid <= INT32_MAX &&
	    frames[1].name.text[0] != '0' && frames[1].kind == IAPROF_FRAME_USER) {
		frames[0].pid = (uint32_t)pid;
		frames[1].kind = 0; /* the program's frame, which is removed below */
	}
}

uint32_t folded_frames_read(struct text_span stack, struct text_frame *frames, bool *is_cut)
{
	struct text_span text;
	uint32_t count = 0;
	*is_cut = false;
	while (!*is_cut && span_take_field(&stack, ';', &text)) {
		*is_cut = count == TEXT_FRAMES_MAX;
		if (!*is_cut)
			frames[count++] = folded_frame_read(text);
		/* The first frame is the program, regardless of its name, unless it is marked as something else. */
		if (count == 1 && frames[0].kind == IAPROF_FRAME_USER && !(frames[0].flags & IAPROF_FRAME_INLINED))
			frames[0] = (struct text_frame){ .name = text, .kind = IAPROF_FRAME_PROCESS };
	}
	if (!count)
		return 0;
	read_parts(frames, count);
	if (count > 1 && !frames[1].kind) {
		memmove(frames + 1, frames + 2, (count - 2) * sizeof *frames);
		count--;
	}
	return count;
}
