/* SPDX-License-Identifier: Apache-2.0 */
/* See replay_budget.h. */
#include "replay_budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "process/resident_memory.h"
#include "records/record_array.h"

void replay_budget_open(struct replay_budget *budget)
{
	if (!budget->is_open)
		budget->descriptor = resident_memory_open(0);
	budget->is_open = true;
	budget->before = resident_memory_read(budget->descriptor);
}

static int refuse(const struct iaprof_host *host, const char *file, uint64_t blocks, uint64_t size, const char *what,
		  uint64_t file_size)
{
	return host->fail(host, EFBIG,
			  "%s: block %" PRIu64 ": %" PRIu64 " MiB of %s from %" PRIu64
			  " KiB of the file exceed the limit, "
			  "the rest is not replayed (-s replay:file=FILE,memory=SIZE sets another limit)",
			  file, blocks, size >> 20, what, file_size >> 10);
}

/* The core accepts ids slightly above the number of strings (lib/base/string_table.c). */
static bool is_id(const struct replay_budget *budget, uint32_t id)
{
	return id && id <= 2 * (uint64_t)budget->string_count + 65536 && id < UINT32_MAX / 8;
}

static int count_string(struct replay_budget *budget, const struct iaprof_record_string *string)
{
	if (string->header.size < sizeof *string || !is_id(budget, string->id))
		return 0;
	if (!array_extend(&budget->lengths, (size_t)string->id + 1))
		return -ENOMEM;
	budget->lengths.items[string->id] = string->header.size; /* length of the text, with some overhead */
	budget->string_count++;
	return 0;
}

static uint32_t length_of(const struct replay_budget *budget, uint32_t id)
{
	return id < budget->lengths.count ? budget->lengths.items[id] : 0;
}

/* Frames that do not fit are not counted: the core rejects the record. first_offset: as in record_array_room(). */
static void count_frames(struct replay_budget *budget, const struct iaprof_record *record, size_t first_offset,
			 uint8_t array_offset, uint8_t element_size, uint32_t count)
{
	if (!record_strided_array_fits(record, array_offset, (uint32_t)first_offset, count, element_size,
				       sizeof(struct iaprof_record_frame)))
		return;
	const void *frames = iaprof_record_array(record, array_offset, (uint32_t)first_offset);
	for (uint32_t i = 0; i < count; i++) {
		const struct iaprof_record_frame *frame = iaprof_record_frame_at(frames, element_size, i);
		budget->text += (uint64_t)length_of(budget, frame->name) + length_of(budget, frame->module) +
				length_of(budget, frame->file);
	}
}
/* Counts the frames of a record that is long enough for its struct. */
#define COUNT_FRAMES(budget, record, struct_name)                                                                      \
	if ((record)->size >= sizeof(struct struct_name))                                                              \
	count_frames(budget, record, sizeof(struct struct_name),                                                       \
		     ((const struct struct_name *)(const void *)(record))->array_offset,                               \
		     ((const struct struct_name *)(const void *)(record))->element_size,                               \
		     ((const struct struct_name *)(const void *)(record))->frame_count)

int replay_budget_count(struct replay_budget *budget, const struct iaprof_batch *batch)
{
	int result = 0;
	for (const struct iaprof_record *record = NULL; result == 0 && (record = iaprof_batch_next(batch, record));)
		switch (record->type) {
		case IAPROF_RECORD_STRING:
			result = count_string(budget, (const void *)record);
			break;
		case IAPROF_RECORD_FRAMES:
			COUNT_FRAMES(budget, record, iaprof_record_frames);
			break;
		case IAPROF_RECORD_STACK_FRAMES:
			COUNT_FRAMES(budget, record, iaprof_record_stack_frames);
			break;
		case IAPROF_RECORD_PROFILE_STACK:
			COUNT_FRAMES(budget, record, iaprof_record_profile_stack);
			break;
		default:
			break;
		}
	return result;
}

int replay_budget_check(struct replay_budget *budget, const struct iaprof_host *host, const char *file, uint64_t offset,
			uint64_t records, uint64_t blocks)
{
	if (offset > budget->file_size)
		budget->file_size = offset;
	if (!budget->memory && records > REPLAY_RECORDS_MIN + REPLAY_RECORDS_RATIO * budget->file_size)
		return refuse(host, file, blocks, records, "records", budget->file_size);
	if (!budget->memory && budget->text > REPLAY_TEXT_MIN + REPLAY_TEXT_RATIO * budget->file_size)
		return refuse(host, file, blocks, budget->text, "names in stacks", budget->file_size);
	uint64_t limit = budget->memory ? budget->memory : REPLAY_MEMORY_MIN + REPLAY_MEMORY_RATIO * budget->file_size;
	uint64_t in_use =
		HAS_SANITIZER ? 0 : resident_memory_read(budget->descriptor); /* their frames are not counted */
	uint64_t used = in_use > budget->before ? in_use - budget->before : 0;
	return used > limit ? refuse(host, file, blocks, used, "memory", budget->file_size) : 0;
}

void replay_budget_close(struct replay_budget *budget)
{
	if (budget->is_open && budget->descriptor >= 0)
		close(budget->descriptor);
	array_free(&budget->lengths);
	budget->is_open = false;
}
