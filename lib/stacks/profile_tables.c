/* SPDX-License-Identifier: Apache-2.0 */
/* See tables.h. */
#include "stacks/profile_tables.h"

#include <string.h>

#include "stacks/stack_text.h"

static uint32_t intern(struct profile_tables *tables, struct string_table *table, const void *bytes, size_t size,
		       bool *is_new)
{
	uint32_t id = tables->failed ? 0 : string_table_add(table, bytes, size, is_new);
	tables->failed |= !id;
	return id;
}

/* Interns the name under construction. */
static uint32_t intern_name(struct profile_tables *tables)
{
	tables->failed |= tables->name.failed;
	return tables->name.size ? intern(tables, &tables->texts, tables->name.data, tables->name.size, NULL) : 0;
}

uint32_t profile_tables_text(struct profile_tables *tables, const char *name)
{
	tables->name.size = 0;
	text_append_name(&tables->name, name ? name : "");
	return intern_name(tables);
}

uint32_t profile_tables_function(struct profile_tables *tables, const struct iaprof_frame *frame, const char *file)
{
	tables->name.size = 0;
	frame_name_append(&tables->name, frame);
	const struct table_function function = { .name = intern_name(tables),
						 .file = profile_tables_text(tables, file) };
	return intern(tables, &tables->functions, &function, sizeof function, NULL);
}

uint32_t profile_tables_mapping(struct profile_tables *tables, const char *file)
{
	const struct table_mapping mapping = { .file = profile_tables_text(tables, file) };
	bool is_new = false;
	if (!file || !*file)
		return 0;
	uint32_t id = intern(tables, &tables->mapped_files, &mapping.file, sizeof mapping.file, &is_new);
	if (is_new && !array_push(&tables->mappings, mapping))
		tables->failed = true;
	return tables->failed ? 0 : id;
}

/* Marks information that pprof does not need to read from the mapped file. */
static void mapping_note(struct profile_tables *tables, const struct table_location *location)
{
	if (!location->mapping || !location->count || !location->lines[0].function)
		return;
	struct table_mapping *mapping = &tables->mappings.items[location->mapping - 1];
	const struct table_function *function =
		(const void *)string_table_text(&tables->functions, location->lines[0].function);
	mapping->limit = location->address >= mapping->limit ? location->address + 1 : mapping->limit;
	mapping->has_files |= function->file != 0;
	mapping->has_lines |= location->lines[0].line != 0;
	mapping->has_inlined |= location->count > 1;
}

uint32_t profile_tables_location(struct profile_tables *tables, const struct table_location *location)
{
	size_t size = offsetof(struct table_location, lines) + location->count * sizeof *location->lines;
	bool is_new = false;
	uint32_t id = intern(tables, &tables->locations, location, size, &is_new);
	if (is_new)
		mapping_note(tables, location);
	return id;
}

uint32_t profile_tables_span(struct profile_tables *tables, const struct iaprof_span *span)
{
	return span ? intern(tables, &tables->spans, span, sizeof *span, NULL) : 0;
}

uint32_t profile_tables_sample(struct profile_tables *tables, const struct table_sample *sample)
{
	size_t size = offsetof(struct table_sample, locations) + sample->count * sizeof *sample->locations;
	return intern(tables, &tables->samples, sample, size, NULL);
}

void profile_tables_free(struct profile_tables *tables)
{
	string_table_free(&tables->texts);
	string_table_free(&tables->functions);
	string_table_free(&tables->locations);
	string_table_free(&tables->samples);
	string_table_free(&tables->mapped_files);
	string_table_free(&tables->spans);
	array_free(&tables->mappings);
	text_free(&tables->name);
}
