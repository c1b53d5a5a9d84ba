/* SPDX-License-Identifier: Apache-2.0 */
/* See profile_records.h. */
#include "profile_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/text_span.h"

/* Minimum interval between SYNC records, in ns of the file's time. */
#define SYNC_PERIOD 1000000u
/* Limit on sources; real files have a few. */
#define SOURCES_MAX 256
#define COUNTERS_MAX 1024
/* Arguments of host->declare_value_type(). */
#define VALUE_TYPE_LENGTH_MAX 200
#define VALUE_TYPES_MAX 256

static uint32_t intern(const struct profile_records *records, struct text_span text)
{
	const struct iaprof_host *host = records->batch.host;
	return text.length ? host->intern_string(host, text.text, text.length) : 0;
}

static struct iaprof_record_frame make_frame(const struct profile_records *records, const struct text_frame *frame)
{
	return (struct iaprof_record_frame){ .name = intern(records, frame->name),
					     .module = intern(records, frame->module),
					     .file = intern(records, frame->file),
					     .line = frame->line,
					     .kind = frame->kind,
					     .flags = frame->flags,
					     .offset = frame->offset,
					     .address = frame->pid };
}

static uint64_t hash_frame(const struct iaprof_record_frame *frame)
{
	return hash_bytes(frame, sizeof *frame); /* no padding: compared as bytes */
}

static bool frame_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct iaprof_record_frame *frame = &((const struct profile_records *)context)->frames.items[position];
	return memcmp(frame, wanted, sizeof *frame) == 0;
}

/* Returns the position of a frame, which is added if it is new; UINT32_MAX: out of memory. */
static uint32_t find_frame(struct profile_records *records, const struct iaprof_record_frame *frame)
{
	struct item_owner owner = { frame_is_equal, records };
	uint32_t *slot = item_index_find(&records->frame_index, &owner, hash_frame(frame), frame);
	if (slot && *slot)
		return *slot - 1;
	if (!slot || records->frames.count >= UINT32_MAX - 1 || !array_push(&records->frames, *frame))
		return UINT32_MAX;
	records->frame_index.used++;
	*slot = (uint32_t)records->frames.count;
	return *slot - 1;
}

static uint64_t hash_stack(const struct profile_records *records, const struct profile_stack *stack)
{
	return hash_bytes(records->stack_frames.items + stack->first,
			  stack->count * sizeof *records->stack_frames.items);
}

static bool stack_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct profile_records *records = context;
	const struct profile_stack *stack = &records->stacks.items[position], *other = wanted;
	return stack->count == other->count &&
	       memcmp(records->stack_frames.items + stack->first, records->stack_frames.items + other->first,
		      stack->count * sizeof *records->stack_frames.items) == 0;
}

static int send_stack(struct profile_records *records, const struct profile_stack *stack, uint32_t id, uint64_t time)
{
	size_t size = sizeof(struct iaprof_record_profile_stack) + stack->count * sizeof(struct iaprof_record_frame);
	struct iaprof_record_profile_stack *record = calloc(1, size);
	if (!record)
		return -ENOMEM;
	struct iaprof_record_frame *frames = (struct iaprof_record_frame *)(record + 1);
	record->header = (struct iaprof_record){
		.type = IAPROF_RECORD_PROFILE_STACK, .size = (uint32_t)size, .source = 1, .time = time
	};
	record->id = id;
	record->frame_count = stack->count;
	for (uint32_t i = 0; i < stack->count; i++)
		frames[i] = records->frames.items[records->stack_frames.items[stack->first + i]];
	int result = record_batch_append(&records->batch, &record->header);
	free(record);
	return result;
}

/* Returns the id of a sample's stack, which is sent if it is new. */
static int find_stack(struct profile_records *records, const struct text_sample *sample, uint32_t *id)
{
	struct item_owner owner = { stack_is_equal, records };
	struct profile_stack stack = { .first = records->stack_frames.count, .count = sample->frame_count };
	if (!array_reserve(&records->stack_frames, stack.first + stack.count))
		return -ENOMEM;
	for (uint32_t i = 0; i < stack.count; i++) {
		struct iaprof_record_frame frame = make_frame(records, &sample->frames[i]);
		uint32_t position = find_frame(records, &frame);
		if (position == UINT32_MAX)
			return -ENOMEM;
		records->stack_frames.items[stack.first + i] = position;
	}
	uint32_t *slot = item_index_find(&records->stack_index, &owner, hash_stack(records, &stack), &stack);
	if (!slot)
		return -ENOMEM;
	*id = *slot;
	if (*id)
		return 0;
	if (records->stacks.count >= UINT32_MAX - 1 || !array_push(&records->stacks, stack))
		return -ENOMEM;
	records->stack_frames.count += stack.count;
	records->stack_index.used++;
	*id = *slot = (uint32_t)records->stacks.count;
	return send_stack(records, &stack, *id, sample->time);
}

/* Returns the id of a value type; 0: too many, or the name is too long. */
static uint32_t find_value_type(struct profile_records *records, struct text_span name, const char *unit)
{
	const struct iaprof_host *host = records->batch.host;
	char text[VALUE_TYPE_LENGTH_MAX + 1];
	if (!name.length)
		name = span_of(records->options.value_type);
	if (!unit)
		unit = records->options.unit;
	for (size_t i = 0; i < records->value_types.count; i++)
		if (span_is(name, records->value_types.items[i].name) &&
		    strcmp(unit, records->value_types.items[i].unit) == 0)
			return records->value_types.items[i].id;
	if (name.length > VALUE_TYPE_LENGTH_MAX || records->value_types.count >= VALUE_TYPES_MAX)
		return 0;
	memcpy(text, name.text, name.length);
	text[name.length] = '\0';
	struct profile_value_type type = { .name = strdup(text), .unit = unit };
	type.id = type.name ? host->declare_value_type(host, text, unit, 0) : 0;
	if (!type.id || !array_push(&records->value_types, type)) {
		free(type.name);
		return type.id;
	}
	return type.id;
}

/* Returns the number of samples of a value for which the file has none: the value itself if it counts samples. */
static uint64_t sample_count(const struct profile_records *records, const struct text_sample *sample)
{
	const char *unit = sample->unit ? sample->unit : records->options.unit;
	uint64_t count = sample->count;
	if (!count)
		count = strcmp(unit, "count") == 0 || strcmp(unit, "samples") == 0 ? sample->value : 1;
	return count ? count : 1;
}

int profile_records_sample(void *context, const struct text_sample *sample)
{
	struct profile_records *records = context;
	struct iaprof_record_profile_value record = {
		.header = { .type = IAPROF_RECORD_PROFILE_VALUE,
			    .size = sizeof record,
			    .source = 1,
			    .time = sample->time },
		.value_type = find_value_type(records, sample->value_type, sample->unit),
		.value = sample->value,
		.count = sample_count(records, sample),
		.begin = sample->begin,
		.end = sample->time,
	};
	if (!record.value_type) {
		records->types_lost++;
		return 0;
	}
	records->stacks_cut += sample->is_cut;
	records->samples++;
	int result = find_stack(records, sample, &record.stack);
	return result ? result : record_batch_append(&records->batch, &record.header);
}

/* Returns the number of a source that lost something; replay's own if there are too many sources. */
static int find_source(struct profile_records *records, struct text_span name, uint16_t *number)
{
	uint32_t id = intern(records, name);
	for (size_t i = 0; i < records->sources.count; i++)
		if (records->sources.items[i] == id) {
			*number = (uint16_t)(i + 1);
			return 0;
		}
	*number = 1;
	if (!id || records->sources.count >= SOURCES_MAX)
		return 0;
	if (!array_push(&records->sources, id))
		return -ENOMEM;
	*number = (uint16_t)records->sources.count;
	struct iaprof_record_source record = {
		.header = { .type = IAPROF_RECORD_SOURCE, .size = sizeof record, .source = *number },
		.number = *number,
		.name = id
	};
	return record_batch_append(&records->batch, &record.header);
}

int profile_records_lost(void *context, const struct text_lost *lost)
{
	struct profile_records *records = context;
	struct iaprof_record_lost record = {
		.header = { .type = IAPROF_RECORD_LOST, .size = sizeof record, .time = lost->time },
		.begin = lost->time,
		.count = lost->count,
		.value = lost->value,
		.value_type = lost->value ? find_value_type(records, lost->value_type, NULL) : 0,
		.reason = intern(records, lost->reason),
	};
	int result = find_source(records, lost->source, &record.header.source);
	return result ? result : record_batch_append(&records->batch, &record.header);
}

int profile_records_number(void *context, struct text_span name, int64_t value, uint64_t time)
{
	struct profile_records *records = context;
	uint32_t text = intern(records, name), id = 0;
	while (id < records->counters.count && records->counters.items[id] != text)
		id++;
	if (id == records->counters.count) {
		struct iaprof_record_counter record = {
			.header = { .type = IAPROF_RECORD_COUNTER, .size = sizeof record, .source = 1, .time = time },
			.id = id + 1,
			.name = text,
			.unit = intern(records, span_of("count")),
			.kind = IAPROF_COUNTER_GAUGE
		};
		if (id >= COUNTERS_MAX) {
			records->numbers_lost++;
			return 0;
		}
		if (!array_push(&records->counters, text))
			return -ENOMEM;
		int result = record_batch_append(&records->batch, &record.header);
		if (result)
			return result;
	}
	struct iaprof_record_counter_value record = {
		.header = { .type = IAPROF_RECORD_COUNTER_VALUE, .size = sizeof record, .source = 1, .time = time },
		.counter = id + 1,
		.value = (double)value
	};
	return record_batch_append(&records->batch, &record.header);
}

static int send_sync(struct profile_records *records, uint64_t time)
{
	struct iaprof_record_sync record = {
		.header = { .type = IAPROF_RECORD_SYNC, .size = sizeof record, .time = time }
	};
	records->has_begun = true;
	records->synced = time;
	return record_batch_append(&records->batch, &record.header);
}

int profile_records_time(void *context, uint64_t time)
{
	struct profile_records *records = context;
	records->latest = time;
	if (records->has_begun && time - records->synced < SYNC_PERIOD)
		return 0;
	return send_sync(records, time);
}

int profile_records_end(struct profile_records *records)
{
	int result = records->latest > records->synced ? send_sync(records, records->latest) : 0;
	return result ? result : profile_records_flush(records);
}

int profile_records_flush(struct profile_records *records)
{
	return record_batch_flush(&records->batch);
}

int profile_records_init(struct profile_records *records, const struct iaprof_host *host,
			 const struct profile_records_options *options)
{
	uint16_t number;
	records->options = *options;
	int result = record_batch_init(&records->batch, host);
	return result ? result : find_source(records, span_of(options->source), &number);
}

void profile_records_free(struct profile_records *records)
{
	record_batch_free(&records->batch);
	free(records->frames.items);
	free(records->frame_index.slots);
	free(records->stack_frames.items);
	free(records->stacks.items);
	free(records->stack_index.slots);
	free(records->sources.items);
	for (size_t i = 0; i < records->value_types.count; i++)
		free(records->value_types.items[i].name);
	free(records->value_types.items);
	free(records->counters.items);
	*records = (struct profile_records){ 0 };
}
