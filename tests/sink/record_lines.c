/* SPDX-License-Identifier: Apache-2.0 */
/* See record_lines.h. */
#include "record_lines.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bus/record_check.h"

/* What a batch of the core has at most. */
#define BATCH_SIZE (64u * 1024)

enum member_kind {
	MEMBER_NUMBER, /* of 2, 4 or 8 bytes */
	MEMBER_TEXT,   /* a string id */
	MEMBER_DOUBLE,
	MEMBER_ARRAY, /* numbers of 8 bytes behind the struct, with commas between them; the member counts them */
	MEMBER_FRAMES /* the same with names of functions, as frames */
};

struct member {
	const char *name;
	size_t offset, size;
	enum member_kind kind;
};

#define MEMBER(type, member, kind)                                                                                     \
	{                                                                                                              \
#member, offsetof(struct iaprof_record_##type, member),                                                \
			sizeof(((struct iaprof_record_##type *)0)->member), kind                                       \
	}
#define NUMBER(type, member) MEMBER(type, member, MEMBER_NUMBER)
#define TEXT(type, member) MEMBER(type, member, MEMBER_TEXT)
/* 8 bytes of a span: span_0 and span_1 are the trace's id, span_2 is the span's. */
#define SPAN_WORD(type, member, number)                                                                                \
	{                                                                                                              \
#member "_" #number, offsetof(struct iaprof_record_##type, member) + 8 * (number), 8, MEMBER_NUMBER    \
	}
#define TYPE(type, NAME, ...)                                                                                          \
	{                                                                                                              \
#type, IAPROF_RECORD_##NAME, sizeof(struct iaprof_record_##type),                                      \
		{                                                                                                      \
			__VA_ARGS__                                                                                    \
		}                                                                                                      \
	}

static const struct {
	const char *name;
	uint16_t type;
	uint32_t size;
	struct member members[16]; /* those of the header are of every type */
} types[] = {
	TYPE(source, SOURCE, NUMBER(source, number), TEXT(source, name)),
	TYPE(process, PROCESS, NUMBER(process, pid), NUMBER(process, parent_pid), NUMBER(process, event),
	     TEXT(process, name)),
	TYPE(sync, SYNC, { 0 }),
	TYPE(metadata, METADATA, TEXT(metadata, key), TEXT(metadata, value)),
	TYPE(value_type, VALUE_TYPE, NUMBER(value_type, id), TEXT(value_type, name), TEXT(value_type, unit),
	     NUMBER(value_type, period)),
	TYPE(sample, SAMPLE, NUMBER(sample, pid), NUMBER(sample, tid), TEXT(sample, name), NUMBER(sample, cpu),
	     NUMBER(sample, value_type), NUMBER(sample, count), NUMBER(sample, value), NUMBER(sample, first_time)),
	TYPE(kernel, KERNEL, NUMBER(kernel, id), NUMBER(kernel, code_object), NUMBER(kernel, pid), TEXT(kernel, name),
	     NUMBER(kernel, address), NUMBER(kernel, size)),
	TYPE(code_function, CODE_FUNCTION, NUMBER(code_function, code_object), TEXT(code_function, name),
	     TEXT(code_function, shown_name), NUMBER(code_function, flags)),
	TYPE(launch, LAUNCH, NUMBER(launch, kernel), NUMBER(launch, pid), NUMBER(launch, tid), NUMBER(launch, device),
	     NUMBER(launch, user_stack), NUMBER(launch, count), NUMBER(launch, first_time), SPAN_WORD(launch, span, 0),
	     SPAN_WORD(launch, span, 1), SPAN_WORD(launch, span, 2)),
	TYPE(stack_frames, STACK_FRAMES, NUMBER(stack_frames, stack), NUMBER(stack_frames, pid),
	     MEMBER(stack_frames, frame_count, MEMBER_FRAMES)),
	TYPE(stall_reason, STALL_REASON, NUMBER(stall_reason, id), TEXT(stall_reason, name)),
	TYPE(stall_sample, STALL_SAMPLE, NUMBER(stall_sample, begin), NUMBER(stall_sample, address),
	     NUMBER(stall_sample, device), MEMBER(stall_sample, reason_count, MEMBER_ARRAY)),
	TYPE(device_activity, DEVICE_ACTIVITY, NUMBER(device_activity, begin), NUMBER(device_activity, busy),
	     NUMBER(device_activity, device), NUMBER(device_activity, pid), NUMBER(device_activity, kind)),
	TYPE(lost, LOST, NUMBER(lost, begin), NUMBER(lost, count), NUMBER(lost, value), NUMBER(lost, value_type),
	     TEXT(lost, reason)),
	TYPE(device, DEVICE, NUMBER(device, id), TEXT(device, name), TEXT(device, address), NUMBER(device, machine),
	     NUMBER(device, kind), TEXT(device, sample_unit)),
	TYPE(job, JOB, NUMBER(job, submitted), NUMBER(job, queued), NUMBER(job, started), NUMBER(job, id),
	     NUMBER(job, pid), NUMBER(job, tid), NUMBER(job, device), NUMBER(job, context), TEXT(job, engine),
	     NUMBER(job, state), NUMBER(job, status), TEXT(job, thread_name), NUMBER(job, kernel),
	     NUMBER(job, time_type)),
	TYPE(call, CALL, TEXT(call, name), NUMBER(call, pid), NUMBER(call, tid), NUMBER(call, depth),
	     TEXT(call, parent), NUMBER(call, user_stack), NUMBER(call, duration), NUMBER(call, count),
	     NUMBER(call, first_time), NUMBER(call, result), NUMBER(call, node), NUMBER(call, time_type),
	     NUMBER(call, count_type), TEXT(call, thread_name), NUMBER(call, self_duration)),
	TYPE(call_function, CALL_FUNCTION, NUMBER(call_function, id), TEXT(call_function, name),
	     TEXT(call_function, family), NUMBER(call_function, kind)),
	TYPE(call_node, CALL_NODE, NUMBER(call_node, id), NUMBER(call_node, parent), NUMBER(call_node, function)),
	TYPE(counter, COUNTER, NUMBER(counter, id), TEXT(counter, name), TEXT(counter, unit), NUMBER(counter, kind),
	     NUMBER(counter, device)),
	TYPE(counter_value, COUNTER_VALUE, NUMBER(counter_value, counter), MEMBER(counter_value, value, MEMBER_DOUBLE)),
	TYPE(histogram, HISTOGRAM, NUMBER(histogram, begin), NUMBER(histogram, count), NUMBER(histogram, sum),
	     NUMBER(histogram, maximum), TEXT(histogram, name), TEXT(histogram, unit),
	     MEMBER(histogram, bucket_count, MEMBER_ARRAY)),
	TYPE(finding, FINDING, NUMBER(finding, severity), TEXT(finding, name), TEXT(finding, text),
	     NUMBER(finding, pid), MEMBER(finding, value, MEMBER_DOUBLE), MEMBER(finding, threshold, MEMBER_DOUBLE)),
};

static const struct member header_members[] = {
	{ "source", offsetof(struct iaprof_record, source), sizeof(uint16_t), MEMBER_NUMBER },
	{ "time", offsetof(struct iaprof_record, time), sizeof(uint64_t), MEMBER_NUMBER },
	{ NULL, 0, 0, MEMBER_NUMBER },
};

/* ck_assert() tells the runner of each time that it was reached, which takes too long for each member. */
static void need(bool condition, const char *what, const char *of)
{
	if (!condition)
		ck_abort_msg("%s: %s", what, of);
}

static unsigned char *append(struct record_lines *lines, const void *bytes, size_t size)
{
	need(array_grow((void **)&lines->records, &lines->capacity, lines->size + size, 1), "out of memory", "records");
	unsigned char *place = lines->records + lines->size;
	memcpy(place, bytes, size);
	lines->size += size;
	return place;
}

static void string_append(struct record_lines *lines, const char *digits, uint32_t id)
{
	size_t length = strlen(digits) / 2, size = (sizeof(struct iaprof_record_string) + length + 1 + 7) & ~(size_t)7;
	struct iaprof_record_string *record = calloc(1, size);
	need(record, "out of memory", digits);
	record->header.size = (uint32_t)size;
	record->header.type = IAPROF_RECORD_STRING;
	record->id = id;
	record->length = (uint32_t)length;
	for (size_t i = 0; i < length; i++) {
		const char pair[] = { digits[2 * i], digits[2 * i + 1], '\0' };
		char *end;
		((char *)(record + 1))[i] = (char)strtoul(pair, &end, 16);
		need(!*end, "a text is not in hexadecimal", digits);
	}
	append(lines, record, size);
	lines->count++;
	free(record);
}

static uint32_t text_id(struct record_lines *lines, const char *digits)
{
	uint64_t hash = hash_bytes(digits, strlen(digits));
	if (!*digits)
		return 0;
	for (struct hash_probe probe = hash_index_probe(&lines->index, hash); hash_index_next(&lines->index, &probe);)
		if (strcmp(lines->texts.items[probe.position], digits) == 0)
			return probe.position + 1;
	char *copy = strdup(digits);
	need(copy && array_push(&lines->texts, copy) &&
		     hash_index_add(&lines->index, hash, (uint32_t)lines->texts.count - 1),
	     "out of memory", digits);
	string_append(lines, digits, (uint32_t)lines->texts.count);
	return (uint32_t)lines->texts.count;
}

/* Numbers of 8 bytes, behind the record's struct. */
static uint32_t array_read(uint64_t *numbers, size_t room, char *text)
{
	uint32_t count = 0;
	for (char *end = text; *end; text = end + 1) {
		need(count < room, "too many numbers", text);
		numbers[count++] = strtoull(text, &end, 10);
		need(end != text && (*end == ',' || !*end), "a number is none", text);
	}
	return count;
}

/* Functions of a stack, behind the record's struct. */
static uint32_t frames_read(struct record_lines *lines, struct iaprof_record_frame *frames, size_t room, char *text)
{
	uint32_t count = 0;
	for (char *name = text, *end; name; name = end) {
		end = strchr(name, ',');
		if (end)
			*end++ = '\0';
		need(count < room, "too many frames", name);
		frames[count++] =
			(struct iaprof_record_frame){ .name = text_id(lines, name), .kind = IAPROF_FRAME_USER };
	}
	return count;
}

static void member_read(struct record_lines *lines, unsigned char *record, size_t *size, const struct member *member,
			char *text)
{
	uint64_t numbers[128];
	int64_t number = 0;
	char *end = text;
	if (member->kind == MEMBER_TEXT) {
		number = text_id(lines, text);
	} else if (member->kind == MEMBER_DOUBLE) {
		double value = strtod(text, &end);
		memcpy(record + member->offset, &value, sizeof value);
	} else if (member->kind == MEMBER_ARRAY) {
		number = array_read(numbers, sizeof numbers / sizeof *numbers, text);
		memcpy(record + *size, numbers, (size_t)number * sizeof *numbers);
		*size += (size_t)number * sizeof *numbers;
	} else if (member->kind == MEMBER_FRAMES) {
		struct iaprof_record_frame frames[64];
		number = frames_read(lines, frames, sizeof frames / sizeof *frames, text);
		memcpy(record + *size, frames, (size_t)number * sizeof *frames);
		*size += (size_t)number * sizeof *frames;
	} else {
		number = *text == '-' ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 10);
	}
	need((member->kind != MEMBER_NUMBER && member->kind != MEMBER_DOUBLE) || !*end, "a number is none", text);
	if (member->kind != MEMBER_DOUBLE)
		memcpy(record + member->offset, &number, member->size); /* least significant bytes first */
}

static const struct member *member_find(const struct member *members, size_t count, const char *name)
{
	for (size_t i = 0; i < count && members[i].name; i++)
		if (strcmp(members[i].name, name) == 0)
			return &members[i];
	return NULL;
}

void record_lines_add(struct record_lines *lines, char *line)
{
	uint64_t record[512] = { 0 };
	struct iaprof_record *header = (struct iaprof_record *)record;
	size_t type = 0, count = sizeof types / sizeof *types;
	char *word = strtok(line, " \n");
	need(word, "a record has no type", "");
	while (type < count && strcmp(types[type].name, word) != 0)
		type++;
	need(type < count, "a type of record that is not known", word);
	size_t size = types[type].size;
	header->type = types[type].type;
	while ((word = strtok(NULL, " \n"))) {
		char *value = strchr(word, '=');
		need(value, "a member has no value", word);
		*value++ = '\0';
		const struct member *member = member_find(types[type].members, 16, word);
		if (!member)
			member = member_find(header_members, 2, word);
		need(member, "a member that is not known", word);
		member_read(lines, (unsigned char *)record, &size, member, value);
	}
	header->size = (uint32_t)size;
	append(lines, record, size);
	lines->count++;
}

void record_lines_add_bytes(struct record_lines *lines, const char *digits)
{
	static uint64_t record[IAPROF_RECORD_SIZE_MAX / 8];
	size_t size = strspn(digits, "0123456789abcdef") / 2;
	need(size <= sizeof record, "a record is too long", "");
	for (size_t i = 0; i < size; i++) {
		const char pair[] = { digits[2 * i], digits[2 * i + 1], '\0' };
		((unsigned char *)record)[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	need(record_check(record, size, NULL) == 0 && ((const struct iaprof_record *)record)->size == size,
	     "a record is malformed", "");
	append(lines, record, size);
	lines->count++;
}

void record_lines_send(struct record_lines *lines, struct test_host *host)
{
	const struct iaprof_batch all = { .records = lines->records, .size = lines->size, .count = lines->count };
	const struct iaprof_record *first = NULL, *record = NULL;
	size_t size = 0;
	uint32_t count = 0;
	if (!lines->size)
		return;
	do {
		record = iaprof_batch_next(&all, record);
		if (first && (!record || size + record->size > BATCH_SIZE)) {
			if (test_host_send(host, first, size, count))
				ck_abort_msg("%s", host->failure);
			first = NULL;
		}
		if (record && !first) {
			first = record;
			size = count = 0;
		}
		size += record ? record->size : 0;
		count++;
	} while (record);
}

void record_lines_free(struct record_lines *lines)
{
	for (size_t i = 0; i < lines->texts.count; i++)
		free(lines->texts.items[i]);
	array_free(&lines->texts);
	hash_index_free(&lines->index);
	free(lines->records);
}
