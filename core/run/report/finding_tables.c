/* SPDX-License-Identifier: Apache-2.0 */
/* See finding_tables.h. */
#include "run/report/finding_tables.h"

#include "text/printable.h"
#include "text/table_row.h"

#define COLUMNS_MAX 16
#define CELL_SIZE 64
#define NAME_COLUMNS 120

bool finding_is_row(const struct finding *finding)
{
	return finding->severity == IAPROF_FINDING_NOTE && text_is_row(finding->text);
}

/* Prints all cells but the last one, or widens columns for them if file is NULL. Returns the last one. */
static const char *cells_visit(const struct finding *finding, size_t *columns, size_t widths[static COLUMNS_MAX],
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

/* Returns the number of rows of the table that begins with a finding. */
static size_t table_print(const struct finding *rows, size_t count, FILE *file)
{
	size_t widths[COLUMNS_MAX] = { 0 }, columns, its = 0;

	for (; its < count && finding_is_row(&rows[its]) && rows[its].source == rows->source &&
	       (!its || !row_has_titles(rows[its].text));
	     its++)
		cells_visit(&rows[its], &columns, widths, NULL);
	for (size_t i = 0; i < its; i++) {
		const char *name = cells_visit(&rows[i], &columns, widths, file);
		text_print_printable(name, NAME_COLUMNS, file);
		fputc('\n', file);
	}
	fputc('\n', file);
	return its;
}

void finding_tables_print(const struct findings *findings, FILE *file)
{
	for (size_t i = 0; i < findings->items.count;) {
		if (finding_is_row(&findings->items.items[i]))
			i += table_print(&findings->items.items[i], findings->items.count - i, file);
		else
			i++;
	}
}
