/* SPDX-License-Identifier: Apache-2.0 */
/* See capture_records.h. */
#include "capture_records.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_table.h"

static void send(struct test_host *host, struct iaprof_record *record, uint16_t type, size_t size, uint64_t time)
{
	*record = (struct iaprof_record){ .size = (uint32_t)size, .type = type, .source = 1, .time = time };
	if (test_host_send(host, record, size, 1) != 0)
		ck_abort_msg("%s", host->failure);
}

/* The id of a text, which is sent when it is new. */
static uint32_t send_text(struct test_host *host, struct string_table *texts, const char *text)
{
	size_t length = strlen(text), size = (sizeof(struct iaprof_record_string) + length + 8) & ~(size_t)7;
	bool is_new;
	uint32_t id = string_table_add(texts, text, length, &is_new);
	if (id && !is_new)
		return id;
	CLEANUP_FREE struct iaprof_record_string *record = calloc(1, size);
	if (!id || !record)
		ck_abort_msg("out of memory");
	record->id = id;
	record->length = (uint32_t)length;
	memcpy(record + 1, text, length);
	send(host, &record->header, IAPROF_RECORD_STRING, size, 1);
	return id;
}

static struct iaprof_record_frame frame_record(struct test_host *host, struct string_table *texts,
					       const struct iaprof_frame *frame)
{
	return (struct iaprof_record_frame){ .name = send_text(host, texts, frame->name),
					     .module = frame->module ? send_text(host, texts, frame->module) : 0,
					     .file = frame->file ? send_text(host, texts, frame->file) : 0,
					     .line = frame->line,
					     .kind = frame->kind,
					     .flags = frame->flags,
					     .offset = frame->offset,
					     .address = frame->kind == IAPROF_FRAME_PROCESS ? frame->pid
											    : frame->address };
}

static void send_stacks(struct test_host *host, struct string_table *texts, const struct iaprof_profile *profile)
{
	CLEANUP_FREE struct iaprof_record_frame *frames = calloc(profile->frame_count + 1, sizeof *frames);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		frames[i] = frame_record(host, texts, iaprof_profile_frame(profile, i));
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, i);
		size_t size = sizeof(struct iaprof_record_profile_stack) + stack->frame_count * sizeof *frames;
		CLEANUP_FREE struct iaprof_record_profile_stack *record = calloc(1, size);
		struct iaprof_record_frame *to = (void *)(record + 1);
		record->id = i + 1;
		record->frame_count = stack->frame_count;
		for (uint32_t k = 0; k < stack->frame_count; k++)
			to[k] = frames[stack->frames[k]];
		send(host, &record->header, IAPROF_RECORD_PROFILE_STACK, size, 1);
	}
}

static void send_value(struct test_host *host, const struct iaprof_profile *profile, struct iaprof_value value,
		       uint64_t time)
{
	struct iaprof_record_profile_value record = { .stack = value.stack + 1,
						      .value_type = value.value_type + 1,
						      .value = value.value,
						      .count = value.count,
						      .begin = time,
						      .end = time };
	send(host, &record.header, IAPROF_RECORD_PROFILE_VALUE, sizeof record, profile->end);
}

/* Sends the parts of a value with known times, and the rest. */
static void send_parts(struct test_host *host, const struct iaprof_profile *profile, struct iaprof_value value)
{
	for (size_t i = 0; i < profile->time_count; i++) {
		const struct iaprof_time_value *time = iaprof_profile_time(profile, i);
		if (time->stack != value.stack || time->value_type != value.value_type)
			continue;
		send_value(host, profile,
			   (struct iaprof_value){ .stack = value.stack,
						  .value_type = value.value_type,
						  .value = time->value,
						  .count = 1 },
			   time->time);
		value.value -= time->value;
		value.count -= value.count > 0;
	}
	value.count = value.count ? value.count : 1;
	if (value.value || !profile->time_count)
		send_value(host, profile, value, 0);
}

void capture_records_send(struct test_host *host, const struct iaprof_profile *profile)
{
	CLEANUP(string_table_free) struct string_table texts = { 0 };
	/* A source for each loss, so that it can have a name of its own. */
	for (uint32_t i = 0; i < profile->lost_count; i++) {
		struct iaprof_record_source source = {
			.number = i + 2, .name = send_text(host, &texts, iaprof_profile_lost(profile, i)->source)
		};
		send(host, &source.header, IAPROF_RECORD_SOURCE, sizeof source, 1);
	}
	for (uint32_t i = 0; i < profile->value_type_count; i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(profile, i);
		struct iaprof_record_value_type record = { .id = i + 1,
							   .name = send_text(host, &texts, type->name),
							   .unit = send_text(host, &texts, type->unit),
							   .role = type->role,
							   .device_kind = type->device_kind };
		if (type->sample_unit)
			record.sample_unit = send_text(host, &texts, type->sample_unit);
		send(host, &record.header, IAPROF_RECORD_VALUE_TYPE, sizeof record, 1);
	}
	send_stacks(host, &texts, profile);
	struct iaprof_record_sync sync;
	send(host, &sync.header, IAPROF_RECORD_SYNC, sizeof sync, profile->begin);
	for (uint32_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		struct iaprof_record_lost record = { .header = { .size = sizeof record,
								 .type = IAPROF_RECORD_LOST,
								 .source = (uint16_t)(i + 2),
								 .time = profile->begin },
						     .begin = profile->begin,
						     .count = lost->count,
						     .reason = send_text(host, &texts, lost->reason) };
		if (test_host_send(host, &record, sizeof record, 1) != 0)
			ck_abort_msg("%s", host->failure);
	}
	for (size_t i = 0; i < profile->value_count; i++)
		send_parts(host, profile, *iaprof_profile_value(profile, i));
	send(host, &sync.header, IAPROF_RECORD_SYNC, sizeof sync, profile->end);
}
