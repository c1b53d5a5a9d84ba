/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a request that profile_tables.h does not have: strings, attributes and stacks, each stored once. An
 * index is that of the request's tables; 0 is the empty element, or out of memory: then failed is set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string_table.h"
#include "text/text.h"

/* Stored as bytes, without padding. */
struct dictionary_attribute {
	uint32_t key;  /* string */
	uint32_t text; /* id in dictionary.values; 0: the value is the number */
	int64_t number;
};

/* Initialise with {0}. */
struct dictionary {
	struct string_table strings, attributes, stacks;
	struct string_table values; /* texts of attributes, which are not in the request's table of strings */
	struct text name;           /* the most recent string, sanitized */
	bool failed;
};

void dictionary_free(struct dictionary *dictionary);

/* Returns the index of an untrusted text as valid UTF-8 without control characters; NULL and "" are 0. */
uint32_t dictionary_string(struct dictionary *dictionary, const char *text);
uint32_t dictionary_text_attribute(struct dictionary *dictionary, const char *key, const char *value);
uint32_t dictionary_number_attribute(struct dictionary *dictionary, const char *key, int64_t value);
/* locations: the leaf first */
uint32_t dictionary_stack(struct dictionary *dictionary, const uint32_t *locations, size_t count);
