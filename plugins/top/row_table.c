/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by key: see row_table.h. */
#include "row_table.h"

#include <stdlib.h>
#include <string.h>

/* A key that is looked for. */
struct wanted {
	uint64_t hash;
	uint32_t type, length;
	const uint32_t *key;
};

static bool is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct row_table *table = context;
	const struct row *row = &table->rows[position];
	const struct wanted *key = wanted;
	return row->hash == key->hash && row->type == key->type && row->length == key->length &&
	       !memcmp(table->numbers + row->first, key->key, key->length * sizeof *key->key);
}

/* items with room for more of them; NULL: out of memory. */
static void *reserve(void *items, size_t *capacity, size_t wanted, size_t size)
{
	if (wanted <= *capacity)
		return items;
	size_t larger = *capacity ? *capacity * 2 : 256;
	while (larger < wanted)
		larger *= 2;
	void *moved = realloc(items, larger * size);
	if (moved)
		*capacity = larger;
	return moved;
}

static uint32_t add_row(struct row_table *table, const struct wanted *wanted)
{
	struct row *rows = reserve(table->rows, &table->row_capacity, table->row_count + 1, sizeof *rows);
	if (!rows)
		return UINT32_MAX;
	table->rows = rows;
	/* One more than is used, so that a table without any has an address as well. */
	uint32_t *numbers = reserve(table->numbers, &table->number_capacity, table->number_count + wanted->length + 1,
				    sizeof *numbers);
	if (!numbers)
		return UINT32_MAX;
	table->numbers = numbers;
	memcpy(numbers + table->number_count, wanted->key, wanted->length * sizeof *numbers);
	rows[table->row_count] = (struct row){ .hash = wanted->hash,
					       .type = wanted->type,
					       .first = (uint32_t)table->number_count,
					       .length = wanted->length };
	table->number_count += wanted->length;
	return (uint32_t)table->row_count++;
}

static uint32_t find(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length)
{
	const struct item_owner owner = { .is_equal = is_equal, .context = table };
	struct wanted wanted = { .hash = hash_list(item_index_key(&table->index), type, key, length),
				 .type = type,
				 .length = length,
				 .key = key };
	uint32_t *slot = item_index_find(&table->index, &owner, wanted.hash, &wanted);
	if (!slot)
		return UINT32_MAX;
	if (*slot)
		return *slot - 1;
	bool is_full = table->row_count >= ROW_TABLE_ROWS_MAX || table->number_count + length > ROW_TABLE_NUMBERS_MAX;
	if (is_full && length)
		return find(table, type, (const uint32_t[]){ 0 }, 0);
	uint32_t position = add_row(table, &wanted);
	if (position == UINT32_MAX)
		return position;
	*slot = position + 1;
	table->index.used++;
	return position;
}

uint32_t row_table_find(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length)
{
	if (length != 1)
		return find(table, type, key, length);
	struct recent_row *recent = &table->recent[key[0] % RECENT_ROWS];
	if (!recent->row || recent->type != type || recent->number != key[0])
		*recent = (struct recent_row){ .type = type, .number = key[0], .row = find(table, type, key, 1) + 1 };
	return recent->row - 1; /* UINT32_MAX + 1 is 0 */
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

void row_add(struct row *row, uint32_t interval, uint64_t self, uint64_t total)
{
	if (row->interval != interval)
		row->last = (struct sums){ 0 };
	row->interval = interval;
	row->last.self = add(row->last.self, self);
	row->last.total = add(row->last.total, total);
	row->run.self = add(row->run.self, self);
	row->run.total = add(row->run.total, total);
}

struct sums row_sums(const struct row *row, bool of_run, uint32_t interval)
{
	return of_run ? row->run : row->interval == interval ? row->last : (struct sums){ 0 };
}

bool row_table_copy(struct row_table *copy, const struct row_table *table)
{
	*copy = (struct row_table){ 0 };
	copy->rows = malloc((table->row_count + 1) * sizeof *copy->rows);
	copy->numbers = malloc((table->number_count + 1) * sizeof *copy->numbers);
	if (!copy->rows || !copy->numbers)
		return false;
	if (table->row_count)
		memcpy(copy->rows, table->rows, table->row_count * sizeof *copy->rows);
	if (table->number_count)
		memcpy(copy->numbers, table->numbers, table->number_count * sizeof *copy->numbers);
	copy->row_count = table->row_count;
	copy->number_count = table->number_count;
	return true;
}

void row_table_free(struct row_table *table)
{
	free(table->rows);
	free(table->numbers);
	free(table->index.slots);
	*table = (struct row_table){ 0 };
}
