/* SPDX-License-Identifier: Apache-2.0 */
/* A table of the members that are ids: see record_ids.h. */
#include "bus/record_ids.h"

#include <stddef.h>

#define MEMBERS_MAX 9

struct id_member {
	uint16_t offset;
	uint16_t space; /* enum id_space; 0: the end of the list */
};

#define STRING(type, member)                                                                                           \
	{                                                                                                              \
		offsetof(struct iaprof_record_##type, member), ID_STRING                                               \
	}
#define STACK(type, member)                                                                                            \
	{                                                                                                              \
		offsetof(struct iaprof_record_##type, member), ID_STACK                                                \
	}

static const struct id_member members[IAPROF_RECORD_TYPE_COUNT][MEMBERS_MAX] = {
	[IAPROF_RECORD_METADATA] = { STRING(metadata, key), STRING(metadata, value) },
	[IAPROF_RECORD_VALUE_TYPE] = { STRING(value_type, id), STRING(value_type, name), STRING(value_type, unit),
				       STRING(value_type, sample_unit) },
	[IAPROF_RECORD_PROCESS] = { STRING(process, name) },
	[IAPROF_RECORD_MAPPING] = { STRING(mapping, path) },
	[IAPROF_RECORD_SAMPLE] = { STRING(sample, name), STACK(sample, user_stack), STACK(sample, kernel_stack),
				   STRING(sample, value_type), STRING(sample, thread_name), STRING(sample, reason),
				   STRING(sample, waker_name), STACK(sample, waker_user_stack),
				   STACK(sample, waker_kernel_stack) },
	[IAPROF_RECORD_DEVICE] = { STRING(device, name), STRING(device, address), STRING(device, value_name),
				   STRING(device, value_unit), STRING(device, sample_unit) },
	[IAPROF_RECORD_CODE_OBJECT] = { STRING(code_object, path) },
	[IAPROF_RECORD_KERNEL] = { STRING(kernel, name) },
	[IAPROF_RECORD_LAUNCH] = { STACK(launch, user_stack), STACK(launch, kernel_stack),
				   STRING(launch, thread_name) },
	[IAPROF_RECORD_STALL_REASON] = { STRING(stall_reason, name) },
	[IAPROF_RECORD_CALL] = { STRING(call, name), STRING(call, parent), STACK(call, user_stack),
				 STRING(call, time_type), STRING(call, count_type), STRING(call, thread_name) },
	[IAPROF_RECORD_CALL_FUNCTION] = { STRING(call_function, name), STRING(call_function, family) },
	[IAPROF_RECORD_HISTOGRAM] = { STRING(histogram, name), STRING(histogram, unit) },
	[IAPROF_RECORD_JOB] = { STRING(job, engine), STRING(job, time_type), STRING(job, thread_name) },
	[IAPROF_RECORD_COUNTER] = { STRING(counter, name), STRING(counter, unit), STRING(counter, engine),
				    STRING(counter, labels) },
	[IAPROF_RECORD_FINDING] = { STRING(finding, name), STRING(finding, text) },
	[IAPROF_RECORD_LOST] = { STRING(lost, value_type), STRING(lost, reason) },
	[IAPROF_RECORD_DEVICE_ACTIVITY] = { STRING(device_activity, label) },
};

void record_translate_ids(struct iaprof_record *record,
			  uint32_t (*translate)(void *context, enum id_space space, uint32_t id), void *context)
{
	if (record->type >= IAPROF_RECORD_TYPE_COUNT)
		return;
	for (size_t i = 0; i < MEMBERS_MAX && members[record->type][i].space; i++) {
		const struct id_member *member = &members[record->type][i];
		if (member->offset + sizeof(uint32_t) > record->size)
			break; /* members are in the order of their offsets */
		uint32_t *id = (uint32_t *)((char *)record + member->offset);
		if (*id)
			*id = translate(context, member->space, *id);
	}
	if (record->type != IAPROF_RECORD_STALL_SAMPLE)
		return;
	struct iaprof_record_stall_details *details =
		(void *)iaprof_record_stall_sample_details((struct iaprof_record_stall_sample *)record);
	if (details && details->value_type)
		details->value_type = translate(context, ID_STRING, details->value_type);
}
