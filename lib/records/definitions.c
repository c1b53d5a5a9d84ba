/* SPDX-License-Identifier: Apache-2.0 */
/* See definitions.h. */
#include "records/definitions.h"

#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct definition {
	uint64_t key;
	uint32_t name;                /* string id, if it is part of the identity of a definition */
	struct iaprof_record *record; /* owned copy */
};

/* Types of records that define ids. */
static const struct {
	uint16_t id;    /* offset; 0: defines none */
	bool of_source; /* ids are unique within a source */
} types[IAPROF_RECORD_TYPE_COUNT] = {
	[IAPROF_RECORD_STRING] = { offsetof(struct iaprof_record_string, id), false },
	[IAPROF_RECORD_STACK] = { offsetof(struct iaprof_record_stack, id), false },
	[IAPROF_RECORD_NAMED_FRAME] = { offsetof(struct iaprof_record_named_frame, id), false },
	[IAPROF_RECORD_STACK_FRAMES] = { offsetof(struct iaprof_record_stack_frames, stack), false },
	[IAPROF_RECORD_SOURCE] = { offsetof(struct iaprof_record_source, number), false },
	[IAPROF_RECORD_VALUE_TYPE] = { offsetof(struct iaprof_record_value_type, id), false },
	[IAPROF_RECORD_DEVICE] = { offsetof(struct iaprof_record_device, id), true },
	[IAPROF_RECORD_KERNEL] = { offsetof(struct iaprof_record_kernel, id), true },
	[IAPROF_RECORD_STALL_REASON] = { offsetof(struct iaprof_record_stall_reason, id), true },
	[IAPROF_RECORD_COUNTER] = { offsetof(struct iaprof_record_counter, id), true },
	[IAPROF_RECORD_CODE_FUNCTION] = { offsetof(struct iaprof_record_code_function, code_object), true },
	[IAPROF_RECORD_CALL_FUNCTION] = { offsetof(struct iaprof_record_call_function, id), true },
};

static uint64_t key_of(uint16_t type, uint16_t source, uint32_t id)
{
	return (uint64_t)type << 48 | (uint64_t)(types[type].of_source ? source : 0) << 32 | id;
}

static int definition_compare(const void *left, const void *right)
{
	const struct definition *a = left, *b = right;
	return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : (a->name > b->name) - (a->name < b->name);
}

static void definition_free(void *pointer)
{
	struct definition *definition = pointer;
	free(definition->record);
	free(definition);
}

/* Strings, to which nearly every record refers, are in an array by id, because their ids are dense. */
static bool string_take(struct definitions *definitions, struct iaprof_record *string, uint32_t id)
{
	if (!array_reserve(&definitions->strings, (size_t)id + 1))
		return false;
	while (definitions->strings.count <= id)
		definitions->strings.items[definitions->strings.count++] = NULL;
	free(definitions->strings.items[id]); /* known: the newer record replaces it */
	definitions->strings.items[id] = string;
	return true;
}

/* Returns NULL if out of memory. */
static struct iaprof_record *record_copy(const struct iaprof_record *record)
{
	struct iaprof_record *copy = malloc(record->size);
	if (copy)
		memcpy(copy, record, record->size);
	return copy;
}

int definitions_take(struct definitions *definitions, const struct iaprof_record *record)
{
	uint32_t id;
	if (record->type >= IAPROF_RECORD_TYPE_COUNT || !types[record->type].id)
		return 0;
	memcpy(&id, (const char *)record + types[record->type].id, sizeof id);
	struct iaprof_record *copy = record_copy(record);
	if (copy && record->type == IAPROF_RECORD_STRING && id < DEFINITIONS_STRINGS_MAX) {
		if (string_take(definitions, copy, id))
			return 0;
		free(copy);
		return -ENOMEM;
	}
	struct definition *definition = malloc(sizeof *definition);
	struct definition **place = NULL;
	if (definition && copy) {
		definition->key = key_of(record->type, record->source, id);
		definition->name = record->type == IAPROF_RECORD_CODE_FUNCTION
					   ? ((const struct iaprof_record_code_function *)record)->name
					   : 0;
		definition->record = copy;
		place = tsearch(definition, &definitions->root, definition_compare);
	}
	if (!place) {
		free(definition);
		free(copy);
		return -ENOMEM;
	}
	if (*place != definition) { /* known: the newer record replaces it */
		free((*place)->record);
		(*place)->record = copy;
		free(definition);
	}
	return 0;
}

const void *definitions_find(const struct definitions *definitions, uint16_t type, uint16_t source, uint32_t id)
{
	if (type == IAPROF_RECORD_STRING && id < DEFINITIONS_STRINGS_MAX)
		return id < definitions->strings.count ? definitions->strings.items[id] : NULL;
	struct definition wanted = { .key = key_of(type, source, id) };
	struct definition *const *place = tfind(&wanted, &definitions->root, definition_compare);
	return place ? (*place)->record : NULL;
}

const struct iaprof_record_code_function *
definitions_find_function(const struct definitions *definitions, uint16_t source, uint32_t code_object, uint32_t name)
{
	struct definition wanted = { .key = key_of(IAPROF_RECORD_CODE_FUNCTION, source, code_object), .name = name };
	struct definition *const *place = tfind(&wanted, &definitions->root, definition_compare);
	return place ? (const void *)(*place)->record : NULL;
}

const char *definitions_text(const struct definitions *definitions, uint32_t id)
{
	if (!id)
		return "";
	const struct iaprof_record_string *string = definitions_find(definitions, IAPROF_RECORD_STRING, 0, id);
	return string ? iaprof_record_string_text(string) : "[unknown]";
}

void definitions_free(struct definitions *definitions)
{
	tdestroy(definitions->root, definition_free);
	for (size_t i = 0; i < definitions->strings.count; i++)
		free(definitions->strings.items[i]);
	array_free(&definitions->strings);
	*definitions = (struct definitions){ 0 };
}
