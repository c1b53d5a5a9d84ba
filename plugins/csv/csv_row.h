/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a CSV file (RFC 4180): fields are set by column, in any order, and written in the order of the columns. */
#ifndef IAPROF_PLUGINS_CSV_ROW_H
#define IAPROF_PLUGINS_CSV_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text.h"

#define CSV_COLUMN_MAX 40

struct csv_field {
	size_t offset, size; /* in csv_row.fields; size 0: empty */
	bool is_text;        /* that somebody else chose */
};

struct csv_row {
	size_t column_count;
	bool escape;          /* text that a spreadsheet would take for a formula gets a ' before it */
	const char *line_end; /* "\r\n" or "\n" */
	struct text fields;   /* what was set, in the order of the calls */
	struct csv_field places[CSV_COLUMN_MAX];
	struct text line;
};

/* Each sets a column of the row that is being made. */
void csv_row_set_unsigned(struct csv_row *row, size_t column, uint64_t value);
void csv_row_set_signed(struct csv_row *row, size_t column, int64_t value);
void csv_row_set_hexadecimal(struct csv_row *row, size_t column, uint64_t value);
void csv_row_set_double(struct csv_row *row, size_t column, double value); /* the shortest that reads back the same */
void csv_row_set_bytes(struct csv_row *row, size_t column, const uint8_t *bytes, size_t size); /* hexadecimal */
/* A name that anybody may have chosen: made safe as text_append_name() does. */
void csv_row_set_name(struct csv_row *row, size_t column, const char *name);
/* The same in parts: what is appended to the text that begin gives, up to end, is the field. */
struct text *csv_row_begin_text(struct csv_row *row, size_t column);
void csv_row_end_text(struct csv_row *row, size_t column);

/* Writes the row and empties it. 0, or a negative errno after host->fail(). */
int csv_row_write(struct csv_row *row, const struct iaprof_host *host, struct iaprof_output *output);

void csv_row_free(struct csv_row *row);

#endif
