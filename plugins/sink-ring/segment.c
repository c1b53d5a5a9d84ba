/* SPDX-License-Identifier: Apache-2.0 */
/* See segment.h. */
#include "segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/keyed_array.h"
#include "base/string_table.h"
#include "capture/capture_format.h"

/* Losses of unknown size that are repeated, at most. */
#define UNKNOWN_LOSSES_MAX 1000u

struct known_stack {
	uint64_t key[2]; /* fingerprint of its record */
	uint32_t id;
};

struct segment {
	struct text *file;
	const struct iaprof_profile *profile;
	struct services *services;
	bool spans;
	ZSTD_CCtx *compressor;
	struct text records; /* of the block that is being filled */
	uint32_t count;
	struct capture_totals totals;
	struct string_table strings; /* those that are defined */
	struct string_table sources; /* id: number of the source */
	struct string_table devices;
	ARRAY(uint32_t) stacks;                       /* by stack: its id; 0: none */
	KEYED_ARRAY(struct known_stack) known_stacks; /* stacks that differ in what is not kept are one */
	bool failed;
};

static void write_block(struct segment *segment, struct capture_block_header *header, const void *payload)
{
	header->number = (uint32_t)segment->totals.blocks;
	capture_block_seal(header, payload);
	text_append(segment->file, (const char *)header, sizeof *header);
	text_append(segment->file, payload, header->compressed_size);
}

static void flush(struct segment *segment)
{
	size_t bound = ZSTD_compressBound(segment->records.size);
	CLEANUP_FREE char *compressed = segment->count ? malloc(bound) : NULL;
	segment->failed |= segment->records.failed || (segment->count && !compressed);
	if (!segment->count || segment->failed)
		return;
	size_t size =
		ZSTD_compress2(segment->compressor, compressed, bound, segment->records.data, segment->records.size);
	segment->failed |= ZSTD_isError(size);
	if (segment->failed)
		return;
	struct capture_block_header header = { .kind = CAPTURE_BLOCK_RECORDS,
					       .compressed_size = (uint32_t)size,
					       .size = (uint32_t)segment->records.size,
					       .record_count = segment->count };
	write_block(segment, &header, compressed);
	segment->totals.blocks++;
	segment->totals.records += segment->count;
	segment->totals.bytes += segment->records.size;
	segment->records.size = 0;
	segment->count = 0;
}

/* Appends a record of two parts, padded. The header needs no size. */
static void append(struct segment *segment, struct iaprof_record *record, uint16_t type, size_t size, const void *more,
		   size_t more_size)
{
	static const char zeros[8];
	size_t total = (size + more_size + 7) & ~(size_t)7;
	record->type = type;
	record->size = (uint32_t)total;
	if (!record->time)
		record->time = segment->profile->end;
	if (segment->records.size + total > CAPTURE_BLOCK_SIZE)
		flush(segment);
	text_append(&segment->records, (const char *)record, size);
	if (more_size)
		text_append(&segment->records, more, more_size);
	text_append(&segment->records, zeros, total - size - more_size);
	segment->count++;
}

static uint32_t define(struct segment *segment, const char *text)
{
	size_t length = text ? strnlen(text, IAPROF_STRING_LENGTH_MAX) : 0;
	bool is_new;
	uint32_t id = length ? string_table_add(&segment->strings, text, length, &is_new) : 0;
	segment->failed |= length && !id;
	if (!id || !is_new)
		return id;
	struct iaprof_record_string record = { .id = id, .length = (uint32_t)length };
	/* The table's copy has a NUL behind it. */
	append(segment, &record.header, IAPROF_RECORD_STRING, sizeof record, string_table_text(&segment->strings, id),
	       length + 1);
	return id;
}

static void append_metadata(struct segment *segment, const char *key, const char *value)
{
	struct iaprof_record_metadata record = { .key = define(segment, key), .value = define(segment, value) };
	append(segment, &record.header, IAPROF_RECORD_METADATA, sizeof record, NULL, 0);
}

static void append_sync(struct segment *segment, uint64_t time)
{
	struct iaprof_record_sync record = { .header.time = time };
	append(segment, &record.header, IAPROF_RECORD_SYNC, sizeof record, NULL, 0);
}

/* The id of a value type is the string id of its name and unit, as in all captures. */
static uint32_t value_type_id(struct segment *segment, uint32_t index)
{
	char text[256];
	if (index >= segment->profile->value_type_count)
		return 0;
	const struct iaprof_value_type *type = iaprof_profile_value_type(segment->profile, index);
	snprintf(text, sizeof text, "%s %s", type->name, type->unit);
	return define(segment, text);
}

static void append_value_types(struct segment *segment)
{
	for (uint32_t i = 0; i < segment->profile->value_type_count; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(segment->profile, i);
		struct iaprof_record_value_type record = { .id = value_type_id(segment, i),
							   .name = define(segment, type->name),
							   .unit = define(segment, type->unit),
							   .period = type->period,
							   .role = type->role,
							   .device_kind = type->device_kind,
							   .sample_unit = define(segment, type->sample_unit),
							   .flags = type->flags };
		if (record.id)
			append(segment, &record.header, IAPROF_RECORD_VALUE_TYPE, sizeof record, NULL, 0);
	}
}

/* Returns the number of a source, which is defined if it is new. */
static uint16_t source_number(struct segment *segment, const char *name)
{
	bool is_new;
	uint32_t number = string_table_add(&segment->sources, name, strlen(name), &is_new);
	if (!number || number > UINT16_MAX)
		return 0;
	struct iaprof_record_source record = { .number = number, .name = define(segment, name) };
	if (is_new)
		append(segment, &record.header, IAPROF_RECORD_SOURCE, sizeof record, NULL, 0);
	return (uint16_t)number;
}

static void append_loss(struct segment *segment, const struct iaprof_lost *lost, uint64_t count, uint64_t value)
{
	struct iaprof_record_lost record = { .header = { .source = source_number(segment, lost->source),
							 .time = segment->profile->end },
					     .begin = segment->profile->begin,
					     .count = count,
					     .value = value,
					     .value_type = value_type_id(segment, lost->value_type),
					     .reason = define(segment, lost->reason) };
	append(segment, &record.header, IAPROF_RECORD_LOST, sizeof record, NULL, 0);
}

static void append_losses(struct segment *segment)
{
	for (size_t i = 0; i < segment->profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(segment->profile, i);
		bool has_count = lost->count || !lost->unknown;
		if (has_count)
			append_loss(segment, lost, lost->count, lost->value);
		for (uint32_t k = 0; k < lost->unknown && k < UNKNOWN_LOSSES_MAX; k++)
			append_loss(segment, lost, IAPROF_COUNT_UNKNOWN, k || has_count ? 0 : lost->value);
	}
}

/* The loss is in the segment behind the gap: there is no segment of the time in which intervals were lost. */
static void append_gap(struct segment *segment, uint64_t dropped)
{
	const struct iaprof_lost lost = { .source = "ring",
					  .reason = "intervals: not written",
					  .value_type = segment->profile->value_type_count };
	if (dropped)
		append_loss(segment, &lost, dropped, 0);
}

static void append_modules(struct segment *segment)
{
	for (size_t i = 0; i < segment->profile->module_count; i++) {
		const struct iaprof_module *module = iaprof_profile_module(segment->profile, i);
		uint8_t bytes[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
		struct iaprof_record_module record = { 0 };
		unsigned byte;
		/* The profile also has the modules of earlier intervals. */
		if (!string_table_find(&segment->strings, module->path, strlen(module->path)))
			continue;
		record.path = define(segment, module->path);
		while (record.build_id_size < sizeof bytes &&
		       sscanf(module->build_id + 2 * record.build_id_size, "%2x", &byte) == 1)
			bytes[record.build_id_size++] = (uint8_t)byte;
		if (record.build_id_size)
			append(segment, &record.header, IAPROF_RECORD_MODULE, sizeof record, bytes,
			       record.build_id_size);
	}
}

static uint32_t device_id(struct segment *segment, const char *name)
{
	bool is_new;
	uint32_t id = name ? string_table_add(&segment->devices, name, strlen(name), &is_new) : 0;
	struct iaprof_record_device record = { .id = id, .name = define(segment, name) };
	if (id && is_new)
		append(segment, &record.header, IAPROF_RECORD_DEVICE, sizeof record, NULL, 0);
	return id;
}

/* A process is part of its service as a function is of its library. */
static const char *module_of(const struct segment *segment, const struct iaprof_frame *frame)
{
	bool is_process = frame->kind == IAPROF_FRAME_PROCESS && frame->pid && segment->services;
	return is_process ? services_find(segment->services, frame->pid) : frame->module;
}

static struct iaprof_record_frame make_frame(struct segment *segment, const struct iaprof_frame *frame)
{
	bool is_listed = frame->kind == IAPROF_FRAME_DEVICE_OFFSET; /* its address is the id of a listing */
	return (struct iaprof_record_frame){ .name = define(segment, frame->name),
					     .module = define(segment, module_of(segment, frame)),
					     .file = define(segment, frame->file),
					     .line = frame->line,
					     .kind = frame->kind,
					     .flags = frame->flags,
					     .offset = frame->offset,
					     .address = frame->kind == IAPROF_FRAME_PROCESS ? frame->pid
							: is_listed                         ? 0
											    : frame->address };
}

/* Returns the id of a stack, which is defined if it is new; 0 when out of memory. */
static uint32_t stack_id(struct segment *segment, uint32_t index)
{
	if (segment->stacks.items[index])
		return segment->stacks.items[index];
	const struct iaprof_stack *stack = iaprof_profile_stack(segment->profile, index);
	struct iaprof_stack_origin origin = iaprof_profile_stack(segment->profile, index)->origin;
	uint32_t count = stack->frame_count < IAPROF_PROFILE_STACK_COUNT_MAX ? stack->frame_count
									     : IAPROF_PROFILE_STACK_COUNT_MAX;
	const struct iaprof_span *span = segment->spans ? iaprof_profile_stack_span(segment->profile, index) : NULL;
	size_t size = count * sizeof(struct iaprof_record_frame);
	CLEANUP_FREE struct iaprof_record_frame *frames =
		calloc(1, size + sizeof(struct iaprof_record_stack_origin) + sizeof *span);
	if (!frames)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = make_frame(segment, iaprof_profile_frame(segment->profile, stack->frames[i]));
	struct iaprof_record_stack_origin *recorded = (void *)(frames + count);
	if (span || origin.thread || origin.tid || origin.device) {
		*recorded = (struct iaprof_record_stack_origin){ .tid = origin.tid,
								 .thread_name = define(segment, origin.thread),
								 .device = device_id(segment, origin.device) };
		size += sizeof *recorded;
	}
	if (span) {
		memcpy(recorded + 1, span, sizeof *span);
		size += sizeof *span;
	}
	struct known_stack known = { .id = (uint32_t)segment->known_stacks.count + 1 };
	hash_fingerprint(frames, size, known.key);
	uint32_t position = keyed_array_add(&segment->known_stacks, &known);
	if (position == POSITION_NONE)
		return 0;
	struct iaprof_record_profile_stack record = { .id = segment->known_stacks.items[position].id,
						      .frame_count = count };
	if (record.id == known.id)
		append(segment, &record.header, IAPROF_RECORD_PROFILE_STACK, sizeof record, frames, size);
	return segment->stacks.items[index] = record.id;
}

/* Losses become values again when they are read. */
static bool is_loss(const struct iaprof_profile *profile, const struct iaprof_value *value)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	return iaprof_profile_frame(profile, stack->frames[0])->kind == IAPROF_FRAME_LOST;
}

static void append_values(struct segment *segment)
{
	const struct iaprof_profile *profile = segment->profile;
	for (size_t i = 0; i < profile->value_count && !segment->failed; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (is_loss(profile, value))
			continue;
		struct iaprof_record_profile_value record = { .stack = stack_id(segment, value->stack),
							      .value_type = value_type_id(segment, value->value_type),
							      .value = value->value,
							      .count = value->count ? value->count : 1,
							      .begin = profile->begin,
							      .end = profile->end };
		segment->failed |= !record.stack;
		append(segment, &record.header, IAPROF_RECORD_PROFILE_VALUE, sizeof record, NULL, 0);
	}
}

static void append_records(struct segment *segment, uint64_t dropped)
{
	for (const char *const *pair = segment->profile->metadata; pair && pair[0] && pair[1]; pair += 2)
		append_metadata(segment, pair[0], pair[1]);
	append_sync(segment, segment->profile->begin);
	append_value_types(segment);
	append_losses(segment);
	append_gap(segment, dropped);
	append_values(segment);
	append_modules(segment);
	append_sync(segment, segment->profile->end);
	flush(segment);
}

int segment_append(struct text *file, const struct iaprof_profile *profile, struct services *services, bool spans,
		   int level, uint64_t dropped)
{
	struct segment segment = {
		.file = file, .profile = profile, .services = services, .spans = spans, .compressor = ZSTD_createCCtx()
	};
	struct capture_file_header header;
	capture_file_header_make(&header);
	text_append(file, (const char *)&header, sizeof header);
	segment.failed = !segment.compressor || !array_extend(&segment.stacks, profile->stack_count + 1);
	if (!segment.failed) {
		ZSTD_CCtx_setParameter(segment.compressor, ZSTD_c_compressionLevel, level);
		append_records(&segment, dropped);
	}
	struct capture_block_header end = { .kind = CAPTURE_BLOCK_END,
					    .compressed_size = sizeof segment.totals,
					    .size = sizeof segment.totals };
	write_block(&segment, &end, &segment.totals);
	ZSTD_freeCCtx(segment.compressor);
	text_free(&segment.records);
	string_table_free(&segment.strings);
	string_table_free(&segment.sources);
	string_table_free(&segment.devices);
	array_free(&segment.stacks);
	keyed_array_free(&segment.known_stacks);
	return segment.failed || file->failed ? -ENOMEM : 0;
}
