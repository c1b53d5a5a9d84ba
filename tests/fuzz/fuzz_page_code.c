/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: listings of GPU code out of a capture that nobody wrote honestly, as the sink flamegraph puts them into
 * its page. The input is records laid end to end; each instruction of the first listings stalls, and so does what lies
 * behind it. What comes out is JSON in which every value is found again.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/record_check.h"
#include "sink-flamegraph/page_code.h"

#define STACKS_MAX 256

/* A profile whose stacks have two frames of their own, an instruction and its offset, and a reason. */
struct stalls {
	struct iaprof_frame frames[1 + 2 * STACKS_MAX];
	uint32_t stack_frames[STACKS_MAX][3];
	struct iaprof_stack stacks[STACKS_MAX];
	struct iaprof_value values[STACKS_MAX];
	struct iaprof_profile profile;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void add_stall(struct stalls *stalls, uint32_t listing, uint64_t offset)
{
	size_t n = stalls->profile.value_count;
	if (n == STACKS_MAX)
		return;
	stalls->frames[1 + 2 * n] =
		(struct iaprof_frame){ .name = "mov", .file = "a.cl", .kind = IAPROF_FRAME_DEVICE_INSTRUCTION };
	stalls->frames[2 + 2 * n] = (struct iaprof_frame){
		.name = "", .kind = IAPROF_FRAME_DEVICE_OFFSET, .address = listing, .offset = offset
	};
	stalls->stack_frames[n][0] = (uint32_t)(1 + 2 * n);
	stalls->stack_frames[n][1] = 0;
	stalls->stack_frames[n][2] = (uint32_t)(2 + 2 * n);
	stalls->stacks[n] = (struct iaprof_stack){ .frames = stalls->stack_frames[n], .frame_count = 3 };
	stalls->values[n] = (struct iaprof_value){ .stack = (uint32_t)n, .value = 1, .count = 1 };
	stalls->profile.value_count = n + 1;
}

static void add_stalls(struct stalls *stalls, const struct iaprof_record_code_listing *listing)
{
	for (uint32_t i = 0; i < listing->instruction_count && i < STACKS_MAX; i++) {
		const struct iaprof_listed_instruction *instruction =
			iaprof_record_code_listing_instruction(listing, i);
		add_stall(stalls, listing->id, instruction->offset);
		add_stall(stalls, listing->id + i % 2, instruction->offset + instruction->size);
	}
}

/* Strings end, brackets are those that were opened, and nothing else is in it than JSON has. */
static void check_json(const char *text, size_t size)
{
	char open[64];
	size_t depth = 0;
	bool in_string = false;
	for (size_t i = 0; i < size; i++) {
		check((unsigned char)text[i] >= ' ');
		if (in_string) {
			if (text[i] == '\\')
				check(++i < size && (text[i] == '"' || text[i] == '\\'));
			else
				in_string = text[i] != '"';
		} else if (text[i] == '"') {
			in_string = true;
		} else if (text[i] == '[' || text[i] == '{') {
			check(depth < sizeof open);
			open[depth++] = text[i];
		} else if (text[i] == ']' || text[i] == '}') {
			check(depth && open[--depth] == (text[i] == ']' ? '[' : '{'));
		} else {
			check(strchr(",:-0123456789aeflnrstu", text[i]) != NULL);
		}
	}
	check(!depth && !in_string);
}

/* The values of "stalls" and of "elsewhere": the last number of each list in them. */
static uint64_t sum_of(const char *json, const char *key)
{
	uint64_t sum = 0;
	for (const char *at = json; (at = strstr(at, key));) {
		at += strlen(key);
		for (unsigned depth = 1; depth; at++) {
			depth += *at == '[' ? 1 : 0;
			depth -= *at == ']' ? 1 : 0;
			if (*at == ']' && depth == 1) {
				const char *comma = at;
				while (*comma != ',')
					comma--;
				sum += strtoull(comma + 1, NULL, 10);
			}
		}
	}
	return sum;
}

static void check_page(struct page_code *code, struct stalls *stalls)
{
	static const struct iaprof_value_type count = { .name = "gpu-stalls", .unit = "count" };
	struct iaprof_profile *profile = &stalls->profile;
	struct text text = { 0 };
	stalls->frames[0] = (struct iaprof_frame){ .name = "sbid", .kind = IAPROF_FRAME_STALL_REASON };
	profile->frames = stalls->frames;
	profile->frame_size = sizeof stalls->frames[0];
	profile->frame_count = 1 + 2 * profile->value_count;
	profile->stacks = stalls->stacks;
	profile->stack_size = sizeof stalls->stacks[0];
	profile->stack_count = profile->value_count;
	profile->values = stalls->values;
	profile->value_size = sizeof stalls->values[0];
	profile->value_types = &count;
	profile->value_type_size = sizeof count;
	profile->value_type_count = 1;
	page_code_append(&text, code, profile);
	check(!text.failed);
	check_json(text.data, text.size);
	text_append(&text, "", 1);
	check(!text.failed);
	if (strcmp(text.data, "null") != 0)
		check(sum_of(text.data, "\"stalls\":[") + sum_of(text.data, "\"elsewhere\":[") == profile->value_count);
	text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct page_code code = { .sources.files.mode = SOURCE_FILES_CAPTURE };
	struct stalls *stalls = calloc(1, sizeof *stalls);
	size &= ~(size_t)7;
	char *records = malloc(size + 8);
	if (stalls && records) {
		memcpy(records, data, size);
		/* A mutation breaks one record, not all that follow. */
		for (size_t at = 0; at + sizeof(struct iaprof_record) <= size;) {
			const struct iaprof_record *record = (const void *)(records + at);
			bool is_good = !record_check(record, size - at, NULL);
			check(!is_good || !page_code_take(&code, record));
			if (is_good && record->type == IAPROF_RECORD_CODE_LISTING)
				add_stalls(stalls, (const void *)record);
			at += is_good ? record->size : 8;
		}
		check_page(&code, stalls);
	}
	page_code_free(&code);
	free(records);
	free(stalls);
	return 0;
}
