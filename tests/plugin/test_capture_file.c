/* SPDX-License-Identifier: Apache-2.0 */
/* Captures for tests: see test_capture_file.h. */
#include "test_capture_file.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "bus/record_check.h"
#include "capture/capture_format.h"
#include "test_host.h"

void test_bytes_append(struct test_bytes *bytes, const void *data, size_t size)
{
	ck_assert(array_grow((void **)&bytes->data, &bytes->capacity, bytes->size + size, 1));
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

void test_bytes_free(struct test_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct test_bytes){ 0 };
}

/* A record of size bytes, all of them 1 but for the header; the caller sets what has to be right. */
static void record_begin(void *record, uint16_t type, size_t size, uint64_t time)
{
	memset(record, 1, size);
	*(struct iaprof_record *)record =
		(struct iaprof_record){ .size = (uint32_t)size, .type = type, .source = 3, .time = time };
}

uint32_t test_records_of_each_type(struct test_bytes *records)
{
	union {
		struct iaprof_record header;
		struct iaprof_record_string string;
		struct iaprof_record_stack stack;
		struct iaprof_record_process process;
		struct iaprof_record_mapping mapping;
		struct iaprof_record_code_object code_object;
		struct iaprof_record_stall_reason stall_reason;
		struct iaprof_record_stall_sample stall_sample;
		struct iaprof_record_frames frames;
		struct iaprof_record_code_function code_function;
		struct iaprof_record_stack_frames stack_frames;
		struct iaprof_record_code_listing listing;
		struct iaprof_record_profile_stack profile_stack;
		struct iaprof_record_call_node call_node;
		struct iaprof_record_histogram histogram;
		struct iaprof_record_job job;
		struct iaprof_record_module module;
		struct iaprof_record_source_text source_text;
		unsigned char bytes[400];
	} record;
	uint32_t count = 0;
	for (uint16_t type = 1; type < IAPROF_RECORD_TYPE_COUNT; type++, count++) {
		size_t size = type == IAPROF_RECORD_SYNC ? sizeof(struct iaprof_record_sync) : sizeof record;
		record_begin(&record, type, size, UINT64_MAX - type);
		if (type == IAPROF_RECORD_STRING) {
			record.string.length = sizeof record - sizeof record.string - 1;
			record.string.array_offset = 0;
			record.bytes[sizeof record - 1] = '\0';
		} else if (type == IAPROF_RECORD_STACK)
			record.stack.count = 40, record.stack.array_offset = 0;
		else if (type == IAPROF_RECORD_PROCESS)
			record.process.event = IAPROF_PROCESS_EXEC;
		else if (type == IAPROF_RECORD_MAPPING)
			record.mapping.build_id_size = 20;
		else if (type == IAPROF_RECORD_CODE_OBJECT)
			record.code_object.build_id_size = 16;
		else if (type == IAPROF_RECORD_STALL_REASON)
			record.stall_reason.id = 63;
		else if (type == IAPROF_RECORD_STALL_SAMPLE)
			record.stall_sample.reason_count = 17, record.stall_sample.array_offset = 0;
		else if (type == IAPROF_RECORD_FRAMES)
			record.frames.frame_count = 2, record.frames.array_offset = record.frames.element_size = 0;
		else if (type == IAPROF_RECORD_STACK_FRAMES)
			record.stack_frames.stack = record.stack_frames.frame_count = 1,
			record.stack_frames.array_offset = record.stack_frames.element_size = 0;
		else if (type == IAPROF_RECORD_CODE_FUNCTION)
			record.code_function.attribute_count = 3, record.code_function.array_offset = 0;
		else if (type == IAPROF_RECORD_CODE_LISTING)
			record.listing.attribute_count = record.listing.instruction_count =
				record.listing.producer_count = record.listing.array_offset =
					record.listing.element_size = 0;
		else if (type == IAPROF_RECORD_PROFILE_STACK)
			record.profile_stack.frame_count = 7,
			record.profile_stack.array_offset = record.profile_stack.element_size = 0;
		else if (type == IAPROF_RECORD_CALL_NODE)
			record.call_node.parent = 0;
		else if (type == IAPROF_RECORD_HISTOGRAM)
			record.histogram.bucket_count = 7, record.histogram.array_offset = 0;
		else if (type == IAPROF_RECORD_JOB)
			record.job.state = IAPROF_JOB_ABORTED;
		else if (type == IAPROF_RECORD_MODULE)
			record.module.build_id_size = 33, record.module.array_offset = 0;
		else if (type == IAPROF_RECORD_SOURCE_TEXT)
			record.source_text = (struct iaprof_record_source_text){
				.header = record.header, .file = 1, .size = 1000, .offset = 7, .length = 360
			};
		struct error error = { 0 };
		ck_assert_msg(record_check(&record, size, &error) == 0, "%s", error.text);
		test_bytes_append(records, &record, size);
	}
	return count;
}

uint32_t test_records_long(struct test_bytes *records, uint32_t count)
{
	static _Alignas(8) unsigned char record[60000];
	for (uint32_t i = 0; i < count; i++) {
		struct iaprof_record_string string = {
			.header = { .size = sizeof record, .type = IAPROF_RECORD_STRING, .time = i },
			.id = i + 1,
			.length = sizeof record - sizeof string - 1,
		};
		memset(record, 'a' + (int)(i % 26), sizeof record - 1);
		record[sizeof record - 1] = '\0';
		memcpy(record, &string, sizeof string);
		test_bytes_append(records, record, sizeof record);
	}
	return count;
}

void test_capture_write(struct test_bytes *file, const struct test_bytes *records, uint32_t count, const char *setting)
{
	struct test_host *host = test_host_new("capture", setting, NULL);
	test_host_start(host);
	if (count)
		ck_assert_msg(test_host_send(host, records->data, records->size, count) == 0, "%s", host->failure);
	test_host_stop(host);
	struct test_output *output = test_host_output(host, NULL);
	ck_assert_ptr_nonnull(output);
	ck_assert(output->closed);
	test_bytes_append(file, output->data, output->size);
	test_host_free(host);
}

void test_capture_block(struct test_bytes *file, struct capture_block_header header, const void *payload)
{
	capture_block_seal(&header, payload);
	test_bytes_append(file, &header, sizeof header);
	test_bytes_append(file, payload, header.compressed_size);
}

void test_capture_end(struct test_bytes *file, uint32_t number, uint64_t blocks, uint64_t records, uint64_t size)
{
	struct capture_totals totals = { blocks, records, size };
	test_capture_block(file,
			   (struct capture_block_header){ .kind = CAPTURE_BLOCK_END,
							  .number = number,
							  .compressed_size = sizeof totals,
							  .size = sizeof totals },
			   &totals);
}
