/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted address ranges: see range_table.h. */
#include "symbolizer/range_table.h"

/* Code nests some ten levels deep; a table that was made to nest further must not make each look-up slow. */
#define DEPTH_MAX 4096

static int compare(const void *left, const void *right)
{
	const struct range *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

void range_table_sort(struct range_table *table)
{
	/* Linkers, compilers and the Linux kernel mostly write their tables in order already. */
	for (size_t i = 1; i < table->count; i++)
		if (compare(&table->items[i - 1], &table->items[i]) > 0) {
			qsort(table->items, table->count, sizeof *table->items, compare);
			return;
		}
}

void range_table_link(struct range_table *table)
{
	if (table->count && table->count < table->capacity) {
		struct range *smaller = realloc(table->items, table->count * sizeof *smaller);
		if (smaller) {
			table->items = smaller;
			table->capacity = table->count;
		}
	}
	/* The chain of enclosing links from the newest range is a stack of those that are still open. */
	uint32_t open = RANGE_NONE;
	for (size_t i = 0; i < table->count; i++) {
		while (open != RANGE_NONE && table->items[open].end <= table->items[i].start)
			open = table->items[open].enclosing;
		table->items[i].enclosing = open;
		open = (uint32_t)i;
	}
}

const struct range *range_table_find(const struct range_table *table, uint64_t address)
{
	/* Without branches that depend on the data: a processor cannot predict the way of a search. */
	size_t first = 0;
	for (size_t left = table->count; left > 1; left -= left / 2)
		first += left / 2 * (table->items[first + left / 2].start <= address);
	uint32_t position = table->count && table->items[first].start <= address ? (uint32_t)first : RANGE_NONE;
	for (unsigned step = 0; position != RANGE_NONE && table->items[position].end <= address; step++) {
		if (step == DEPTH_MAX)
			return NULL;
		position = table->items[position].enclosing;
	}
	return position == RANGE_NONE ? NULL : &table->items[position];
}
