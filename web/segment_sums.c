/* SPDX-License-Identifier: Apache-2.0 */
/* See segment_sums.h. */
#include "segment_sums.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular_file.h"
#include "capture/capture_format.h"

/* Limit on the devices of a segment. */
#define DEVICES_MAX 1024u
#define OTHERS "(others)"
#define NO_PROGRAM "(no program)"

struct stack_owner {
	uint32_t program, device; /* names; 0: none */
};

/* An id of the segment, and what it is among all segments. */
struct translation {
	uint32_t id, value;
	uint16_t source;
};

struct reading {
	struct segment_sums *sums;
	struct segment_names *names;
	struct string_table texts;
	ARRAY(struct translation) metrics;
	ARRAY(struct translation) devices;
	ARRAY(struct stack_owner) stacks; /* by id */
};

void segment_names_free(struct segment_names *names)
{
	string_table_free(&names->names);
	array_free(&names->metrics);
}

/* Returns the number of a name; 0 when out of memory. */
static uint32_t name_of(struct segment_names *names, const char *text)
{
	if (names->names.entries.count < SEGMENT_NAMES_MAX)
		return string_table_add(&names->names, text, strlen(text), NULL);
	uint32_t known = string_table_find(&names->names, text, strlen(text));
	return known ? known : string_table_add(&names->names, OTHERS, strlen(OTHERS), NULL);
}

static int add_sum(struct reading *reading, struct segment_sum wanted)
{
	struct segment_sums *sums = reading->sums;
	for (size_t i = 0; i < sums->count; i++) {
		struct segment_sum *sum = &sums->items[i];
		if (sum->name == wanted.name && sum->metric == wanted.metric && sum->group == wanted.group) {
			sum->value += wanted.value;
			return 0;
		}
	}
	if (sums->count < SEGMENT_SUMS_MAX || !wanted.name)
		return array_push(sums, wanted) ? 0 : -ENOMEM;
	uint32_t others = name_of(reading->names, OTHERS);
	if (!others)
		return -ENOMEM;
	/* At most one more for each metric and group. */
	if (others == wanted.name)
		return array_push(sums, wanted) ? 0 : -ENOMEM;
	wanted.name = others;
	return add_sum(reading, wanted);
}

static int take_value_type(struct reading *reading, const struct iaprof_record_value_type *type)
{
	struct segment_names *names = reading->names;
	struct segment_metric metric = { name_of(names, string_table_text(&reading->texts, type->name)),
					 name_of(names, string_table_text(&reading->texts, type->unit)) };
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
	if (reading->metrics.count == SEGMENT_METRICS_MAX)
		return -EBADMSG;
	return array_push(&reading->metrics, ((struct translation){ .id = type->id, .value = found })) ? 0 : -ENOMEM;
}

static int take_device(struct reading *reading, const struct iaprof_record_device *device)
{
	const char *text = string_table_text(&reading->texts, device->name);
	struct translation known = { .id = device->id, .source = device->header.source };
	if (!*text || reading->devices.count == DEVICES_MAX)
		return -EBADMSG;
	known.value = name_of(reading->names, text);
	return known.value && array_push(&reading->devices, known) ? 0 : -ENOMEM;
}

static int take_stack(struct reading *reading, const struct iaprof_record_profile_stack *stack)
{
	const struct iaprof_record_frame *first = iaprof_record_profile_stack_frames(stack);
	if (!stack->frame_count || stack->frame_count > IAPROF_PROFILE_STACK_COUNT_MAX ||
	    stack->header.size < sizeof *stack + stack->frame_count * sizeof *first ||
	    stack->id > reading->stacks.count + 1)
		return -EBADMSG;
	const struct iaprof_record_stack_origin *origin = iaprof_record_profile_stack_origin(stack);
	const char *program =
		first->kind == IAPROF_FRAME_PROCESS ? string_table_text(&reading->texts, first->name) : NO_PROGRAM;
	struct stack_owner owner = { .program = name_of(reading->names, *program ? program : NO_PROGRAM) };
	for (size_t i = 0; origin && i < reading->devices.count; i++)
		if (reading->devices.items[i].id == origin->device &&
		    reading->devices.items[i].source == stack->header.source)
			owner.device = reading->devices.items[i].value;
	if (!owner.program || !array_extend(&reading->stacks, (size_t)stack->id + 1))
		return -ENOMEM;
	reading->stacks.items[stack->id] = owner;
	return 0;
}

static int take_value(struct reading *reading, const struct iaprof_record_profile_value *value)
{
	if (value->stack >= reading->stacks.count)
		return -EBADMSG;
	struct stack_owner owner = reading->stacks.items[value->stack];
	for (size_t i = 0; i < reading->metrics.count; i++) {
		if (reading->metrics.items[i].id != value->value_type)
			continue;
		struct segment_sum sum = { .metric = (uint16_t)reading->metrics.items[i].value,
					   .value = (double)value->value };
		int result = add_sum(reading, sum);
		sum.group = SEGMENT_PROGRAM;
		sum.name = owner.program;
		if (!result && sum.name)
			result = add_sum(reading, sum);
		sum.group = SEGMENT_DEVICE;
		sum.name = owner.device;
		return !result && sum.name ? add_sum(reading, sum) : result;
	}
	return 0;
}

static int take_string(struct reading *reading, const struct iaprof_record_string *string)
{
	if (string->length >= string->header.size - sizeof *string)
		return -EBADMSG;
	int result = string_table_define(&reading->texts, string->id, iaprof_record_string_text(string),
					 strnlen(iaprof_record_string_text(string), string->length));
	return result == -EINVAL ? -EBADMSG : result;
}

/* Reads a record of a type if it is long enough. */
#define TAKE(take, type)                                                                                               \
	(record->size < sizeof(struct type) ? -EBADMSG : take(reading, (const struct type *)(const void *)record))

static int take_record(struct reading *reading, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		return TAKE(take_string, iaprof_record_string);
	case IAPROF_RECORD_VALUE_TYPE:
		return TAKE(take_value_type, iaprof_record_value_type);
	case IAPROF_RECORD_DEVICE:
		return TAKE(take_device, iaprof_record_device);
	case IAPROF_RECORD_PROFILE_STACK:
		return TAKE(take_stack, iaprof_record_profile_stack);
	case IAPROF_RECORD_PROFILE_VALUE:
		/* A shorter one lacks only its time. */
		return record->size < offsetof(struct iaprof_record_profile_value, begin)
			       ? -EBADMSG
			       : take_value(reading, (const void *)record);
	default:
		return 0;
	}
}

static ssize_t read_file(void *context, void *data, size_t size)
{
	size_t got = 0;
	while (got < size) {
		ssize_t more = read(*(const int *)context, (char *)data + got, size - got);
		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			return -errno;
		if (!more)
			break;
		got += (size_t)more;
	}
	return (ssize_t)got;
}

static int read_records(struct reading *reading, struct capture_reader *reader)
{
	struct iaprof_batch batch;
	int result = capture_reader_open(reader);
	while (!result && (result = capture_reader_next(reader, &batch)) == 1) {
		result = reader->totals.bytes > SEGMENT_BYTES_MAX ? -EFBIG : 0;
		for (const struct iaprof_record *record = NULL;
		     !result && (record = iaprof_batch_next(&batch, record));)
			result = take_record(reading, record);
	}
	return result;
}

int segment_sums_read(struct segment_sums *sums, struct segment_names *names, int folder, const char *name)
{
	struct reading reading = { .sums = sums, .names = names };
	CLEANUP_CLOSE int file = regular_file_open(folder, name, O_NOFOLLOW);
	if (file < 0)
		return file;
	struct capture_reader reader = { .read = read_file, .context = &file };
	int result = read_records(&reading, &reader);
	capture_reader_close(&reader);
	string_table_free(&reading.texts);
	array_free(&reading.metrics);
	array_free(&reading.devices);
	array_free(&reading.stacks);
	return result;
}
