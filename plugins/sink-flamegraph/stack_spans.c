/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_spans.h. */
#include "stack_spans.h"

#include <stdlib.h>

#include "text/plural.h"
#include "text/text.h"

/* A span of the profile: its id in the table of spans, and the sum of its shares of the value types. */
struct weighed {
	uint32_t id;
	double weight;
};

static int heaviest_first(const void *left, const void *right)
{
	const struct weighed *a = left, *b = right;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Returns all spans, the largest first; NULL when out of memory. */
static struct weighed *weigh(const struct iaprof_profile *profile, const uint32_t *ids, size_t count)
{
	struct weighed *all = calloc(count, sizeof *all);
	double *totals = calloc(profile->value_type_count + 1, sizeof *totals);
	if (all && totals) {
		for (uint32_t i = 0; i < count; i++)
			all[i].id = i + 1;
		for (size_t i = 0; i < profile->value_count; i++) {
			const struct iaprof_value *value = iaprof_profile_value(profile, i);
			totals[value->value_type] += (double)value->value;
		}
		for (size_t i = 0; i < profile->value_count; i++) {
			const struct iaprof_value *value = iaprof_profile_value(profile, i);
			if (ids[value->stack] && value->value)
				all[ids[value->stack] - 1].weight += (double)value->value / totals[value->value_type];
		}
		qsort(all, count, sizeof *all, heaviest_first);
	} else {
		free(all);
		all = NULL;
	}
	free(totals);
	return all;
}

/* Adds the name of a span, or of several ones. Returns false when out of memory. */
static bool name_add(struct stack_spans *spans, const struct iaprof_span *span, size_t others)
{
	struct text name = { 0 };
	if (span)
		stack_spans_append_name(&name, span);
	else
		text_append_format(&name, "%zu other span%s", others, plural(others));
	bool good = !name.failed && string_table_add(&spans->names, name.data, name.size, NULL);
	text_free(&name);
	return good;
}

/* Names the spans of a table, and replaces ids of the table by those of names. */
static bool name_all(struct stack_spans *spans, const struct iaprof_profile *profile, const struct string_table *table)
{
	size_t count = table->entries.count, own = count < STACK_SPANS_MAX ? count : STACK_SPANS_MAX;
	struct weighed *all = weigh(profile, spans->ids, count);
	uint32_t *names = calloc(count + 1, sizeof *names);
	bool good = all && names;
	for (uint32_t i = 0; good && i < own; i++)
		good = name_add(spans, (const void *)string_table_text(table, all[i].id), 0);
	if (good && count > own)
		good = name_add(spans, NULL, count - own);
	for (uint32_t i = 0; good && i < count; i++)
		names[all[i].id] = 1 + (i < own ? i : (uint32_t)own);
	for (size_t i = 0; good && i < profile->stack_count; i++)
		spans->ids[i] = names[spans->ids[i]];
	free(names);
	free(all);
	return good;
}

bool stack_spans_make(struct stack_spans *spans, const struct iaprof_profile *profile)
{
	struct string_table table = { 0 };
	spans->ids = calloc(profile->stack_count + 1, sizeof *spans->ids);
	bool good = spans->ids;
	for (uint32_t i = 0; good && i < profile->stack_count; i++) {
		const struct iaprof_span *span = iaprof_profile_stack_span(profile, i);
		if (span)
			good = (spans->ids[i] = string_table_add(&table, (const char *)span, sizeof *span, NULL));
	}
	good = good && (!table.entries.count || name_all(spans, profile, &table));
	string_table_free(&table);
	return good;
}

void stack_spans_free(struct stack_spans *spans)
{
	string_table_free(&spans->names);
	free(spans->ids);
	*spans = (struct stack_spans){ 0 };
}
