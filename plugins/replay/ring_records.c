/* SPDX-License-Identifier: Apache-2.0 */
/* See ring_records.h. */
#include "ring_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "records/record_array.h"

/* Limit on ids in a segment beyond those that were defined: a writer's are dense. */
#define ID_GAP_MAX 1u

#define REALTIME_OFFSET "realtime offset"

/* Returns the run's id for one of the segment; 0 for 0 and unknown ids. */
static uint32_t string_of(const struct ring_records *ring, uint32_t id)
{
	return id < ring->strings.count ? ring->strings.items[id] : 0;
}

/* Stores an id of the run at the next position of an array of a segment's ids. Returns 0, -EBADMSG or -ENOMEM. */
#define set_id(array, position, value)                                                                                 \
	((position) > (array)->count + ID_GAP_MAX         ? -EBADMSG                                                   \
	 : !array_extend((array), (size_t)(position) + 1) ? -ENOMEM                                                    \
							  : ((array)->items[position] = (value), 0))

static int take_string(struct ring_records *ring, const struct iaprof_host *host,
		       const struct iaprof_record_string *string)
{
	if (!record_array_fits(&string->header, string->array_offset, sizeof *string, string->length, 1))
		return -EBADMSG;
	uint32_t id = host->intern_string(host, iaprof_record_string_text(string), string->length);
	return set_id(&ring->strings, string->id, id);
}

/* Moves a time to the clock of the first segment. */
static uint64_t shifted(const struct ring_records *ring, uint64_t time)
{
	uint64_t moved = time + ring->shift;
	return time > INT64_MAX || moved > INT64_MAX ? 0 : moved;
}

static const char *text_of(const struct ring_records *ring, uint32_t id)
{
	return string_table_text(&ring->texts, id);
}

/* The first segment's metadata are those of the run; of the others, those of the clock move their times. */
static int take_metadata(struct ring_records *ring, const struct iaprof_record_metadata *metadata)
{
	struct iaprof_record_metadata record = *metadata;
	record.header.size = sizeof record;
	if (!strcmp(text_of(ring, metadata->key), REALTIME_OFFSET)) {
		uint64_t offset = strtoull(text_of(ring, metadata->value), NULL, 10);
		if (!ring->offset)
			ring->offset = offset;
		ring->shift = offset - ring->offset;
	}
	record.key = string_of(ring, metadata->key);
	record.value = string_of(ring, metadata->value);
	return ring->has_metadata ? 0 : record_batch_append(&ring->batch, &record.header);
}

static int take_source(struct ring_records *ring, const struct iaprof_record_source *source)
{
	struct iaprof_record_source record = *source;
	record.header.size = sizeof record;
	const char *name = text_of(ring, source->name);
	bool is_new;
	uint32_t number = *name ? string_table_add(&ring->sources, name, strlen(name), &is_new) : 0;
	if (!number || number > UINT16_MAX || source->number > UINT16_MAX)
		return *name ? -ENOMEM : -EBADMSG;
	record.number = number;
	record.name = string_of(ring, source->name);
	int result = set_id(&ring->source_numbers, source->number, (uint16_t)number);
	return result || !is_new ? result : record_batch_append(&ring->batch, &record.header);
}

static int take_device(struct ring_records *ring, const struct iaprof_record_device *device)
{
	const char *name = text_of(ring, device->name);
	bool is_new;
	uint32_t id = *name ? string_table_add(&ring->devices, name, strlen(name), &is_new) : 0;
	if (!id)
		return *name ? -ENOMEM : -EBADMSG;
	struct iaprof_record_device record = { .header = { .size = sizeof record,
							   .type = IAPROF_RECORD_DEVICE,
							   .time = shifted(ring, device->header.time) },
					       .id = id,
					       .name = string_of(ring, device->name) };
	int result = set_id(&ring->device_ids, device->id, id);
	return result || !is_new ? result : record_batch_append(&ring->batch, &record.header);
}

static int take_value_type(struct ring_records *ring, const struct iaprof_record_value_type *type)
{
	struct iaprof_record_value_type record = { .header = type->header,
						   .id = string_of(ring, type->id),
						   .name = string_of(ring, type->name),
						   .unit = string_of(ring, type->unit),
						   .period = type->period };
	record.header.size = sizeof record;
	if (iaprof_record_value_type_has_role(type)) {
		record.role = type->role;
		record.device_kind = type->device_kind;
		record.sample_unit = string_of(ring, type->sample_unit);
		record.flags = type->flags;
	}
	bool is_new;
	if (!record.id)
		return -EBADMSG;
	if (!string_table_add(&ring->value_types, (const char *)&record.id, sizeof record.id, &is_new))
		return -ENOMEM;
	return is_new ? record_batch_append(&ring->batch, &record.header) : 0;
}

static int take_module(struct ring_records *ring, const struct iaprof_record_module *module)
{
	uint64_t copy[(sizeof *module + IAPROF_MODULE_BUILD_ID_SIZE_MAX) / 8];
	if (module->header.size > sizeof copy || !module->build_id_size ||
	    !record_array_fits(&module->header, module->array_offset, sizeof *module, module->build_id_size, 1))
		return -EBADMSG;
	memcpy(copy, module, module->header.size);
	((struct iaprof_record_module *)copy)->path = string_of(ring, module->path);
	return record_batch_append(&ring->batch, (struct iaprof_record *)copy);
}

/* A stack that several segments have is sent once. */
static int take_stack(struct ring_records *ring, const struct iaprof_record_profile_stack *stack)
{
	CLEANUP_FREE struct iaprof_record_profile_stack *copy = malloc(stack->header.size);
	if (!copy)
		return -ENOMEM;
	if (!stack->frame_count || stack->frame_count > IAPROF_PROFILE_STACK_COUNT_MAX ||
	    !record_strided_array_fits(&stack->header, stack->array_offset, sizeof *stack, stack->frame_count,
				       stack->element_size, sizeof(struct iaprof_record_frame)))
		return -EBADMSG;
	memcpy(copy, stack, stack->header.size);
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		struct iaprof_record_frame *frame = (void *)iaprof_record_profile_stack_frame(copy, i);
		frame->name = string_of(ring, frame->name);
		frame->module = string_of(ring, frame->module);
		frame->file = string_of(ring, frame->file);
	}
	struct iaprof_record_stack_origin *origin = (void *)iaprof_record_profile_stack_origin(copy);
	if (origin) {
		origin->thread_name = string_of(ring, origin->thread_name);
		origin->device = origin->device < ring->device_ids.count ? ring->device_ids.items[origin->device] : 0;
	}
	copy->header.time = 0;
	copy->header.source = 0;
	copy->id = 0;
	struct ring_stack wanted = { .id = (uint32_t)ring->stacks.count + 1 };
	hash_fingerprint(copy, copy->header.size, wanted.key);
	size_t known = ring->stacks.count;
	uint32_t position = keyed_array_add(&ring->stacks, &wanted);
	if (position == POSITION_NONE)
		return -ENOMEM;
	copy->id = ring->stacks.items[position].id;
	copy->header.time = shifted(ring, stack->header.time);
	int result = set_id(&ring->stack_ids, stack->id, copy->id);
	return result || position < known ? result : record_batch_append(&ring->batch, &copy->header);
}

static int take_value(struct ring_records *ring, const struct iaprof_record_profile_value *value)
{
	struct iaprof_record_profile_value record = *value;
	record.header.size = sizeof record;
	if (value->stack >= ring->stack_ids.count || !value->count)
		return -EBADMSG;
	record.header.source = 0;
	record.header.time = shifted(ring, value->header.time);
	record.begin = shifted(ring, value->begin);
	record.end = shifted(ring, value->end);
	if (record.begin > record.end)
		return -EBADMSG;
	record.stack = ring->stack_ids.items[value->stack];
	record.value_type = string_of(ring, value->value_type);
	return record_batch_append(&ring->batch, &record.header);
}

static int take_lost(struct ring_records *ring, const struct iaprof_record_lost *lost)
{
	struct iaprof_record_lost record = *lost;
	record.header.size = sizeof record;
	uint16_t source = lost->header.source;
	record.header.source = source < ring->source_numbers.count ? ring->source_numbers.items[source] : 0;
	record.header.time = shifted(ring, lost->header.time);
	record.begin = shifted(ring, lost->begin);
	record.value_type = string_of(ring, lost->value_type);
	record.reason = string_of(ring, lost->reason);
	return record_batch_append(&ring->batch, &record.header);
}

static int take_sync(struct ring_records *ring, const struct iaprof_record *sync)
{
	struct iaprof_record_sync record = { .header = *sync };
	record.header.size = sizeof record;
	record.header.time = shifted(ring, sync->time);
	ring->has_metadata = true;
	return record_batch_append(&ring->batch, &record.header);
}

/* The minimum size of the records that a segment has; 0: it has no others. */
static size_t size_of(uint16_t type)
{
	static const size_t sizes[IAPROF_RECORD_TYPE_COUNT] = {
		[IAPROF_RECORD_STRING] = sizeof(struct iaprof_record_string),
		[IAPROF_RECORD_METADATA] = sizeof(struct iaprof_record_metadata),
		[IAPROF_RECORD_SOURCE] = sizeof(struct iaprof_record_source),
		[IAPROF_RECORD_DEVICE] = offsetof(struct iaprof_record_device, value_name),
		[IAPROF_RECORD_VALUE_TYPE] = offsetof(struct iaprof_record_value_type, role),
		[IAPROF_RECORD_MODULE] = sizeof(struct iaprof_record_module),
		[IAPROF_RECORD_PROFILE_STACK] = sizeof(struct iaprof_record_profile_stack),
		[IAPROF_RECORD_PROFILE_VALUE] = sizeof(struct iaprof_record_profile_value),
		[IAPROF_RECORD_LOST] = sizeof(struct iaprof_record_lost),
		[IAPROF_RECORD_SYNC] = sizeof(struct iaprof_record_sync),
	};
	return type < IAPROF_RECORD_TYPE_COUNT ? sizes[type] : 0;
}

int ring_records_take(struct ring_records *ring, const struct iaprof_host *host, const struct iaprof_record *record)
{
	size_t size = size_of(record->type);
	if (!size || record->size < size)
		return -EBADMSG;
	switch (record->type) {
	case IAPROF_RECORD_STRING: {
		const struct iaprof_record_string *string = (const void *)record;
		int result = take_string(ring, host, string);
		return result ? result
			      : string_table_define(&ring->texts, string->id, iaprof_record_string_text(string),
						    string->length);
	}
	case IAPROF_RECORD_METADATA:
		return take_metadata(ring, (const void *)record);
	case IAPROF_RECORD_SOURCE:
		return take_source(ring, (const void *)record);
	case IAPROF_RECORD_DEVICE:
		return take_device(ring, (const void *)record);
	case IAPROF_RECORD_VALUE_TYPE:
		return take_value_type(ring, (const void *)record);
	case IAPROF_RECORD_MODULE:
		return take_module(ring, (const void *)record);
	case IAPROF_RECORD_PROFILE_STACK:
		return take_stack(ring, (const void *)record);
	case IAPROF_RECORD_PROFILE_VALUE:
		return take_value(ring, (const void *)record);
	case IAPROF_RECORD_LOST:
		return take_lost(ring, (const void *)record);
	default:
		return take_sync(ring, record);
	}
}

void ring_records_end_segment(struct ring_records *ring)
{
	string_table_free(&ring->texts);
	array_free(&ring->strings);
	array_free(&ring->stack_ids);
	array_free(&ring->device_ids);
	array_free(&ring->source_numbers);
	ring->shift = 0;
}

void ring_records_free(struct ring_records *ring)
{
	ring_records_end_segment(ring);
	record_batch_free(&ring->batch);
	string_table_free(&ring->sources);
	string_table_free(&ring->devices);
	string_table_free(&ring->value_types);
	keyed_array_free(&ring->stacks);
}
