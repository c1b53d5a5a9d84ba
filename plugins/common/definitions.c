/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions by type, source and id: see common/definitions.h. */
#include "common/definitions.h"

#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct definition {
	uint64_t key;
	uint32_t name;                /* string id, where that is part of what tells definitions apart */
	struct iaprof_record *record; /* a copy of its own */
};

static uint64_t key_of(uint16_t type, uint16_t source, uint32_t id)
{
	return (uint64_t)type << 48 | (uint64_t)source << 32 | id;
}

static bool is_of_source(uint16_t type)
{
	return type == IAPROF_RECORD_DEVICE || type == IAPROF_RECORD_KERNEL || type == IAPROF_RECORD_STALL_REASON ||
	       type == IAPROF_RECORD_COUNTER || type == IAPROF_RECORD_CODE_FUNCTION ||
	       type == IAPROF_RECORD_CALL_FUNCTION;
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

/* The id (and name) that a record defines; false when it defines none. */
static bool defined_id(const struct iaprof_record *record, uint32_t *id, uint32_t *name)
{
	*name = 0;
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		*id = ((const struct iaprof_record_string *)record)->id;
		return true;
	case IAPROF_RECORD_STACK:
		*id = ((const struct iaprof_record_stack *)record)->id;
		return true;
	case IAPROF_RECORD_STACK_FRAMES:
		*id = ((const struct iaprof_record_stack_frames *)record)->stack;
		return true;
	case IAPROF_RECORD_SOURCE:
		*id = ((const struct iaprof_record_source *)record)->number;
		return true;
	case IAPROF_RECORD_VALUE_TYPE:
		*id = ((const struct iaprof_record_value_type *)record)->id;
		return true;
	case IAPROF_RECORD_DEVICE:
		*id = ((const struct iaprof_record_device *)record)->id;
		return true;
	case IAPROF_RECORD_KERNEL:
		*id = ((const struct iaprof_record_kernel *)record)->id;
		return true;
	case IAPROF_RECORD_STALL_REASON:
		*id = ((const struct iaprof_record_stall_reason *)record)->id;
		return true;
	case IAPROF_RECORD_COUNTER:
		*id = ((const struct iaprof_record_counter *)record)->id;
		return true;
	case IAPROF_RECORD_CODE_FUNCTION:
		*id = ((const struct iaprof_record_code_function *)record)->code_object;
		*name = ((const struct iaprof_record_code_function *)record)->name;
		return true;
	case IAPROF_RECORD_CALL_FUNCTION:
		*id = ((const struct iaprof_record_call_function *)record)->id;
		return true;
	default:
		return false;
	}
}

/* Strings, which nearly every field has, are at hand by their ids: those are dense. */
static bool string_take(struct definitions *definitions, struct iaprof_record *string, uint32_t id)
{
	if (id >= definitions->string_count) {
		uint32_t count = definitions->string_count ? definitions->string_count : 256;
		while (count <= id)
			count *= 2;
		struct iaprof_record **strings = realloc(definitions->strings, count * sizeof *strings);
		if (!strings)
			return false;
		memset(strings + definitions->string_count, 0, (count - definitions->string_count) * sizeof *strings);
		definitions->strings = strings;
		definitions->string_count = count;
	}
	free(definitions->strings[id]); /* known already: the newer record counts */
	definitions->strings[id] = string;
	return true;
}

/* NULL: out of memory. */
static struct iaprof_record *record_copy(const struct iaprof_record *record)
{
	struct iaprof_record *copy = malloc(record->size);
	if (copy)
		memcpy(copy, record, record->size);
	return copy;
}

int definitions_take(struct definitions *definitions, const struct iaprof_record *record)
{
	uint32_t id, name;
	if (!defined_id(record, &id, &name))
		return 0;
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
		definition->key = key_of(record->type, is_of_source(record->type) ? record->source : 0, id);
		definition->name = name;
		definition->record = copy;
		place = tsearch(definition, &definitions->root, definition_compare);
	}
	if (!place) {
		free(definition);
		free(copy);
		return -ENOMEM;
	}
	if (*place != definition) { /* known already: the newer record counts */
		free((*place)->record);
		(*place)->record = copy;
		free(definition);
	}
	return 0;
}

const void *definitions_find(const struct definitions *definitions, uint16_t type, uint16_t source, uint32_t id)
{
	if (type == IAPROF_RECORD_STRING && id < DEFINITIONS_STRINGS_MAX)
		return id < definitions->string_count ? definitions->strings[id] : NULL;
	struct definition wanted = { .key = key_of(type, is_of_source(type) ? source : 0, id) };
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
	for (uint32_t i = 0; i < definitions->string_count; i++)
		free(definitions->strings[i]);
	free(definitions->strings);
	*definitions = (struct definitions){ 0 };
}
