/* SPDX-License-Identifier: Apache-2.0 */
/* See tables.h. */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

void *table_push(struct table *table, size_t item_size)
{
	if (table->count == table->capacity) {
		if (table->capacity >= UINT32_MAX / 2)
			return NULL;
		size_t capacity = table->capacity ? 2 * table->capacity : 64;
		void *items = reallocarray(table->items, capacity, item_size);
		if (!items)
			return NULL;
		table->items = items;
		table->capacity = capacity;
	}
	return (char *)table->items + table->count * item_size;
}

/* The position of an item that is equal to wanted, plus 1; else of a copy of it. */
static uint32_t table_get(struct tables *tables, struct table *table, const struct item_owner *owner, uint64_t hash,
			  const void *wanted, size_t item_size, bool *is_new)
{
	uint32_t *slot = tables->failed ? NULL : item_index_find(&table->index, owner, hash, wanted);
	void *item = slot && !*slot ? table_push(table, item_size) : NULL;
	*is_new = item != NULL;
	if (!slot || (!*slot && !item)) {
		tables->failed = true;
		return 0;
	}
	if (item) {
		memcpy(item, wanted, item_size);
		*slot = (uint32_t)++table->count;
		table->index.used++;
	}
	return *slot;
}

const char *tables_text_at(const struct tables *tables, uint32_t text)
{
	return tables->bytes.data + ((const size_t *)tables->texts.items)[text];
}

/* wanted: where in bytes the text is that was put there just now. */
static bool text_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct tables *tables = context;
	return strcmp(tables_text_at(tables, position), tables->bytes.data + *(const size_t *)wanted) == 0;
}

uint32_t tables_text(struct tables *tables, const char *name)
{
	const struct item_owner owner = { .is_equal = text_is_equal, .context = tables };
	size_t offset = tables->bytes.size;
	bool is_new = false;
	text_append_name(&tables->bytes, name ? name : "");
	text_append(&tables->bytes, "", 1);
	tables->failed |= tables->bytes.failed;
	if (tables->failed)
		return 0;
	uint32_t number = table_get(tables, &tables->texts, &owner, hash_text(tables->bytes.data + offset), &offset,
				    sizeof offset, &is_new);
	if (!is_new)
		tables->bytes.size = offset;
	return number ? number - 1 : 0;
}

void tables_init(struct tables *tables)
{
	tables_text(tables, NULL);
}

static uint64_t hash_of_function(const struct hash_key *key, const struct table_function *function)
{
	return hash_word(key, (uint64_t)function->name << 32 | function->file);
}

static bool function_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct tables *tables = context;
	const struct table_function *left = (const struct table_function *)tables->functions.items + position;
	const struct table_function *right = wanted;
	return left->name == right->name && left->file == right->file;
}

uint32_t tables_function(struct tables *tables, const char *name, const char *file)
{
	const struct item_owner owner = { .is_equal = function_is_equal, .context = tables };
	const struct table_function function = { .name = tables_text(tables, name), .file = tables_text(tables, file) };
	bool is_new;
	return table_get(tables, &tables->functions, &owner,
			 hash_of_function(item_index_key(&tables->functions.index), &function), &function,
			 sizeof function, &is_new);
}

static uint64_t hash_of_mapping(const struct hash_key *key, const struct table_mapping *mapping)
{
	return hash_word(key, mapping->file);
}

static bool mapping_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct tables *tables = context;
	return ((const struct table_mapping *)tables->mappings.items)[position].file ==
	       ((const struct table_mapping *)wanted)->file;
}

uint32_t tables_mapping(struct tables *tables, const char *file)
{
	const struct item_owner owner = { .is_equal = mapping_is_equal, .context = tables };
	if (!file || !*file)
		return 0;
	const struct table_mapping mapping = { .file = tables_text(tables, file) };
	bool is_new;
	return table_get(tables, &tables->mappings, &owner,
			 hash_of_mapping(item_index_key(&tables->mappings.index), &mapping), &mapping, sizeof mapping,
			 &is_new);
}

struct wanted_location {
	struct table_location location; /* first: what is remembered */
	const struct table_line *lines;
};

static uint64_t hash_of_location(const struct hash_key *key, const struct table_location *location,
				 const struct table_line *lines)
{
	uint64_t words[HASH_WORDS_MAX] = { (uint64_t)location->mapping << 32 | location->count, location->address };
	if (location->count == 1)
		memcpy(&words[2], lines, sizeof *lines);
	else
		words[2] = hash_bytes(lines, location->count * sizeof *lines);
	return hash_words(key, words);
}

static bool location_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct tables *tables = context;
	const struct table_location *left = (const struct table_location *)tables->locations.items + position;
	const struct wanted_location *right = wanted;
	return left->mapping == right->location.mapping && left->address == right->location.address &&
	       left->count == right->location.count &&
	       memcmp((const struct table_line *)tables->lines.items + left->first, right->lines,
		      left->count * sizeof *right->lines) == 0;
}

/* What pprof need not look for in the mapping's file itself. */
static void mapping_note(struct tables *tables, uint32_t mapping, uint64_t address, const struct table_line *lines,
			 uint32_t count)
{
	struct table_mapping *items = tables->mappings.items;
	const struct table_function *functions = tables->functions.items;
	if (!mapping || !count || !lines[0].function)
		return;
	items[mapping - 1].limit = address >= items[mapping - 1].limit ? address + 1 : items[mapping - 1].limit;
	items[mapping - 1].has_files |= functions[lines[0].function - 1].file != 0;
	items[mapping - 1].has_lines |= lines[0].line != 0;
	items[mapping - 1].has_inlined |= count > 1;
}

uint32_t tables_location(struct tables *tables, uint32_t mapping, uint64_t address, const struct table_line *lines,
			 uint32_t count)
{
	const struct item_owner owner = { .is_equal = location_is_equal, .context = tables };
	const struct wanted_location wanted = { .location = { .mapping = mapping,
							      .first = (uint32_t)tables->lines.count,
							      .count = count,
							      .address = address },
						.lines = lines };
	bool is_new;
	uint32_t location =
		table_get(tables, &tables->locations, &owner,
			  hash_of_location(item_index_key(&tables->locations.index), &wanted.location, lines), &wanted,
			  sizeof wanted.location, &is_new);
	for (uint32_t i = 0; is_new && i < count; i++) {
		struct table_line *line = table_push(&tables->lines, sizeof *line);
		if (!line) {
			tables->failed = true;
			return 0;
		}
		*line = lines[i];
		tables->lines.count++;
	}
	if (is_new)
		mapping_note(tables, mapping, address, lines, count);
	return location;
}

static void table_free(struct table *table)
{
	free(table->items);
	free(table->index.slots);
	*table = (struct table){ 0 };
}

void tables_free(struct tables *tables)
{
	text_free(&tables->bytes);
	table_free(&tables->texts);
	table_free(&tables->functions);
	table_free(&tables->mappings);
	table_free(&tables->locations);
	table_free(&tables->lines);
}
