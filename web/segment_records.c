/* SPDX-License-Identifier: Apache-2.0 */
/* See segment_records.h. */
#include "segment_records.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "records/record_array.h"

/* Limit on the devices of a segment. */
#define DEVICES_MAX 1024u
#define OTHERS "(others)"
#define NO_PROGRAM "(no program)"
#define NO_SERVICE "(no service)"

/* Returns the number of a name; 0 when out of memory. */
static uint32_t name_of(struct segment_names *names, const char *text)
{
	if (names->names.entries.count < SEGMENT_NAMES_MAX)
		return string_table_add(&names->names, text, strlen(text), NULL);
	uint32_t known = string_table_find(&names->names, text, strlen(text));
	return known ? known : string_table_add(&names->names, OTHERS, strlen(OTHERS), NULL);
}

static int add_sum(struct segment_records *records, struct segment_sum wanted)
{
	struct segment_sums *sums = records->sums;
	for (size_t i = 0; i < sums->count; i++) {
		struct segment_sum *sum = &sums->items[i];
		if (sum->name == wanted.name && sum->metric == wanted.metric && sum->group == wanted.group) {
			sum->value += wanted.value;
			return 0;
		}
	}
	if (sums->count < SEGMENT_SUMS_MAX || !wanted.name)
		return array_push(sums, wanted) ? 0 : -ENOMEM;
	uint32_t others = name_of(records->names, OTHERS);
	if (!others)
		return -ENOMEM;
	/* At most one more for each metric and group. */
	if (others == wanted.name)
		return array_push(sums, wanted) ? 0 : -ENOMEM;
	wanted.name = others;
	return add_sum(records, wanted);
}

static int take_value_type(struct segment_records *records, const struct iaprof_record_value_type *type)
{
	struct segment_names *names = records->names;
	struct segment_metric metric = { name_of(names, string_table_text(&records->texts, type->name)),
					 name_of(names, string_table_text(&records->texts, type->unit)) };
	uint32_t found = 0;
	while (found < names->metrics.count &&
	       (names->metrics.items[found].name != metric.name || names->metrics.items[found].unit != metric.unit))
		found++;
	if (!metric.name || !metric.unit)
		return -ENOMEM;
	if (found == SEGMENT_METRICS_MAX)
		return 0;
	if (found == names->metrics.count && !array_push(&names->metrics, metric))
		return -ENOMEM;
	if (records->metrics.count == SEGMENT_METRICS_MAX)
		return -EBADMSG;
	return array_push(&records->metrics, ((struct segment_id){ .id = type->id, .value = found })) ? 0 : -ENOMEM;
}

static int take_device(struct segment_records *records, const struct iaprof_record_device *device)
{
	const char *text = string_table_text(&records->texts, device->name);
	struct segment_id known = { .id = device->id, .source = device->header.source };
	if (!*text || records->devices.count == DEVICES_MAX)
		return -EBADMSG;
	known.value = name_of(records->names, text);
	return known.value && array_push(&records->devices, known) ? 0 : -ENOMEM;
}

static int take_stack(struct segment_records *records, const struct iaprof_record_profile_stack *stack)
{
	const struct iaprof_record_frame *first = iaprof_record_profile_stack_frame(stack, 0);
	if (!stack->frame_count || stack->frame_count > IAPROF_PROFILE_STACK_COUNT_MAX ||
	    !record_strided_array_fits(&stack->header, stack->array_offset, sizeof *stack, stack->frame_count,
				       stack->element_size, sizeof *first) ||
	    stack->id > records->stacks.count + 1)
		return -EBADMSG;
	const struct iaprof_record_stack_origin *origin = iaprof_record_profile_stack_origin(stack);
	const char *program =
		first->kind == IAPROF_FRAME_PROCESS ? string_table_text(&records->texts, first->name) : NO_PROGRAM;
	struct segment_stack owner = { .program = name_of(records->names, *program ? program : NO_PROGRAM) };
	for (size_t i = 0; origin && i < records->devices.count; i++)
		if (records->devices.items[i].id == origin->device &&
		    records->devices.items[i].source == stack->header.source)
			owner.device = records->devices.items[i].value;
	/* The module of a process is its service. */
	const char *service =
		first->kind == IAPROF_FRAME_PROCESS ? string_table_text(&records->texts, first->module) : "";
	owner.service = name_of(records->names, *service ? service : NO_SERVICE);
	if (!owner.program || !owner.service || !array_extend(&records->stacks, (size_t)stack->id + 1))
		return -ENOMEM;
	records->stacks.items[stack->id] = owner;
	return 0;
}

static int take_value(struct segment_records *records, const struct iaprof_record_profile_value *value)
{
	if (value->stack >= records->stacks.count)
		return -EBADMSG;
	struct segment_stack owner = records->stacks.items[value->stack];
	for (size_t i = 0; i < records->metrics.count; i++) {
		if (records->metrics.items[i].id != value->value_type)
			continue;
		struct segment_sum sum = { .metric = (uint16_t)records->metrics.items[i].value,
					   .value = (double)value->value };
		int result = add_sum(records, sum);
		sum.group = SEGMENT_PROGRAM;
		sum.name = owner.program;
		if (!result && sum.name)
			result = add_sum(records, sum);
		sum.group = SEGMENT_SERVICE;
		sum.name = owner.service;
		if (!result && sum.name)
			result = add_sum(records, sum);
		sum.group = SEGMENT_DEVICE;
		sum.name = owner.device;
		return !result && sum.name ? add_sum(records, sum) : result;
	}
	return 0;
}

static int take_string(struct segment_records *records, const struct iaprof_record_string *string)
{
	if (!record_array_fits(&string->header, string->array_offset, sizeof *string, string->length + 1u, 1))
		return -EBADMSG;
	int result = string_table_define(&records->texts, string->id, iaprof_record_string_text(string),
					 strnlen(iaprof_record_string_text(string), string->length));
	return result == -EINVAL ? -EBADMSG : result;
}

/* Reads a record of a type if it is long enough. */
#define TAKE(take, type)                                                                                               \
	(record->size < sizeof(struct type) ? -EBADMSG : take(records, (const struct type *)(const void *)record))

/* The same for a record that may end before a member, which is not read. */
#define TAKE_BEFORE(take, type, member)                                                                                \
	(record->size < offsetof(struct type, member) ? -EBADMSG                                                       \
						      : take(records, (const struct type *)(const void *)record))

int segment_records_take(struct segment_records *records, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		return TAKE(take_string, iaprof_record_string);
	case IAPROF_RECORD_VALUE_TYPE:
		return TAKE_BEFORE(take_value_type, iaprof_record_value_type, role);
	case IAPROF_RECORD_DEVICE:
		return TAKE_BEFORE(take_device, iaprof_record_device, value_name);
	case IAPROF_RECORD_PROFILE_STACK:
		return TAKE(take_stack, iaprof_record_profile_stack);
	case IAPROF_RECORD_PROFILE_VALUE:
		return TAKE_BEFORE(take_value, iaprof_record_profile_value, begin);
	default:
		return 0;
	}
}

void segment_records_free(struct segment_records *records)
{
	string_table_free(&records->texts);
	array_free(&records->metrics);
	array_free(&records->devices);
	array_free(&records->stacks);
}
