/* SPDX-License-Identifier: Apache-2.0 */
/* See ring_replay.h. */
#include "ring_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/regular_file.h"
#include "capture/capture_format.h"

/* Limit on ids in a segment beyond those that were defined: a writer's are dense. */
#define ID_GAP_MAX 1u

#define REALTIME_OFFSET "realtime offset"

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "not enough memory");
}

static int refuse_empty(struct ring_replay *ring, const struct iaprof_host *host, uint64_t first, uint64_t last)
{
	char begin[32], end[32];
	if (!last)
		return host->fail(host, ENOENT, "%s: there is no segment in %s", ring->path, ring->range.folder);
	ring_time_describe(first, begin);
	ring_time_describe(last, end);
	return host->fail(host, ENOENT, "%s: no data in this range (%s has %s..%s)", ring->path, ring->range.folder,
			  begin, end);
}

/* Keeps the segments that overlap the range. */
static int select_segments(struct ring_replay *ring, const struct iaprof_host *host)
{
	struct ring_segments *segments = &ring->segments;
	uint64_t first = segments->count ? segments->items[0].begin : 0, last = 0;
	size_t kept = 0;
	for (size_t i = 0; i < segments->count; i++) {
		struct ring_segment segment = segments->items[i];
		last = segment.end > last ? segment.end : last;
		if (segment.begin < ring->range.to && segment.end > ring->range.from)
			segments->items[kept++] = segment;
	}
	segments->count = kept;
	return kept ? 0 : refuse_empty(ring, host, first, last);
}

int ring_replay_open(struct ring_replay *ring, const struct iaprof_host *host, const char *path,
		     struct replay_budget *budget)
{
	char wrong[256];
	const char *why = NULL;
	ring->path = path;
	ring->budget = budget;
	int result = ring_range_parse(&ring->range, path, clock_read(CLOCK_REALTIME), wrong, sizeof wrong);
	if (result)
		return host->fail(host, -result, "%s: %s", path, wrong);
	ring->folder = ring_folder_open(ring->range.folder, false, &why);
	if (ring->folder < 0)
		return host->fail(host, -ring->folder, "%s: %s: %s", path, ring->range.folder, strerror(-ring->folder));
	ring->is_open = true;
	result = ring_folder_list(ring->folder, &ring->segments);
	if (result)
		return host->fail(host, -result, "%s: %s", ring->range.folder, strerror(-result));
	replay_budget_open(budget);
	result = record_batch_init(&ring->batch, host);
	return result ? result : select_segments(ring, host);
}

/* Returns the run's id for one of the segment; 0 for 0 and unknown ids. */
static uint32_t string_of(const struct ring_replay *ring, uint32_t id)
{
	return id < ring->strings.count ? ring->strings.items[id] : 0;
}

/* Stores an id of the run at the next position of an array of a segment's ids. Returns 0, -EBADMSG or -ENOMEM. */
#define set_id(array, position, value)                                                                                 \
	((position) > (array)->count + ID_GAP_MAX         ? -EBADMSG                                                   \
	 : !array_extend((array), (size_t)(position) + 1) ? -ENOMEM                                                    \
							  : ((array)->items[position] = (value), 0))

static int take_string(struct ring_replay *ring, const struct iaprof_host *host,
		       const struct iaprof_record_string *string)
{
	if (string->length > string->header.size - sizeof *string)
		return -EBADMSG;
	uint32_t id = host->intern_string(host, iaprof_record_string_text(string), string->length);
	return set_id(&ring->strings, string->id, id);
}

/* Moves a time to the clock of the first segment. */
static uint64_t shifted(const struct ring_replay *ring, uint64_t time)
{
	int64_t moved = (int64_t)time + ring->shift;
	return time > INT64_MAX || moved < 0 ? 0 : (uint64_t)moved;
}

static const char *text_of(const struct string_table *texts, uint32_t id)
{
	return string_table_text(texts, id);
}

/* The first segment's metadata are those of the run; of the others, those of the clock move their times. */
static int take_metadata(struct ring_replay *ring, const struct string_table *texts,
			 const struct iaprof_record_metadata *metadata)
{
	struct iaprof_record_metadata record = *metadata;
	if (!strcmp(text_of(texts, metadata->key), REALTIME_OFFSET)) {
		uint64_t offset = strtoull(text_of(texts, metadata->value), NULL, 10);
		if (!ring->offset)
			ring->offset = offset;
		ring->shift = (int64_t)(offset - ring->offset);
	}
	record.key = string_of(ring, metadata->key);
	record.value = string_of(ring, metadata->value);
	return ring->has_metadata ? 0 : record_batch_append(&ring->batch, &record.header);
}

static int take_source(struct ring_replay *ring, const struct string_table *texts,
		       const struct iaprof_record_source *source)
{
	struct iaprof_record_source record = *source;
	const char *name = text_of(texts, source->name);
	bool is_new;
	uint32_t number = *name ? string_table_add(&ring->sources, name, strlen(name), &is_new) : 0;
	if (!number || number > UINT16_MAX || source->number > UINT16_MAX)
		return *name ? -ENOMEM : -EBADMSG;
	record.number = number;
	record.name = string_of(ring, source->name);
	int result = set_id(&ring->source_numbers, source->number, (uint16_t)number);
	return result || !is_new ? result : record_batch_append(&ring->batch, &record.header);
}

static int take_device(struct ring_replay *ring, const struct string_table *texts,
		       const struct iaprof_record_device *device)
{
	const char *name = text_of(texts, device->name);
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

static int take_value_type(struct ring_replay *ring, const struct iaprof_record_value_type *type)
{
	struct iaprof_record_value_type record = *type;
	record.id = string_of(ring, type->id);
	record.name = string_of(ring, type->name);
	record.unit = string_of(ring, type->unit);
	bool is_new;
	if (!record.id)
		return -EBADMSG;
	if (!string_table_add(&ring->value_types, (const char *)&record.id, sizeof record.id, &is_new))
		return -ENOMEM;
	return is_new ? record_batch_append(&ring->batch, &record.header) : 0;
}

static int take_module(struct ring_replay *ring, const struct iaprof_record_module *module)
{
	uint64_t copy[(sizeof *module + IAPROF_MODULE_BUILD_ID_SIZE_MAX) / 8];
	if (module->header.size > sizeof copy)
		return -EBADMSG;
	memcpy(copy, module, module->header.size);
	((struct iaprof_record_module *)copy)->path = string_of(ring, module->path);
	return record_batch_append(&ring->batch, (struct iaprof_record *)copy);
}

/* A stack that several segments have is sent once. */
static int take_stack(struct ring_replay *ring, const struct iaprof_record_profile_stack *stack)
{
	CLEANUP_FREE struct iaprof_record_profile_stack *copy = malloc(stack->header.size);
	if (!copy)
		return -ENOMEM;
	if (stack->frame_count > (stack->header.size - sizeof *stack) / sizeof(struct iaprof_record_frame))
		return -EBADMSG;
	memcpy(copy, stack, stack->header.size);
	struct iaprof_record_frame *frames = (struct iaprof_record_frame *)(copy + 1);
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		frames[i].name = string_of(ring, frames[i].name);
		frames[i].module = string_of(ring, frames[i].module);
		frames[i].file = string_of(ring, frames[i].file);
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

static int take_value(struct ring_replay *ring, const struct iaprof_record_profile_value *value)
{
	struct iaprof_record_profile_value record = *value;
	if (value->header.size < sizeof record || value->stack >= ring->stack_ids.count)
		return -EBADMSG;
	record.header.source = 0;
	record.header.time = shifted(ring, value->header.time);
	record.begin = shifted(ring, value->begin);
	record.end = shifted(ring, value->end);
	record.stack = ring->stack_ids.items[value->stack];
	record.value_type = string_of(ring, value->value_type);
	return record_batch_append(&ring->batch, &record.header);
}

static int take_lost(struct ring_replay *ring, const struct iaprof_record_lost *lost)
{
	struct iaprof_record_lost record = *lost;
	uint16_t source = lost->header.source;
	record.header.source = source < ring->source_numbers.count ? ring->source_numbers.items[source] : 0;
	record.header.time = shifted(ring, lost->header.time);
	record.begin = shifted(ring, lost->begin);
	record.value_type = string_of(ring, lost->value_type);
	record.reason = string_of(ring, lost->reason);
	return record_batch_append(&ring->batch, &record.header);
}

static int take_sync(struct ring_replay *ring, const struct iaprof_record *sync)
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
		[IAPROF_RECORD_DEVICE] = sizeof(struct iaprof_record_device),
		[IAPROF_RECORD_VALUE_TYPE] = sizeof(struct iaprof_record_value_type),
		[IAPROF_RECORD_MODULE] = sizeof(struct iaprof_record_module),
		[IAPROF_RECORD_PROFILE_STACK] = sizeof(struct iaprof_record_profile_stack),
		[IAPROF_RECORD_PROFILE_VALUE] = sizeof(struct iaprof_record_profile_value),
		[IAPROF_RECORD_LOST] = sizeof(struct iaprof_record_lost),
		[IAPROF_RECORD_SYNC] = sizeof(struct iaprof_record_sync),
	};
	return type < IAPROF_RECORD_TYPE_COUNT ? sizes[type] : 0;
}

static int take(struct ring_replay *ring, const struct iaprof_host *host, struct string_table *texts,
		const struct iaprof_record *record)
{
	size_t size = size_of(record->type);
	if (!size || record->size < size)
		return -EBADMSG;
	switch (record->type) {
	case IAPROF_RECORD_STRING: {
		const struct iaprof_record_string *string = (const void *)record;
		int result = take_string(ring, host, string);
		return result ? result
			      : string_table_define(texts, string->id, iaprof_record_string_text(string),
						    string->length);
	}
	case IAPROF_RECORD_METADATA:
		return take_metadata(ring, texts, (const void *)record);
	case IAPROF_RECORD_SOURCE:
		return take_source(ring, texts, (const void *)record);
	case IAPROF_RECORD_DEVICE:
		return take_device(ring, texts, (const void *)record);
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

struct segment_file {
	int descriptor;
	uint64_t offset;
};

static ssize_t read_segment(void *context, void *data, size_t size)
{
	struct segment_file *file = context;
	ssize_t got = file_read_at(file->descriptor, data, size, file->offset);
	file->offset += got > 0 ? (uint64_t)got : 0;
	return got;
}

/* Sends the records of a segment. Returns 0, or a negative errno with *wrong: -EBADMSG, -EINVAL: it is damaged. */
static int send_records(struct ring_replay *ring, const struct iaprof_host *host, struct capture_reader *reader,
			const char *name, const volatile int *stopping)
{
	CLEANUP(string_table_free) struct string_table texts = { 0 };
	struct iaprof_batch batch;
	int result = capture_reader_open(reader);
	while (result == 0 && (result = capture_reader_next(reader, &batch)) > 0) {
		const struct iaprof_record *record = NULL;
		result = __atomic_load_n(stopping, __ATOMIC_ACQUIRE) ? -ECANCELED : 0;
		if (result == 0 && replay_budget_count(ring->budget, &batch))
			result = -ENOMEM;
		if (result == 0)
			result = replay_budget_check(ring->budget, host, name, ring->size + reader->offset,
						     ring->records + reader->totals.bytes,
						     ring->blocks + reader->totals.blocks);
		while (result == 0 && (record = iaprof_batch_next(&batch, record))) {
			result = take(ring, host, &texts, record);
			if (result == -EBADMSG || result == -EINVAL)
				snprintf(reader->wrong, sizeof reader->wrong,
					 "a record of type %u is not one of a ring", record->type);
		}
		if (result == 0)
			result = record_batch_flush(&ring->batch);
	}
	ring->size += reader->offset;
	ring->records += reader->totals.bytes;
	ring->blocks += reader->totals.blocks;
	return result;
}

static void forget_segment(struct ring_replay *ring)
{
	array_free(&ring->strings);
	array_free(&ring->stack_ids);
	array_free(&ring->device_ids);
	array_free(&ring->source_numbers);
	ring->shift = 0;
}

static int send_segment(struct ring_replay *ring, const struct iaprof_host *host, const struct ring_segment *segment,
			const volatile int *stopping)
{
	CLEANUP_CLOSE int descriptor = regular_file_open(ring->folder, segment->name, O_NOFOLLOW);
	struct segment_file file = { .descriptor = descriptor };
	struct capture_reader reader = { .read = read_segment, .context = &file };
	int result = descriptor < 0 ? descriptor : send_records(ring, host, &reader, segment->name, stopping);
	capture_reader_close(&reader);
	forget_segment(ring);
	if (result == -ENOMEM)
		return out_of_memory(host);
	if (result == 0 || result == -ECANCELED || result == -EFBIG)
		return result;
	/* The writer may have removed it meanwhile. */
	ring->skipped += result != -ENOENT;
	host->log(host, IAPROF_LOG_WARNING, "%s/%s: %s", ring->range.folder, segment->name,
		  reader.wrong[0] ? reader.wrong : strerror(-result));
	return 0;
}

int ring_replay_run(struct ring_replay *ring, const struct iaprof_host *host, const volatile int *stopping)
{
	int result = 0;
	for (size_t i = 0; result == 0 && i < ring->segments.count; i++)
		result = send_segment(ring, host, &ring->segments.items[i], stopping);
	if (result == 0 && ring->skipped)
		return host->fail(host, EBADMSG, "%s: %zu of %zu segments could not be read completely", ring->path,
				  ring->skipped, ring->segments.count);
	return result == -ECANCELED ? 0 : result;
}

void ring_replay_close(struct ring_replay *ring)
{
	forget_segment(ring);
	record_batch_free(&ring->batch);
	string_table_free(&ring->sources);
	string_table_free(&ring->devices);
	string_table_free(&ring->value_types);
	keyed_array_free(&ring->stacks);
	array_free(&ring->segments);
	free(ring->range.folder);
	if (ring->is_open)
		close(ring->folder);
}
