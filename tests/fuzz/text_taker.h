/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of text profiles take samples with: everything is in its range, and times never go back. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "replay/text/file_kind.h"
#include "replay/text/text_format.h"
#include "text/text_lines.h"
#include "replay/text/text_profile.h"

/* What was taken: the same however the bytes come. */
struct taken {
	uint64_t samples, frames, names, values, lost, numbers, refused, time;
};

static void need(bool condition)
{
	if (!condition)
		abort();
}

/* Adds every byte up, so that all of them are read. */
static uint64_t add_up(struct text_span span)
{
	uint64_t sum = span.length;
	need(span.text || !span.length);
	for (size_t i = 0; i < span.length; i++) {
		need(span.text[i] && span.text[i] != '\n');
		sum = sum * 31 + (unsigned char)span.text[i];
	}
	return sum;
}

static int take_sample(void *context, const struct text_sample *sample)
{
	struct taken *taken = context;
	need(sample->begin <= sample->time);
	need(sample->frame_count >= 1 && sample->frame_count <= TEXT_FRAMES_MAX);
	for (uint32_t i = 0; i < sample->frame_count; i++) {
		const struct text_frame *frame = &sample->frames[i];
		need(frame->kind >= IAPROF_FRAME_PROCESS && frame->kind < IAPROF_FRAME_LOST);
		need(frame->pid <= INT32_MAX && (!frame->pid || frame->kind == IAPROF_FRAME_PROCESS));
		need(!frame->line || frame->file.length);
		taken->names += add_up(frame->name) + add_up(frame->module) + add_up(frame->file) + frame->flags;
	}
	taken->names += add_up(sample->value_type) + (sample->unit ? strlen(sample->unit) : 0);
	taken->frames += sample->frame_count;
	taken->values += sample->value;
	taken->samples++;
	return 0;
}

static int take_lost(void *context, const struct text_lost *lost)
{
	struct taken *taken = context;
	taken->names += add_up(lost->source) + add_up(lost->reason);
	taken->lost += lost->count + lost->value + 1;
	return 0;
}

static int take_number(void *context, struct text_span name, int64_t value, uint64_t time)
{
	struct taken *taken = context;
	taken->names += add_up(name);
	taken->numbers += (uint64_t)value + time + 1;
	return 0;
}

static int take_time(void *context, uint64_t time)
{
	struct taken *taken = context;
	need(time >= taken->time);
	taken->time = time;
	return 0;
}

static void take_refused(void *context, const struct text_line *line, const char *why)
{
	struct taken *taken = context;
	need(line->number > 0 && why[0]);
	taken->refused++;
	taken->names += line->number;
}

static struct text_taker taker_of(struct taken *taken)
{
	return (struct text_taker){ .sample = take_sample,
				    .lost = take_lost,
				    .number = take_number,
				    .time = take_time,
				    .refuse = take_refused,
				    .context = taken };
}

/* Gives all bytes to a reader of lines, piece by piece. */
static void feed_all(struct text_lines *lines, const uint8_t *bytes, size_t size, size_t piece)
{
	for (size_t i = 0; i < size; i += piece)
		need(text_lines_feed(lines, (const char *)bytes + i, size - i < piece ? size - i : piece) == 0);
	need(text_lines_end(lines) == 0);
	text_lines_free(lines);
}

/* What a reader reads does not depend on how the bytes come, and somebody reads whatever it is. */
static int fuzz_reader(struct taken (*read_all)(const uint8_t *bytes, size_t size, size_t piece), const uint8_t *bytes,
		       size_t size)
{
	struct taken whole = read_all(bytes, size, size + 1), pieces = read_all(bytes, size, 1 + size / 7);
	need(memcmp(&whole, &pieces, sizeof whole) == 0);
	need(text_format_of((const char *)bytes, size, true, NULL) != TEXT_FORMAT_MORE);
	file_kind_of((struct text_span){ (const char *)bytes, size }, "file");
	return 0;
}
