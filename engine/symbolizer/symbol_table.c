/* SPDX-License-Identifier: Apache-2.0 */
/* See symbol_table.h. */
#include "symbolizer/symbol_table.h"

#include <stdlib.h>
#include <string.h>

void symbol_builder_free(struct symbol_builder *builder)
{
	range_table_free(&builder->ranges);
	array_free(&builder->candidates);
}

void symbol_table_free(struct symbol_table *table)
{
	range_table_free(&table->ranges);
	free(table->names);
	table->names = NULL;
}

bool symbol_builder_add(struct symbol_builder *builder, const char *name, uint64_t address, uint64_t size,
			uint64_t limit, enum symbol_rank rank)
{
	uint64_t end = size > UINT64_MAX - address ? UINT64_MAX : address + size;
	size_t length = strlen(name);
	struct symbol_candidate candidate = { .name = name, .limit = limit, .rank = rank, .length = (uint32_t)length };
	if (length >= UINT32_MAX || builder->candidates.count >= RANGE_NONE ||
	    !array_push(&builder->candidates, candidate))
		return false;
	return range_table_add(&builder->ranges, address, end, (uint32_t)(builder->candidates.count - 1));
}

/*
 * Returns whether a is a better name than b for one address. The order is that of perf, so that profiles can be
 * compared with it: with a name, with a size, not weak, global, fewer leading underscores, longer.
 */
static bool is_better(const struct symbol_builder *builder, const struct range *a, const struct range *b)
{
	const struct symbol_candidate *left = &builder->candidates.items[a->value];
	const struct symbol_candidate *right = &builder->candidates.items[b->value];
	if ((left->rank == SYMBOL_NAMELESS) != (right->rank == SYMBOL_NAMELESS))
		return right->rank == SYMBOL_NAMELESS;
	if ((a->end > a->start) != (b->end > b->start))
		return a->end > a->start;
	if (left->rank != right->rank)
		return left->rank < right->rank;
	size_t left_underscores = strspn(left->name, "_"), right_underscores = strspn(right->name, "_");
	if (left_underscores != right_underscores)
		return left_underscores < right_underscores;
	return left->length > right->length;
}

/* Keeps one symbol for each address of the sorted array. */
static void remove_aliases(struct symbol_builder *builder)
{
	struct range *items = builder->ranges.items;
	size_t kept = 0;
	for (size_t i = 0; i < builder->ranges.count; i++)
		if (!kept || items[kept - 1].start != items[i].start)
			items[kept++] = items[i];
		else if (is_better(builder, &items[i], &items[kept - 1]))
			items[kept - 1] = items[i];
	builder->ranges.count = kept;
}

/* Extends symbols without a size, and removes labels and nameless functions inside functions. */
static void extend_to_next(struct symbol_builder *builder)
{
	struct range *items = builder->ranges.items;
	uint64_t reach = 0; /* greatest end of the functions so far */
	size_t kept = 0;
	for (size_t i = 0; i < builder->ranges.count; i++) {
		struct range range = items[i];
		if (range.end == range.start) {
			if (range.start < reach)
				continue;
			uint64_t limit = builder->candidates.items[range.value].limit;
			bool has_next = i + 1 < builder->ranges.count && items[i + 1].start < limit;
			range.end = has_next ? items[i + 1].start : limit;
		} else if (builder->candidates.items[range.value].rank == SYMBOL_NAMELESS) {
			if (range.start < reach)
				continue;
		} else if (range.end > reach) {
			reach = range.end;
		}
		items[kept++] = range;
	}
	builder->ranges.count = kept;
}

/* Copies the remaining names into one block, which the ranges then refer to. */
static bool pack_names(struct symbol_builder *builder, struct symbol_table *table)
{
	size_t size = 0;
	for (size_t i = 0; i < builder->ranges.count; i++)
		size += (size_t)builder->candidates.items[builder->ranges.items[i].value].length + 1;
	if (size > UINT32_MAX)
		return false;
	table->names = malloc(size ? size : 1);
	if (!table->names)
		return false;
	size_t next = 0;
	for (size_t i = 0; i < builder->ranges.count; i++) {
		struct range *range = &builder->ranges.items[i];
		const struct symbol_candidate *candidate = &builder->candidates.items[range->value];
		memcpy(table->names + next, candidate->name, (size_t)candidate->length + 1);
		range->value = (uint32_t)next;
		next += (size_t)candidate->length + 1;
	}
	table->names_size = size;
	table->ranges = builder->ranges;
	builder->ranges = (struct range_table){ 0 };
	range_table_link(&table->ranges);
	return true;
}

bool symbol_builder_finish(struct symbol_builder *builder, struct symbol_table *table)
{
	range_table_sort(&builder->ranges);
	remove_aliases(builder);
	extend_to_next(builder);
	bool packed = pack_names(builder, table);
	symbol_builder_free(builder);
	return packed;
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *start)
{
	const struct range *range = range_table_find(&table->ranges, address);
	if (!range)
		return NULL;
	*start = range->start;
	return table->names + range->value;
}
