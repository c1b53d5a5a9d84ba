/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions by type, source and id: see definitions.h. */
#include "definitions.h"

#include <errno.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct definition {
	uint64_t key;
	struct iaprof_record *record; /* a copy of its own */
};

static uint64_t key_of(uint16_t type, uint16_t source, uint32_t id)
{
	return (uint64_t)type << 48 | (uint64_t)source << 32 | id;
}

static bool is_of_source(uint16_t type)
{
	return type == IAPROF_RECORD_DEVICE || type == IAPROF_RECORD_KERNEL || type == IAPROF_RECORD_STALL_REASON ||
	       type == IAPROF_RECORD_COUNTER;
}

static int definition_compare(const void *left, const void *right)
{
	const struct definition *a = left, *b = right;
	return (a->key > b->key) - (a->key < b->key);
}

static void definition_free(void *pointer)
{
	struct definition *definition = pointer;
	free(definition->record);
	free(definition);
}

/* The id that a record defines; false when it defines none. */
static bool defined_id(const struct iaprof_record *record, uint32_t *id)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		*id = ((const struct iaprof_record_string *)record)->id;
		return true;
	case IAPROF_RECORD_STACK:
		*id = ((const struct iaprof_record_stack *)record)->id;
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
	default:
		return false;
	}
}

int definitions_take(struct definitions *definitions, const struct iaprof_record *record)
{
	uint32_t id;
	if (!defined_id(record, &id))
		return 0;
	struct definition *definition = malloc(sizeof *definition);
	struct iaprof_record *copy = malloc(record->size);
	struct definition **place = NULL;
	if (definition && copy) {
		memcpy(copy, record, record->size);
		definition->key = key_of(record->type, is_of_source(record->type) ? record->source : 0, id);
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
	struct definition wanted = { .key = key_of(type, is_of_source(type) ? source : 0, id) };
	struct definition *const *place = tfind(&wanted, &definitions->root, definition_compare);
	return place ? (*place)->record : NULL;
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
	definitions->root = NULL;
}
