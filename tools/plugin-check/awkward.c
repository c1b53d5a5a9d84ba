/* SPDX-License-Identifier: Apache-2.0 */
/* Unusual data that a sink must handle: see awkward.h. */
#include "awkward.h"

#include <string.h>

/* Later versions append members: everything here is one member longer than this version's structs. */
#define LONGER(type)                                                                                                   \
	struct {                                                                                                       \
		type known;                                                                                            \
		uint64_t appended;                                                                                     \
	}

static const LONGER(struct iaprof_frame) frames[] = {
	{ .known = { .name = "", .kind = IAPROF_FRAME_PROCESS, .pid = 1 }, .appended = UINT64_MAX },
	{ .known = { .name = "a;b c\n\r\t\"d\",\\ 1", .module = "/tmp/;\n x", .kind = IAPROF_FRAME_USER } },
	{ .known = { .name = "\x1b[31m\x7f\xff\xfe\xc3\x28 </script>&amp;", .kind = IAPROF_FRAME_JIT } },
	{ .known = { .name = "inlined", .file = "a\nb.c", .line = 1, .flags = IAPROF_FRAME_INLINED, .kind = 2 } },
	{ .known = { .name = "[unknown]", .flags = IAPROF_FRAME_UNKNOWN, .kind = IAPROF_FRAME_LINUX_KERNEL } },
	{ .known = { .name = "-", .kind = IAPROF_FRAME_SEPARATOR } },
	{ .known = { .name = "send 12", .kind = IAPROF_FRAME_DEVICE_INSTRUCTION, .offset = UINT64_MAX } },
	{ .known = { .name = "of the future", .kind = UINT32_MAX, .flags = UINT32_MAX } },
};
static const uint32_t stack_long[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
static const uint32_t stack_short[] = { 0 };
static const LONGER(struct iaprof_stack) stacks[] = {
	{ .known = { .frames = stack_long, .frame_count = 8 }, .appended = UINT64_MAX },
	{ .known = { .frames = stack_short, .frame_count = 1 }, .appended = UINT64_MAX },
};
static const LONGER(struct iaprof_value_type) value_types[] = {
	{ .known = { .name = "cpu", .unit = "nanoseconds", .period = 10101010 }, .appended = UINT64_MAX },
	{ .known = { .name = "a/../b c\n;\"", .unit = "" }, .appended = UINT64_MAX },
};
static const LONGER(struct iaprof_value) values[] = {
	{ .known = { .stack = 0, .value_type = 0, .value = UINT64_MAX, .count = 1 }, .appended = UINT64_MAX },
	{ .known = { .stack = 1, .value_type = 0, .value = 0, .count = 1 }, .appended = UINT64_MAX },
	{ .known = { .stack = 1, .value_type = 1, .value = 1, .count = UINT64_MAX }, .appended = UINT64_MAX },
};
/* Value types of a differential profile. */
static const LONGER(struct iaprof_value_type) compared_types[] = {
	{ .known = { .name = "cpu", .unit = "nanoseconds", .before_factor = 1 }, .appended = UINT64_MAX },
	{ .known = { .name = "a/../b c\n;\"", .unit = "", .before_factor = 1e300 }, .appended = UINT64_MAX },
};
static const LONGER(struct iaprof_value) compared_values[] = {
	{ .known = { .stack = 0, .value_type = 0, .value = 0, .before = UINT64_MAX, .before_count = 1 },
	  .appended = UINT64_MAX },
	{ .known = { .stack = 1, .value_type = 0, .value = UINT64_MAX, .count = 1 }, .appended = UINT64_MAX },
	{ .known = { .stack = 1, .value_type = 1, .value = 1, .before = UINT64_MAX }, .appended = UINT64_MAX },
};
static const LONGER(struct iaprof_lost) losses[] = {
	{ .known = { .source = "cpu-stack", .reason = "a;b\n", .count = 1, .value_type = UINT32_MAX, .unknown = 1 },
	  .appended = UINT64_MAX },
};
static const char *const metadata[] = { "key", "va\"lue\n", NULL };
static const char *const no_metadata[] = { NULL };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

struct iaprof_profile awkward_empty_profile(void)
{
	return (struct iaprof_profile){ .size = sizeof(struct iaprof_profile),
					.flags = IAPROF_PROFILE_FINAL | IAPROF_PROFILE_TOTAL,
					.begin = 1,
					.end = 2,
					.frame_size = sizeof frames[0],
					.stack_size = sizeof stacks[0],
					.value_type_size = sizeof value_types[0],
					.value_size = sizeof values[0],
					.lost_size = sizeof losses[0],
					.metadata = no_metadata };
}

struct iaprof_profile awkward_profile(void)
{
	struct iaprof_profile profile = awkward_empty_profile();
	profile.frames = frames;
	profile.frame_count = COUNT_OF(frames);
	profile.stacks = stacks;
	profile.stack_count = COUNT_OF(stacks);
	profile.value_types = value_types;
	profile.value_type_count = COUNT_OF(value_types);
	profile.values = values;
	profile.value_count = COUNT_OF(values);
	profile.lost = losses;
	profile.lost_count = COUNT_OF(losses);
	profile.metadata = metadata;
	return profile;
}

struct iaprof_profile awkward_difference(void)
{
	struct iaprof_profile profile = awkward_profile();
	profile.flags |= IAPROF_PROFILE_DIFFERENCE;
	profile.value_types = compared_types;
	profile.values = compared_values;
	profile.before_begin = profile.before_end = UINT64_MAX;
	profile.before_metadata = metadata;
	profile.normalization = UINT32_MAX; /* a value of a future version */
	return profile;
}

/* Appends a record; returns it, zeroed after its header, for the caller to fill. */
static void *add_record(struct awkward_batch *batch, uint16_t type, uint32_t size)
{
	struct iaprof_record *record = (struct iaprof_record *)(batch->records + batch->size);
	memset(record, 0, size);
	*record = (struct iaprof_record){ .size = size, .type = type, .source = 1, .time = 1 };
	batch->size += size;
	batch->count++;
	return record;
}

static void add_string(struct awkward_batch *batch, uint32_t id, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	uint32_t size = (uint32_t)(sizeof(struct iaprof_record_string) + length + 8) & ~7u;
	struct iaprof_record_string *string = add_record(batch, IAPROF_RECORD_STRING, size);
	string->id = id;
	string->length = length;
	memcpy(string + 1, text, length);
}

void awkward_batch_fill(struct awkward_batch *batch)
{
	batch->count = batch->size = 0;
	add_string(batch, 1, "a;b\n\"c\",\x1b[31m\xff");
	add_string(batch, 2, "");

	struct iaprof_record_stack *stack = add_record(batch, IAPROF_RECORD_STACK, sizeof *stack + sizeof(uint64_t));
	stack->id = 1;
	stack->count = 1;
	stack->pid = 1;
	struct iaprof_record_value_type *type = add_record(batch, IAPROF_RECORD_VALUE_TYPE, sizeof *type);
	type->id = type->name = type->unit = 1;
	struct iaprof_record_source *source = add_record(batch, IAPROF_RECORD_SOURCE, sizeof *source);
	source->number = source->name = 1;
	struct iaprof_record_process *process = add_record(batch, IAPROF_RECORD_PROCESS, sizeof *process);
	process->pid = process->name = 1;
	process->event = UINT32_MAX; /* an event of a future version */
	struct iaprof_record_mapping *mapping = add_record(batch, IAPROF_RECORD_MAPPING, sizeof *mapping);
	mapping->pid = mapping->path = 1;
	mapping->start = mapping->size = UINT64_MAX;
	/* A record that is longer than this version's struct. */
	struct iaprof_record_sample *sample = add_record(batch, IAPROF_RECORD_SAMPLE, sizeof *sample + 64);
	sample->pid = sample->user_stack = sample->value_type = 1;
	sample->count = sample->value = UINT64_MAX;
	/* Undefined ids, as in a damaged capture. */
	sample = add_record(batch, IAPROF_RECORD_SAMPLE, sizeof *sample);
	sample->user_stack = sample->kernel_stack = sample->value_type = sample->name = 12345;
	struct iaprof_record_counter_value *value = add_record(batch, IAPROF_RECORD_COUNTER_VALUE, sizeof *value);
	value->counter = 7;
	struct iaprof_record_stall_sample *stall = add_record(batch, IAPROF_RECORD_STALL_SAMPLE, sizeof *stall + 8);
	stall->reason_count = 1;
	struct iaprof_record_frames *answer =
		add_record(batch, IAPROF_RECORD_FRAMES, sizeof *answer + sizeof(struct iaprof_record_frame));
	answer->frame_count = 1;
	struct iaprof_record_code_function *function =
		add_record(batch, IAPROF_RECORD_CODE_FUNCTION, sizeof *function + 2 * sizeof(struct iaprof_attribute));
	function->attribute_count = 2; /* without a name, and with an undefined one */
	((struct iaprof_attribute *)(function + 1))[1].name = 12345;
	function->name = function->shown_name = 1;
	function->flags = UINT32_MAX;
	struct iaprof_record_code_listing *listing =
		add_record(batch, IAPROF_RECORD_CODE_LISTING,
			   sizeof *listing + sizeof(struct iaprof_listed_instruction) + sizeof(struct iaprof_producer));
	*listing = (struct iaprof_record_code_listing){ .header = listing->header,
							.id = 1,
							.name = 12345,
							.size = UINT64_MAX,
							.left_out = UINT64_MAX,
							.instruction_count = 1,
							.producer_count = 1 };
	*(struct iaprof_listed_instruction *)(listing + 1) = (struct iaprof_listed_instruction){
		.offset = UINT64_MAX, .size = UINT32_MAX, .name = 12345, .file = 12345, .producer_count = 1
	};
	struct iaprof_record_source_text *source_text =
		add_record(batch, IAPROF_RECORD_SOURCE_TEXT, sizeof *source + 8);
	source_text->file = 12345; /* a part from the middle of a file whose beginning was lost */
	source_text->size = IAPROF_SOURCE_TEXT_SIZE_MAX;
	source_text->offset = 4096;
	source_text->length = 1;
	*(char *)(source_text + 1) = 'x';
	struct iaprof_record_stack_frames *named =
		add_record(batch, IAPROF_RECORD_STACK_FRAMES, sizeof *named + sizeof(struct iaprof_record_frame));
	named->stack = named->frame_count = 1;
	((struct iaprof_record_frame *)(named + 1))->name = 12345;
	struct iaprof_record_module *module =
		add_record(batch, IAPROF_RECORD_MODULE, sizeof *module + IAPROF_MODULE_BUILD_ID_SIZE_MAX);
	module->path = 12345;
	module->build_id_size = IAPROF_MODULE_BUILD_ID_SIZE_MAX;
	add_record(batch, IAPROF_RECORD_METADATA, sizeof(struct iaprof_record_metadata));
	add_record(batch, IAPROF_RECORD_DEVICE, sizeof(struct iaprof_record_device));
	add_record(batch, IAPROF_RECORD_CODE_OBJECT, sizeof(struct iaprof_record_code_object));
	add_record(batch, IAPROF_RECORD_CODE_OBJECT_UNLOAD, sizeof(struct iaprof_record_code_object_unload));
	add_record(batch, IAPROF_RECORD_KERNEL, sizeof(struct iaprof_record_kernel));
	add_record(batch, IAPROF_RECORD_LAUNCH, sizeof(struct iaprof_record_launch));
	add_record(batch, IAPROF_RECORD_STALL_REASON, sizeof(struct iaprof_record_stall_reason));
	add_record(batch, IAPROF_RECORD_CALL, sizeof(struct iaprof_record_call));
	add_record(batch, IAPROF_RECORD_COUNTER, sizeof(struct iaprof_record_counter));
	add_record(batch, IAPROF_RECORD_FINDING, sizeof(struct iaprof_record_finding));
	add_record(batch, IAPROF_RECORD_LOST, sizeof(struct iaprof_record_lost));
	add_record(batch, UINT16_MAX, 128); /* a type of a future version */
}
