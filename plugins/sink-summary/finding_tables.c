/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of sources: see tables.h. */
#include "tables.h"

#include <string.h>

#include "text/printable.h"
#include "text/table_row.h"

#define COLUMNS_MAX 16
#define CELL_SIZE 64
#define NAME_COLUMNS 120

static bool is_row(const struct iaprof_finding *finding)
{
	return finding_is_row(finding->severity, finding->text);
}

/* Prints all cells but the last one, or widens columns for them if file is NULL. Returns the last one. */
static const char *cells_visit(const struct iaprof_finding *finding, size_t *columns, size_t widths[static COLUMNS_MAX],
			       FILE *file)
{
	const char *cell = row_cells(finding->text), *next;
	size_t column = 0, length;

	for (; (next = row_cell_next(cell, &length)); cell = next) {
		if (column == COLUMNS_MAX)
			continue;
		if (file && widths[column] > length)
			fprintf(file, "%*s", (int)(widths[column] - length), "");
		if (file) {
			char text[CELL_SIZE];
			snprintf(text, sizeof text, "%.*s", (int)length, cell);
			text_print_printable(text, (int)widths[column], file);
			fprintf(file, "  ");
		} else if (length > widths[column]) {
			widths[column] = length < CELL_SIZE ? length : CELL_SIZE - 1;
		}
		column++;
	}
	*columns = column;
	return cell;
}

/* Prints the table that begins with a finding. Returns the number of its rows. */
static size_t table_print(const struct iaprof_activity *activity, size_t first, FILE *file)
{
	const char *source = iaprof_activity_finding(activity, first)->source;
	size_t widths[COLUMNS_MAX] = { 0 }, columns, end = first;

	for (; end < activity->finding_count; end++) {
		const struct iaprof_finding *row = iaprof_activity_finding(activity, end);
		if (!is_row(row) || strcmp(row->source, source) != 0 || (end > first && row_has_titles(row->text)))
			break;
		cells_visit(row, &columns, widths, NULL);
	}
	for (size_t i = first; i < end; i++) {
		const char *name = cells_visit(iaprof_activity_finding(activity, i), &columns, widths, file);
		text_print_printable(name, NAME_COLUMNS, file);
		fputc('\n', file);
	}
	fputc('\n', file);
	return end - first;
}

void finding_tables_print(const struct iaprof_activity *activity, FILE *file)
{
	for (size_t i = 0; i < activity->finding_count;)
		i += is_row(iaprof_activity_finding(activity, i)) ? table_print(activity, i, file) : 1;
}
