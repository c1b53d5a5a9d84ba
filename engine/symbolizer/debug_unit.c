/* SPDX-License-Identifier: Apache-2.0 */
/* See debug_unit.h. */
#include "symbolizer/debug_unit.h"

void debug_unit_free(struct debug_unit *unit)
{
	array_free(&unit->rows);
	array_free(&unit->files);
	range_table_free(&unit->ranges);
	array_free(&unit->scopes);
	free(unit->text);
	unit->text = NULL;
}

/* Returns the row for an address, or NULL. */
static const struct line_row *find_row(const struct debug_unit *unit, uint64_t address)
{
	const struct line_row *rows = unit->rows.items;
	size_t first = 0;
	/* As in range_table_find(). */
	for (size_t left = unit->rows.count; left > 1; left -= left / 2)
		first += left / 2 * (rows[first + left / 2].address <= address);
	bool is_found = unit->rows.count && rows[first].address <= address && rows[first].file != LINE_ROW_END;
	return is_found ? &rows[first] : NULL;
}

static const char *file_name(const struct debug_unit *unit, uint32_t file)
{
	return file < unit->files.count ? unit->files.items[file] : NULL;
}

size_t debug_unit_find(const struct debug_unit *unit, uint64_t address, struct debug_frame *frames, size_t capacity)
{
	if (!capacity)
		return 0;
	const struct line_row *row = find_row(unit, address);
	const char *file = row ? file_name(unit, row->file) : NULL;
	uint32_t line = row ? row->line : 0;

	const struct range *range = range_table_find(&unit->ranges, address);
	uint32_t innermost = range ? range->value : RANGE_NONE;
	size_t depth = 0;
	for (uint32_t scope = innermost; scope != RANGE_NONE; scope = unit->scopes.items[scope].parent)
		depth++;
	if (!depth) {
		frames[0] = (struct debug_frame){ .file = file, .line = line };
		return row != NULL;
	}
	/* From the innermost function outwards: each is at the line of the call of the previous one. */
	size_t position = depth;
	for (uint32_t scope = innermost; scope != RANGE_NONE; scope = unit->scopes.items[scope].parent) {
		const struct debug_scope *function = &unit->scopes.items[scope];
		if (--position < capacity)
			frames[position] = (struct debug_frame){ .name = function->name, .file = file, .line = line };
		file = file_name(unit, function->call_file);
		line = function->call_line;
	}
	return depth < capacity ? depth : capacity;
}
