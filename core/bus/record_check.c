/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that records are well formed: a table of fixed sizes, and a check for each type with a variable part. */
#include "bus/record_check.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "records/record_array.h"

/* Sizes of elements in schema version 1. */
#define RECORD_FRAME_SIZE 48u
#define LISTED_INSTRUCTION_SIZE 48u
/* Size of the struct of a CODE_LISTING in schema version 1. */
#define SIZE_OF_LISTING 64u

/* Sizes are numbers, because structs grow: a record of schema version 1 stays valid. */
static const struct {
	const char *name;
	uint32_t minimum_size; /* of the struct in schema version 1, before any array */
	bool of_core;
} types[IAPROF_RECORD_TYPE_COUNT] = {
	[IAPROF_RECORD_STRING] = { "STRING", 24, true },
	[IAPROF_RECORD_STACK] = { "STACK", 32, true },
	[IAPROF_RECORD_SOURCE] = { "SOURCE", 24, true },
	[IAPROF_RECORD_METADATA] = { "METADATA", 24, false },
	[IAPROF_RECORD_VALUE_TYPE] = { "VALUE_TYPE", offsetof(struct iaprof_record_value_type, role), true },
	[IAPROF_RECORD_PROCESS] = { "PROCESS", 32, false },
	[IAPROF_RECORD_MAPPING] = { "MAPPING", 104, false },
	[IAPROF_RECORD_SAMPLE] = { "SAMPLE", offsetof(struct iaprof_record_sample, thread_name), false },
	[IAPROF_RECORD_DEVICE] = { "DEVICE", offsetof(struct iaprof_record_device, value_name), false },
	[IAPROF_RECORD_CODE_OBJECT] = { "CODE_OBJECT", offsetof(struct iaprof_record_code_object, instruction_window),
					false },
	[IAPROF_RECORD_CODE_OBJECT_UNLOAD] = { "CODE_OBJECT_UNLOAD", 24, false },
	[IAPROF_RECORD_KERNEL] = { "KERNEL", offsetof(struct iaprof_record_kernel, instruction_base), false },
	[IAPROF_RECORD_LAUNCH] = { "LAUNCH", offsetof(struct iaprof_record_launch, thread_name), false },
	[IAPROF_RECORD_STALL_REASON] = { "STALL_REASON", offsetof(struct iaprof_record_stall_reason, flags), false },
	[IAPROF_RECORD_STALL_SAMPLE] = { "STALL_SAMPLE", 48, false },
	[IAPROF_RECORD_CALL] = { "CALL", offsetof(struct iaprof_record_call, node), false },
	[IAPROF_RECORD_CALL_FUNCTION] = { "CALL_FUNCTION", 32, false },
	[IAPROF_RECORD_CALL_NODE] = { "CALL_NODE", 32, false },
	[IAPROF_RECORD_HISTOGRAM] = { "HISTOGRAM", 64, false },
	[IAPROF_RECORD_JOB] = { "JOB", offsetof(struct iaprof_record_job, kernel), false },
	[IAPROF_RECORD_COUNTER] = { "COUNTER", offsetof(struct iaprof_record_counter, role), false },
	[IAPROF_RECORD_COUNTER_VALUE] = { "COUNTER_VALUE", 32, false },
	[IAPROF_RECORD_FINDING] = { "FINDING", 48, false },
	[IAPROF_RECORD_LOST] = { "LOST", 48, false },
	[IAPROF_RECORD_FRAMES] = { "FRAMES", 40, true },
	[IAPROF_RECORD_CODE_FUNCTION] = { "CODE_FUNCTION", 56, true },
	[IAPROF_RECORD_MODULE] = { "MODULE", 24, true },
	[IAPROF_RECORD_CODE_LISTING] = { "CODE_LISTING", 64, true },
	[IAPROF_RECORD_STACK_FRAMES] = { "STACK_FRAMES", 32, true },
	[IAPROF_RECORD_DEVICE_ACTIVITY] = { "DEVICE_ACTIVITY", 48, false },
	[IAPROF_RECORD_PROFILE_STACK] = { "PROFILE_STACK", 24, true },
	[IAPROF_RECORD_PROFILE_VALUE] = { "PROFILE_VALUE", offsetof(struct iaprof_record_profile_value, begin), true },
	[IAPROF_RECORD_SOURCE_TEXT] = { "SOURCE_TEXT", 32, true },
	[IAPROF_RECORD_NAMED_FRAME] = { "NAMED_FRAME", 40, true },
	[IAPROF_RECORD_PROGRESS] = { "PROGRESS", 16, true },
	[IAPROF_RECORD_SYNC] = { "SYNC", 16, true },
};

const char *record_type_name(uint32_t type)
{
	return type < IAPROF_RECORD_TYPE_COUNT ? types[type].name : NULL;
}

bool record_is_of_core(uint32_t type)
{
	return type < IAPROF_RECORD_TYPE_COUNT && types[type].of_core;
}

/* Checks consecutive arrays, the last of which is divided among the instructions. */
static const char *check_listing(const struct iaprof_record_code_listing *listing)
{
	uint64_t producers = 0;
	if (!listing->id)
		return "id is 0";
	size_t stride = iaprof_record_stride(listing->element_size, LISTED_INSTRUCTION_SIZE);
	if (listing->attribute_count > IAPROF_ATTRIBUTE_COUNT_MAX || stride < LISTED_INSTRUCTION_SIZE ||
	    listing->attribute_count * sizeof(struct iaprof_attribute) + listing->instruction_count * (uint64_t)stride +
			    (uint64_t)listing->producer_count * sizeof(struct iaprof_producer) >
		    record_array_room(&listing->header, listing->array_offset, SIZE_OF_LISTING))
		return "instructions do not fit";
	for (uint32_t i = 0; i < listing->instruction_count; i++)
		producers += iaprof_record_code_listing_instruction(listing, i)->producer_count;
	return producers == listing->producer_count ? NULL : "producers are not those of the instructions";
}

static inline const char *check_sample(const struct iaprof_record_sample *sample)
{
	if (sample->count == 0)
		return "count is 0";
	return sample->first_time > sample->header.time ? "ends before it begins" : NULL;
}

/* Returns what is wrong with the type-specific parts of any other record, or NULL. */
static __attribute__((noinline)) const char *check_contents(const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING: {
		const struct iaprof_record_string *string = (const void *)record;
		if (string->id == 0 || string->length > IAPROF_STRING_LENGTH_MAX ||
		    !record_array_fits(record, string->array_offset, types[record->type].minimum_size,
				       (uint64_t)string->length + 1, 1))
			return "text does not fit";
		const char *text = iaprof_record_string_text(string);
		if (text[string->length] != '\0' || memchr(text, '\0', string->length))
			return "text does not end at its stated length";
		return NULL;
	}
	case IAPROF_RECORD_STACK: {
		const struct iaprof_record_stack *stack = (const void *)record;
		if (stack->id == 0 || stack->count == 0 || stack->count > IAPROF_STACK_DEPTH_MAX ||
		    !record_array_fits(record, stack->array_offset, types[record->type].minimum_size, stack->count,
				       sizeof(uint64_t)))
			return "addresses do not fit";
		return NULL;
	}
	case IAPROF_RECORD_NAMED_FRAME: {
		const struct iaprof_record_named_frame *frame = (const void *)record;
		return frame->id && frame->name ? NULL : "no id or no name";
	}
	case IAPROF_RECORD_VALUE_TYPE:
		return ((const struct iaprof_record_value_type *)record)->id ? NULL : "id is 0";
	case IAPROF_RECORD_PROCESS: {
		uint32_t event = ((const struct iaprof_record_process *)record)->event;
		return event >= IAPROF_PROCESS_EXISTING && event <= IAPROF_PROCESS_UNREADABLE ? NULL : "unknown event";
	}
	case IAPROF_RECORD_MAPPING: {
		const struct iaprof_record_mapping *mapping = (const void *)record;
		if (mapping->build_id_size > IAPROF_BUILD_ID_SIZE_MAX)
			return "build id too long";
		return mapping->size == 0 || mapping->start + mapping->size - 1 < mapping->start
			       ? "empty or wraps around"
			       : NULL;
	}
	case IAPROF_RECORD_CODE_OBJECT:
		return ((const struct iaprof_record_code_object *)record)->build_id_size > IAPROF_BUILD_ID_SIZE_MAX
			       ? "build id too long"
			       : NULL;
	case IAPROF_RECORD_LAUNCH:
		return ((const struct iaprof_record_launch *)record)->count ? NULL : "count is 0";
	case IAPROF_RECORD_STALL_REASON:
		return ((const struct iaprof_record_stall_reason *)record)->id < 64 ? NULL : "id above 63";
	case IAPROF_RECORD_STALL_SAMPLE: {
		const struct iaprof_record_stall_sample *sample = (const void *)record;
		if (sample->reason_count == 0 || sample->reason_count > 64 ||
		    !record_array_fits(record, sample->array_offset, types[record->type].minimum_size,
				       sample->reason_count, sizeof(uint64_t)))
			return "counts do not fit";
		return sample->begin > record->time ? "ends before it begins" : NULL;
	}
	case IAPROF_RECORD_CALL:
		return ((const struct iaprof_record_call *)record)->count ? NULL : "count is 0";
	case IAPROF_RECORD_CALL_FUNCTION: {
		const struct iaprof_record_call_function *function = (const void *)record;
		return function->id && function->name ? NULL : "id or name is 0";
	}
	case IAPROF_RECORD_HISTOGRAM: {
		const struct iaprof_record_histogram *histogram = (const void *)record;
		if (!histogram->count || !histogram->bucket_count ||
		    histogram->bucket_count > IAPROF_HISTOGRAM_BUCKET_COUNT_MAX ||
		    !record_array_fits(record, histogram->array_offset, types[record->type].minimum_size,
				       histogram->bucket_count, sizeof(uint64_t)))
			return "buckets do not fit";
		return histogram->begin > record->time ? "ends before it begins" : NULL;
	}
	case IAPROF_RECORD_JOB: {
		uint32_t state = ((const struct iaprof_record_job *)record)->state;
		return state >= IAPROF_JOB_DONE && state <= IAPROF_JOB_IN_FLIGHT ? NULL : "unknown state";
	}
	case IAPROF_RECORD_CALL_NODE: {
		const struct iaprof_record_call_node *node = (const void *)record;
		return node->id && node->function && node->parent != node->id ? NULL
									      : "id, function or parent is wrong";
	}
	case IAPROF_RECORD_COUNTER_VALUE:
		return isfinite(((const struct iaprof_record_counter_value *)record)->value) ? NULL
											     : "value is not finite";
	case IAPROF_RECORD_FINDING: {
		const struct iaprof_record_finding *finding = (const void *)record;
		return isfinite(finding->value) && isfinite(finding->threshold) ? NULL : "value is not finite";
	}
	case IAPROF_RECORD_FRAMES: {
		const struct iaprof_record_frames *frames = (const void *)record;
		if (frames->frame_count == 0 || frames->frame_count > 64 ||
		    !record_strided_array_fits(record, frames->array_offset, types[record->type].minimum_size,
					       frames->frame_count, frames->element_size, RECORD_FRAME_SIZE))
			return "frames do not fit";
		return NULL;
	}
	case IAPROF_RECORD_STACK_FRAMES: {
		const struct iaprof_record_stack_frames *frames = (const void *)record;
		if (frames->stack == 0 || frames->frame_count == 0 ||
		    frames->frame_count > IAPROF_STACK_FRAMES_COUNT_MAX ||
		    !record_strided_array_fits(record, frames->array_offset, types[record->type].minimum_size,
					       frames->frame_count, frames->element_size, RECORD_FRAME_SIZE))
			return "frames do not fit";
		return NULL;
	}
	case IAPROF_RECORD_PROFILE_STACK: {
		const struct iaprof_record_profile_stack *stack = (const void *)record;
		if (stack->id == 0 || stack->frame_count == 0 || stack->frame_count > IAPROF_PROFILE_STACK_COUNT_MAX ||
		    !record_strided_array_fits(record, stack->array_offset, types[record->type].minimum_size,
					       stack->frame_count, stack->element_size, RECORD_FRAME_SIZE))
			return "frames do not fit";
		return NULL;
	}
	case IAPROF_RECORD_PROFILE_VALUE: {
		const struct iaprof_record_profile_value *value = (const void *)record;
		if (IAPROF_HAS_MEMBER(value, value->header.size, end) && value->begin > value->end)
			return "ends before it begins";
		return value->count ? NULL : "count is 0";
	}
	case IAPROF_RECORD_DEVICE_ACTIVITY: {
		const struct iaprof_record_device_activity *activity = (const void *)record;
		if (!activity->busy || !activity->pid)
			return "no process was busy";
		return activity->begin > record->time ? "ends before it begins" : NULL;
	}
	case IAPROF_RECORD_MODULE: {
		const struct iaprof_record_module *module = (const void *)record;
		if (module->build_id_size == 0 || module->build_id_size > IAPROF_MODULE_BUILD_ID_SIZE_MAX ||
		    !record_array_fits(record, module->array_offset, types[record->type].minimum_size,
				       module->build_id_size, 1))
			return "build id does not fit";
		return NULL;
	}
	case IAPROF_RECORD_SOURCE_TEXT: {
		const struct iaprof_record_source_text *text = (const void *)record;
		if (!text->file || text->size > IAPROF_SOURCE_TEXT_SIZE_MAX || !text->length ||
		    text->length > text->size || text->offset > text->size - text->length ||
		    !record_array_fits(record, text->array_offset, types[record->type].minimum_size, text->length, 1))
			return "text does not fit";
		return memchr(iaprof_record_source_text_bytes(text), '\0', text->length) ? "text has a NUL" : NULL;
	}
	case IAPROF_RECORD_CODE_LISTING:
		return check_listing((const void *)record);
	case IAPROF_RECORD_CODE_FUNCTION: {
		const struct iaprof_record_code_function *function = (const void *)record;
		if (function->attribute_count > IAPROF_ATTRIBUTE_COUNT_MAX ||
		    !record_array_fits(record, function->array_offset, types[record->type].minimum_size,
				       function->attribute_count, sizeof(struct iaprof_attribute)))
			return "attributes do not fit";
		return NULL;
	}
	default:
		return NULL;
	}
}

enum flaw { FLAW_NONE, FLAW_HEADER, FLAW_SIZE, FLAW_TYPE, FLAW_SHORT, FLAW_CONTENTS };

/* Inline, because this is done for each record of a run; most are samples. *wrong is set for FLAW_CONTENTS. */
static inline enum flaw flaw_of(const struct iaprof_record *record, size_t available, const char **wrong)
{
	if (available < sizeof *record)
		return FLAW_HEADER;
	if (record->size < sizeof *record || record->size % 8 || record->size > IAPROF_RECORD_SIZE_MAX ||
	    record->size > available)
		return FLAW_SIZE;
	if (record->type == 0)
		return FLAW_TYPE;
	if (record->type >= IAPROF_RECORD_TYPE_COUNT)
		return FLAW_NONE;
	if (record->size < types[record->type].minimum_size)
		return FLAW_SHORT;
	*wrong = record->type == IAPROF_RECORD_SAMPLE ? check_sample((const void *)record) : check_contents(record);
	return *wrong ? FLAW_CONTENTS : FLAW_NONE;
}

/* Returns -EINVAL. */
static __attribute__((noinline)) int complain(const struct iaprof_record *record, size_t available, enum flaw flaw,
					      const char *wrong, struct error *error)
{
	switch (flaw) {
	case FLAW_HEADER:
		return error_set(error, EINVAL, "malformed record: %zu bytes left, a header has %zu", available,
				 sizeof *record);
	case FLAW_SIZE:
		return error_set(error, EINVAL, "malformed record: type %u, size %u, of %zu bytes", record->type,
				 record->size, available);
	case FLAW_TYPE:
		return error_set(error, EINVAL, "malformed record: type 0");
	case FLAW_SHORT:
		return error_set(error, EINVAL, "malformed record: %s, size %u, at least %u", types[record->type].name,
				 record->size, types[record->type].minimum_size);
	default:
		return error_set(error, EINVAL, "malformed record: %s: %s", types[record->type].name, wrong);
	}
}

int record_check(const void *bytes, size_t available, struct error *error)
{
	const char *wrong = NULL;
	enum flaw flaw = flaw_of(bytes, available, &wrong);
	return flaw ? complain(bytes, available, flaw, wrong, error) : 0;
}

int record_check_batch(const struct iaprof_batch *batch, bool of_core, struct error *error)
{
	const char *next = batch->records, *wrong = NULL;
	size_t left = batch->size;
	uint32_t count = 0;
	if ((uintptr_t)next % 8)
		return error_set(error, EINVAL, "malformed batch: not 8-byte aligned");
	for (; left; count++) {
		const struct iaprof_record *record = (const void *)next;
		enum flaw flaw = flaw_of(record, left, &wrong);
		if (flaw)
			return complain(record, left, flaw, wrong, error);
		if (!of_core && record_is_of_core(record->type))
			return error_set(error, EINVAL, "malformed record: %s is for the core to send",
					 record_type_name(record->type));
		next += record->size;
		left -= record->size;
	}
	if (count != batch->count)
		return error_set(error, EINVAL, "malformed batch: count is %u, but it has %u records", batch->count,
				 count);
	return 0;
}
