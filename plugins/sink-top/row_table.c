/* SPDX-License-Identifier: Apache-2.0 */
/* Hash table of rows: see row_table.h. */
#include "row_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturating.h"

/* Returns 1 + the position of a row, 0 if there is none. table->wanted is then its key. */
static uint32_t find_row(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length)
{
	if (!array_reserve(&table->wanted, length + (size_t)1))
		return 0;
	table->wanted.items[0] = type;
	memcpy(table->wanted.items + 1, key, length * sizeof *key);
	return string_table_find(&table->keys, (const char *)table->wanted.items, (length + (size_t)1) * sizeof *key);
}

bool row_table_has(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length)
{
	return find_row(table, type, key, length) != 0;
}

static uint32_t find_or_add(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length)
{
	size_t size = (length + (size_t)1) * sizeof *key;
	uint32_t id = find_row(table, type, key, length);
	if (id)
		return id - 1;
	if (table->wanted.capacity < length + (size_t)1 ||
	    !array_grow((void **)&table->rows, &table->row_capacity, table->row_count + 1, sizeof *table->rows))
		return UINT32_MAX;
	bool is_full = table->row_count >= ROW_TABLE_ROWS_MAX || table->number_count + length > ROW_TABLE_NUMBERS_MAX;
	if (is_full && length)
		return find_or_add(table, type, key, 0);
	id = string_table_add(&table->keys, (const char *)table->wanted.items, size, NULL);
	if (!id)
		return UINT32_MAX;
	const void *own = string_table_text(&table->keys, id);
	table->rows[table->row_count++] =
		(struct row){ .key = (const uint32_t *)own + 1, .type = type, .length = length };
	table->number_count += length;
	return id - 1;
}

static bool is_row(const struct row *row, uint32_t type, const uint32_t *key, uint32_t length)
{
	return row->type == type && row->length == length && memcmp(row->key, key, length * sizeof *key) == 0;
}

uint32_t row_table_find(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length)
{
	if (!length || length > RECENT_LENGTH_MAX)
		return find_or_add(table, type, key, length);
	uint32_t hash = type;
	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ key[i]) * 0x9e3779b1u;
	uint32_t *recent = &table->recent[(hash >> 16) % RECENT_ROWS];
	if (!*recent || !is_row(&table->rows[*recent - 1], type, key, length))
		*recent = find_or_add(table, type, key, length) + 1; /* UINT32_MAX + 1 is 0 */
	return *recent - 1;
}

void row_add(struct row *row, uint32_t interval, uint64_t self, uint64_t total)
{
	if (row->interval != interval)
		row->last = (struct sums){ 0 };
	row->interval = interval;
	row->last.self = saturating_add(row->last.self, self);
	row->last.total = saturating_add(row->last.total, total);
	row->run.self = saturating_add(row->run.self, self);
	row->run.total = saturating_add(row->run.total, total);
}

struct sums row_sums(const struct row *row, bool of_run, uint32_t interval)
{
	return of_run ? row->run : row->interval == interval ? row->last : (struct sums){ 0 };
}

bool row_table_copy(struct row_table *copy, const struct row_table *table)
{
	*copy = (struct row_table){ .row_count = table->row_count };
	copy->rows = malloc((table->row_count + 1) * sizeof *copy->rows);
	if (copy->rows && table->row_count)
		memcpy(copy->rows, table->rows, table->row_count * sizeof *copy->rows);
	return copy->rows != NULL;
}

void row_table_free(struct row_table *table)
{
	free(table->rows);
	string_table_free(&table->keys);
	array_free(&table->wanted);
	*table = (struct row_table){ 0 };
}
