/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formedness of records: of each type the smallest that is right, and the nearest that are wrong. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bus/record_check.h"
#include "../run_suite.h"

#define TIME 100

/* Checks a record with tail bytes behind its fixed part, in memory of just that size. */
static int check(const void *fixed, size_t fixed_size, const void *tail, size_t tail_size)
{
	struct error error = { 0 };
	size_t size = fixed_size + tail_size;
	struct iaprof_record *record = calloc(1, size);
	ck_assert_ptr_nonnull(record);
	memcpy(record, fixed, fixed_size);
	if (tail)
		memcpy((char *)record + fixed_size, tail, tail_size);
	record->size = (uint32_t)size;
	record->time = TIME;
	int result = record_check(record, size, &error);
	ck_assert_int_eq(result != 0, strstr(error.text, "malformed record") != NULL);
	free(record);
	return result;
}

#define CHECK(tail, name, type_name, ...)                                                                              \
	check(&(struct iaprof_record_##name){ .header.type = IAPROF_RECORD_##type_name, __VA_ARGS__ },                 \
	      sizeof(struct iaprof_record_##name), NULL, tail)
#define RIGHT(...) ck_assert_int_eq(CHECK(__VA_ARGS__), 0)
#define WRONG(...) ck_assert_int_eq(CHECK(__VA_ARGS__), -EINVAL)

TEST(a_header_bounds_its_record)
{
	struct error error = { 0 };
	struct iaprof_record *record = calloc(1, IAPROF_RECORD_SIZE_MAX + 8);
	ck_assert_ptr_nonnull(record);
	*record = (struct iaprof_record){ .size = sizeof *record, .type = IAPROF_RECORD_TYPE_COUNT };
	ck_assert_int_eq(record_check(record, sizeof *record, &error), 0);
	ck_assert_int_eq(record_check(record, sizeof *record - 1, &error), -EINVAL);
	record->size = sizeof *record + 8;
	ck_assert_int_eq(record_check(record, sizeof *record, &error), -EINVAL);
	ck_assert_int_eq(record_check(record, sizeof *record + 8, &error), 0);
	record->size = sizeof *record + 4;
	ck_assert_int_eq(record_check(record, sizeof *record + 8, &error), -EINVAL);
	record->size = sizeof *record - 8;
	ck_assert_int_eq(record_check(record, sizeof *record, &error), -EINVAL);
	record->size = IAPROF_RECORD_SIZE_MAX;
	ck_assert_int_eq(record_check(record, IAPROF_RECORD_SIZE_MAX + 8, &error), 0);
	record->size = IAPROF_RECORD_SIZE_MAX + 8;
	ck_assert_int_eq(record_check(record, IAPROF_RECORD_SIZE_MAX + 8, &error), -EINVAL);
	free(record);
}

TEST(each_type_has_a_fixed_part)
{
	ck_assert_ptr_null(record_type_name(IAPROF_RECORD_TYPE_COUNT));
	ck_assert(!record_is_of_core(IAPROF_RECORD_TYPE_COUNT));
	ck_assert(record_is_of_core(IAPROF_RECORD_STRING) && record_is_of_core(IAPROF_RECORD_SYNC));
	ck_assert(!record_is_of_core(IAPROF_RECORD_SAMPLE) && !record_is_of_core(IAPROF_RECORD_LOST));
	RIGHT(0, sync, SYNC, .header.source = 1);
	struct iaprof_record_lost lost = { .header.type = IAPROF_RECORD_LOST };
	ck_assert_int_eq(check(&lost, sizeof lost, NULL, 0), 0);
	ck_assert_int_eq(check(&lost, sizeof lost - 8, NULL, 0), -EINVAL);
	/* Members that a shorter record lacks. */
	struct iaprof_record_job job = { .header.type = IAPROF_RECORD_JOB, .state = IAPROF_JOB_DONE };
	struct iaprof_record_launch launch = { .header.type = IAPROF_RECORD_LAUNCH, .count = 1 };
	struct iaprof_record_counter counter = { .header.type = IAPROF_RECORD_COUNTER };
	ck_assert_int_eq(check(&job, offsetof(struct iaprof_record_job, kernel), NULL, 0), 0);
	ck_assert_int_eq(check(&job, offsetof(struct iaprof_record_job, thread_name), NULL, 0), 0);
	ck_assert_int_eq(check(&launch, offsetof(struct iaprof_record_launch, thread_name), NULL, 0), 0);
	ck_assert_int_eq(check(&launch, offsetof(struct iaprof_record_launch, span), NULL, 0), 0);
	ck_assert_int_eq(check(&counter, offsetof(struct iaprof_record_counter, role), NULL, 0), 0);
}

TEST(ids_and_counts_are_not_zero)
{
	RIGHT(0, value_type, VALUE_TYPE, .id = 1);
	WRONG(0, value_type, VALUE_TYPE, .id = 0);
	RIGHT(0, sample, SAMPLE, .count = 1, .first_time = TIME);
	WRONG(0, sample, SAMPLE, .count = 0, .first_time = TIME);
	WRONG(0, sample, SAMPLE, .count = 1, .first_time = TIME + 1);
	RIGHT(0, launch, LAUNCH, .count = 1);
	WRONG(0, launch, LAUNCH, .count = 0);
	RIGHT(0, call, CALL, .count = 1);
	WRONG(0, call, CALL, .count = 0);
	RIGHT(0, call_function, CALL_FUNCTION, .id = 1, .name = 1);
	WRONG(0, call_function, CALL_FUNCTION, .id = 0, .name = 1);
	WRONG(0, call_function, CALL_FUNCTION, .id = 1, .name = 0);
	RIGHT(0, call_node, CALL_NODE, .id = 2, .function = 1, .parent = 1);
	WRONG(0, call_node, CALL_NODE, .id = 2, .function = 1, .parent = 2);
	WRONG(0, call_node, CALL_NODE, .id = 2, .function = 0, .parent = 1);
	WRONG(0, call_node, CALL_NODE, .id = 0, .function = 1, .parent = 1);
	RIGHT(0, device_activity, DEVICE_ACTIVITY, .busy = 1, .pid = 1, .begin = TIME);
	WRONG(0, device_activity, DEVICE_ACTIVITY, .busy = 0, .pid = 1);
	WRONG(0, device_activity, DEVICE_ACTIVITY, .busy = 1, .pid = 0);
	WRONG(0, device_activity, DEVICE_ACTIVITY, .busy = 1, .pid = 1, .begin = TIME + 1);
	RIGHT(0, profile_value, PROFILE_VALUE, .count = 1, .begin = 5, .end = 5);
	WRONG(0, profile_value, PROFILE_VALUE, .count = 0, .begin = 5, .end = 5);
	WRONG(0, profile_value, PROFILE_VALUE, .count = 1, .begin = 6, .end = 5);
}

TEST(enumerations_end)
{
	RIGHT(0, process, PROCESS, .event = IAPROF_PROCESS_EXISTING);
	RIGHT(0, process, PROCESS, .event = IAPROF_PROCESS_UNREADABLE);
	WRONG(0, process, PROCESS, .event = 0);
	WRONG(0, process, PROCESS, .event = IAPROF_PROCESS_UNREADABLE + 1);
	RIGHT(0, job, JOB, .state = IAPROF_JOB_DONE);
	RIGHT(0, job, JOB, .state = IAPROF_JOB_IN_FLIGHT);
	WRONG(0, job, JOB, .state = 0);
	WRONG(0, job, JOB, .state = IAPROF_JOB_IN_FLIGHT + 1);
	RIGHT(0, stall_reason, STALL_REASON, .id = 63);
	WRONG(0, stall_reason, STALL_REASON, .id = 64);
}

TEST(addresses_do_not_wrap_around)
{
	RIGHT(0, mapping, MAPPING, .start = UINT64_MAX, .size = 1, .build_id_size = IAPROF_BUILD_ID_SIZE_MAX);
	WRONG(0, mapping, MAPPING, .start = UINT64_MAX, .size = 2);
	WRONG(0, mapping, MAPPING, .start = 4096, .size = 0);
	WRONG(0, mapping, MAPPING, .start = 4096, .size = 1, .build_id_size = IAPROF_BUILD_ID_SIZE_MAX + 1);
	RIGHT(0, mapping, MAPPING, .start = 0, .size = UINT64_MAX);
	RIGHT(0, code_object, CODE_OBJECT, .build_id_size = IAPROF_BUILD_ID_SIZE_MAX);
	WRONG(0, code_object, CODE_OBJECT, .build_id_size = IAPROF_BUILD_ID_SIZE_MAX + 1);
}

TEST(numbers_are_finite)
{
	RIGHT(0, counter_value, COUNTER_VALUE, .value = -1.5);
	WRONG(0, counter_value, COUNTER_VALUE, .value = (double)INFINITY);
	WRONG(0, counter_value, COUNTER_VALUE, .value = (double)NAN);
	RIGHT(0, finding, FINDING, .value = 1, .threshold = 2);
	WRONG(0, finding, FINDING, .value = (double)NAN, .threshold = 2);
	WRONG(0, finding, FINDING, .value = 1, .threshold = (double)INFINITY);
}

#define WORDS(count) ((count) * sizeof(uint64_t))
#define FRAMES(count) ((count) * sizeof(struct iaprof_record_frame))

/* One element less than stated after the fixed part, and one more than allowed, are wrong. */
TEST(arrays_fit)
{
	RIGHT(WORDS(1), stack, STACK, .id = 1, .count = 1);
	WRONG(WORDS(1), stack, STACK, .id = 0, .count = 1);
	WRONG(WORDS(1), stack, STACK, .id = 1, .count = 0);
	WRONG(WORDS(1), stack, STACK, .id = 1, .count = 2);
	RIGHT(WORDS(IAPROF_STACK_DEPTH_MAX), stack, STACK, .id = 1, .count = IAPROF_STACK_DEPTH_MAX);
	WRONG(WORDS(IAPROF_STACK_DEPTH_MAX + 1), stack, STACK, .id = 1, .count = IAPROF_STACK_DEPTH_MAX + 1);

	RIGHT(WORDS(1), stall_sample, STALL_SAMPLE, .reason_count = 1, .begin = TIME);
	WRONG(WORDS(1), stall_sample, STALL_SAMPLE, .reason_count = 1, .begin = TIME + 1);
	WRONG(WORDS(1), stall_sample, STALL_SAMPLE, .reason_count = 0);
	WRONG(WORDS(1), stall_sample, STALL_SAMPLE, .reason_count = 2);
	RIGHT(WORDS(64), stall_sample, STALL_SAMPLE, .reason_count = 64);
	WRONG(WORDS(65), stall_sample, STALL_SAMPLE, .reason_count = 65);

	RIGHT(WORDS(1), histogram, HISTOGRAM, .count = 1, .bucket_count = 1, .begin = TIME);
	WRONG(WORDS(1), histogram, HISTOGRAM, .count = 1, .bucket_count = 1, .begin = TIME + 1);
	WRONG(WORDS(1), histogram, HISTOGRAM, .count = 0, .bucket_count = 1);
	WRONG(WORDS(1), histogram, HISTOGRAM, .count = 1, .bucket_count = 0);
	WRONG(WORDS(1), histogram, HISTOGRAM, .count = 1, .bucket_count = 2);
	RIGHT(WORDS(64), histogram, HISTOGRAM, .count = 1, .bucket_count = IAPROF_HISTOGRAM_BUCKET_COUNT_MAX);
	WRONG(WORDS(65), histogram, HISTOGRAM, .count = 1, .bucket_count = IAPROF_HISTOGRAM_BUCKET_COUNT_MAX + 1);

	RIGHT(FRAMES(1), frames, FRAMES, .frame_count = 1);
	WRONG(FRAMES(1), frames, FRAMES, .frame_count = 0);
	WRONG(FRAMES(1), frames, FRAMES, .frame_count = 2);
	RIGHT(FRAMES(64), frames, FRAMES, .frame_count = 64);
	WRONG(FRAMES(65), frames, FRAMES, .frame_count = 65);

	RIGHT(FRAMES(1), stack_frames, STACK_FRAMES, .stack = 1, .frame_count = 1);
	WRONG(FRAMES(1), stack_frames, STACK_FRAMES, .stack = 0, .frame_count = 1);
	WRONG(FRAMES(1), stack_frames, STACK_FRAMES, .stack = 1, .frame_count = 0);
	WRONG(FRAMES(1), stack_frames, STACK_FRAMES, .stack = 1, .frame_count = 2);
	RIGHT(FRAMES(1024), stack_frames, STACK_FRAMES, .stack = 1, .frame_count = IAPROF_STACK_FRAMES_COUNT_MAX);
	WRONG(FRAMES(1025), stack_frames, STACK_FRAMES, .stack = 1, .frame_count = IAPROF_STACK_FRAMES_COUNT_MAX + 1);

	RIGHT(FRAMES(1), profile_stack, PROFILE_STACK, .id = 1, .frame_count = 1);
	WRONG(FRAMES(1), profile_stack, PROFILE_STACK, .id = 0, .frame_count = 1);
	WRONG(FRAMES(1), profile_stack, PROFILE_STACK, .id = 1, .frame_count = 0);
	WRONG(FRAMES(1), profile_stack, PROFILE_STACK, .id = 1, .frame_count = 2);
	RIGHT(FRAMES(1360), profile_stack, PROFILE_STACK, .id = 1, .frame_count = IAPROF_PROFILE_STACK_COUNT_MAX);
	WRONG(FRAMES(1361), profile_stack, PROFILE_STACK, .id = 1, .frame_count = IAPROF_PROFILE_STACK_COUNT_MAX + 1);

	RIGHT(8, module, MODULE, .build_id_size = 8);
	WRONG(8, module, MODULE, .build_id_size = 0);
	WRONG(8, module, MODULE, .build_id_size = 9);
	RIGHT(64, module, MODULE, .build_id_size = IAPROF_MODULE_BUILD_ID_SIZE_MAX);
	WRONG(72, module, MODULE, .build_id_size = IAPROF_MODULE_BUILD_ID_SIZE_MAX + 1);

	size_t attribute = sizeof(struct iaprof_attribute);
	RIGHT(attribute, code_function, CODE_FUNCTION, .attribute_count = 1);
	WRONG(attribute, code_function, CODE_FUNCTION, .attribute_count = 2);
	RIGHT(64 * attribute, code_function, CODE_FUNCTION, .attribute_count = IAPROF_ATTRIBUTE_COUNT_MAX);
	WRONG(65 * attribute, code_function, CODE_FUNCTION, .attribute_count = IAPROF_ATTRIBUTE_COUNT_MAX + 1);
}

static int check_string(uint32_t id, uint32_t length, const char *tail, size_t tail_size)
{
	struct iaprof_record_string string = { .header.type = IAPROF_RECORD_STRING, .id = id, .length = length };
	return check(&string, sizeof string, tail, tail_size);
}

TEST(strings_end_where_they_say)
{
	ck_assert_int_eq(check_string(1, 7, "letters", 8), 0);
	ck_assert_int_eq(check_string(0, 7, "letters", 8), -EINVAL);
	ck_assert_int_eq(check_string(1, 8, "letters!", 8), -EINVAL);
	ck_assert_int_eq(check_string(1, 6, "letters", 8), -EINVAL);
	ck_assert_int_eq(check_string(1, 7, "let\0ers", 8), -EINVAL);
	ck_assert_int_eq(check_string(1, 0, "", 0), -EINVAL);
	size_t tail_size = (IAPROF_STRING_LENGTH_MAX + 8) & ~(size_t)7;
	char *text = calloc(1, tail_size + 8);
	ck_assert_ptr_nonnull(text);
	memset(text, 'a', IAPROF_STRING_LENGTH_MAX);
	ck_assert_int_eq(check_string(1, IAPROF_STRING_LENGTH_MAX, text, tail_size), 0);
	text[IAPROF_STRING_LENGTH_MAX] = 'a';
	ck_assert_int_eq(check_string(1, IAPROF_STRING_LENGTH_MAX + 1, text, tail_size + 8), -EINVAL);
	free(text);
}

static int check_text(uint32_t file, uint32_t size, uint32_t offset, uint32_t length, const char *tail)
{
	struct iaprof_record_source_text text = {
		.header.type = IAPROF_RECORD_SOURCE_TEXT, .file = file, .size = size, .offset = offset, .length = length
	};
	return check(&text, sizeof text, tail, 8);
}

TEST(source_text_is_within_its_file)
{
	ck_assert_int_eq(check_text(1, 8, 0, 8, "a\nb\nc\nd\n"), 0);
	ck_assert_int_eq(check_text(0, 8, 0, 8, "a\nb\nc\nd\n"), -EINVAL);
	ck_assert_int_eq(check_text(1, 8, 1, 7, "a\nb\nc\nd\n"), 0);
	ck_assert_int_eq(check_text(1, 8, 2, 7, "a\nb\nc\nd\n"), -EINVAL);
	ck_assert_int_eq(check_text(1, 8, 0, 0, "a\nb\nc\nd\n"), -EINVAL);
	ck_assert_int_eq(check_text(1, 7, 0, 8, "a\nb\nc\nd\n"), -EINVAL);
	ck_assert_int_eq(check_text(1, 9, 0, 9, "a\nb\nc\nd\n"), -EINVAL);
	ck_assert_int_eq(check_text(1, 8, 0, 4, "a\nb\n\0\0\0\0"), 0);
	ck_assert_int_eq(check_text(1, 8, 0, 5, "a\nb\n\0\0\0\0"), -EINVAL);
	ck_assert_int_eq(check_text(1, IAPROF_SOURCE_TEXT_SIZE_MAX, 9, 8, "a\nb\nc\nd\n"), 0);
	ck_assert_int_eq(check_text(1, IAPROF_SOURCE_TEXT_SIZE_MAX + 1, 9, 8, "a\nb\nc\nd\n"), -EINVAL);
}

/* A listing with one attribute, two instructions and as many producers as each is given. */
static int check_listing(struct iaprof_record_code_listing fixed, uint32_t first, uint32_t second, size_t tail_size)
{
	struct {
		struct iaprof_attribute attribute;
		struct iaprof_listed_instruction instructions[2];
		struct iaprof_producer producers[3];
	} tail = { .instructions = { { .producer_count = first }, { .producer_count = second } } };
	fixed.header.type = IAPROF_RECORD_CODE_LISTING;
	return check(&fixed, sizeof fixed, &tail, tail_size ? tail_size : sizeof tail);
}

TEST(listings_have_the_producers_of_their_instructions)
{
	struct iaprof_record_code_listing right = {
		.id = 1, .attribute_count = 1, .instruction_count = 2, .producer_count = 3
	};
	size_t whole = sizeof(struct iaprof_attribute) + 2 * sizeof(struct iaprof_listed_instruction) +
		       3 * sizeof(struct iaprof_producer);
	ck_assert_int_eq(check_listing(right, 1, 2, whole), 0);
	ck_assert_int_eq(check_listing(right, 1, 2, whole - 8), -EINVAL);
	ck_assert_int_eq(check_listing(right, 1, 1, whole), -EINVAL);
	ck_assert_int_eq(check_listing(right, 2, 2, whole), -EINVAL);
	struct iaprof_record_code_listing wrong = right;
	wrong.id = 0;
	ck_assert_int_eq(check_listing(wrong, 1, 2, whole), -EINVAL);
	wrong = right;
	wrong.instruction_count = UINT32_MAX;
	ck_assert_int_eq(check_listing(wrong, 1, 2, whole), -EINVAL);
	wrong = right;
	wrong.producer_count = UINT32_MAX;
	ck_assert_int_eq(check_listing(wrong, 1, 2, whole), -EINVAL);
	/* Only attributes; one more than is allowed. */
	struct iaprof_attribute attributes[IAPROF_ATTRIBUTE_COUNT_MAX + 1] = { 0 };
	struct iaprof_record_code_listing many = { .header.type = IAPROF_RECORD_CODE_LISTING,
						   .id = 1,
						   .attribute_count = IAPROF_ATTRIBUTE_COUNT_MAX };
	ck_assert_int_eq(check(&many, sizeof many, attributes, sizeof attributes), 0);
	many.attribute_count++;
	ck_assert_int_eq(check(&many, sizeof many, attributes, sizeof attributes), -EINVAL);
}

/* A later version's struct is longer: its array begins further on. */
TEST(arrays_begin_where_the_record_states)
{
	RIGHT(16, stall_sample, STALL_SAMPLE, .reason_count = 1, .array_offset = 7);
	WRONG(8, stall_sample, STALL_SAMPLE, .reason_count = 1, .array_offset = 7);
	WRONG(16, stall_sample, STALL_SAMPLE, .reason_count = 1, .array_offset = 5);
	WRONG(16, stall_sample, STALL_SAMPLE, .reason_count = 1, .array_offset = 9);
	RIGHT(24, histogram, HISTOGRAM, .count = 1, .bucket_count = 2, .array_offset = 9);
	WRONG(16, histogram, HISTOGRAM, .count = 1, .bucket_count = 2, .array_offset = 9);
	struct {
		struct iaprof_record_stall_sample sample;
		uint64_t appended, count;
		struct iaprof_record_stall_details details;
	} later = { .sample = { .header = { .size = sizeof later, .type = IAPROF_RECORD_STALL_SAMPLE },
				.reason_count = 1,
				.array_offset = IAPROF_ARRAY_OFFSET(struct iaprof_record_stall_sample) + 1 },
		    .count = 3,
		    .details = { .size = sizeof later.details } };
	ck_assert(iaprof_record_stall_sample_counts(&later.sample) == &later.count);
	ck_assert(iaprof_record_stall_sample_details(&later.sample) == &later.details);
	/* Details of a later version are longer, too: their size is not compared with that of today. */
	later.details.size += 8;
	ck_assert(!iaprof_record_stall_sample_details(&later.sample));
	later.sample.header.size += 8;
	ck_assert(iaprof_record_stall_sample_details(&later.sample) == &later.details);
	later.details.size = IAPROF_STALL_DETAILS_SIZE_MIN;
	ck_assert(iaprof_record_stall_sample_details(&later.sample) == &later.details);
}

TEST(elements_have_the_stride_that_the_record_states)
{
	struct {
		struct iaprof_record_profile_stack stack;
		struct {
			struct iaprof_record_frame frame;
			uint64_t appended;
		} frames[2];
		struct iaprof_record_stack_origin origin;
	} later = { .stack = { .header.type = IAPROF_RECORD_PROFILE_STACK,
			       .id = 1,
			       .frame_count = 2,
			       .element_size = sizeof later.frames[0] / 8 } };
	size_t whole = sizeof later - sizeof later.origin;
	ck_assert_int_eq(check(&later, whole, NULL, 0), 0);
	ck_assert_int_eq(check(&later, whole - 8, NULL, 0), -EINVAL);
	later.stack.header.size = sizeof later;
	ck_assert(iaprof_record_profile_stack_frame(&later.stack, 1) == &later.frames[1].frame);
	ck_assert(iaprof_record_profile_stack_origin(&later.stack) == &later.origin);
	later.stack.element_size = sizeof(struct iaprof_record_frame) / 8 - 1; /* shorter than in schema version 1 */
	ck_assert_int_eq(check(&later, whole, NULL, 0), -EINVAL);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
