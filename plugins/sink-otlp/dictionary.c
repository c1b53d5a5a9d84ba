/* SPDX-License-Identifier: Apache-2.0 */
/* See dictionary.h. */
#include "dictionary.h"

void dictionary_free(struct dictionary *dictionary)
{
	string_table_free(&dictionary->strings);
	string_table_free(&dictionary->attributes);
	string_table_free(&dictionary->stacks);
	string_table_free(&dictionary->values);
	text_free(&dictionary->name);
}

static uint32_t add_bytes(struct dictionary *dictionary, struct string_table *table, const void *bytes, size_t size)
{
	uint32_t id = dictionary->failed ? 0 : string_table_add(table, bytes, size, NULL);
	dictionary->failed |= !id;
	return id;
}

static uint32_t add_text(struct dictionary *dictionary, struct string_table *table, const char *text)
{
	dictionary->name.size = 0;
	text_append_name(&dictionary->name, text ? text : "");
	dictionary->failed |= dictionary->name.failed;
	return dictionary->name.size ? add_bytes(dictionary, table, dictionary->name.data, dictionary->name.size) : 0;
}

uint32_t dictionary_string(struct dictionary *dictionary, const char *text)
{
	return add_text(dictionary, &dictionary->strings, text);
}

uint32_t dictionary_text_attribute(struct dictionary *dictionary, const char *key, const char *value)
{
	const struct dictionary_attribute attribute = { .key = dictionary_string(dictionary, key),
							.text = add_text(dictionary, &dictionary->values, value) };
	return add_bytes(dictionary, &dictionary->attributes, &attribute, sizeof attribute);
}

uint32_t dictionary_number_attribute(struct dictionary *dictionary, const char *key, int64_t value)
{
	const struct dictionary_attribute attribute = { .key = dictionary_string(dictionary, key), .number = value };
	return add_bytes(dictionary, &dictionary->attributes, &attribute, sizeof attribute);
}

uint32_t dictionary_stack(struct dictionary *dictionary, const uint32_t *locations, size_t count)
{
	return count ? add_bytes(dictionary, &dictionary->stacks, locations, count * sizeof *locations) : 0;
}
