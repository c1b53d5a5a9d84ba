/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables that sources send as notes (FINDING in iaprof/record.h). */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <iaprof/record.h>

/* Returns whether a finding is a row. */
static inline bool finding_is_row(uint32_t severity, const char *text)
{
	return severity == IAPROF_FINDING_NOTE && (!strncmp(text, "| ", 2) || !strncmp(text, "|| ", 3));
}

static inline bool row_has_titles(const char *row)
{
	return row[1] == '|';
}

/* Returns the first cell of a row. */
static inline const char *row_cells(const char *row)
{
	return row + (row_has_titles(row) ? 3 : 2);
}

/* Returns the cell after one, whose length is set; NULL after the last one. */
static inline const char *row_cell_next(const char *cell, size_t *length)
{
	const char *end = strstr(cell, " | ");
	*length = end ? (size_t)(end - cell) : strlen(cell);
	return end ? end + 3 : NULL;
}
