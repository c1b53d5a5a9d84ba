/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a CSV file (RFC 4180): fields are set by column, in any order, and written in the order of the columns. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "text/text.h"

#define CSV_COLUMN_MAX 40

struct csv_field {
	size_t offset, size; /* in csv_row.fields; size 0: empty */
	bool is_text;        /* untrusted text */
};

struct csv_row {
	size_t column_count;
	bool escape;          /* prefix text that a spreadsheet would evaluate as a formula with ' */
	const char *line_end; /* "\r\n" or "\n" */
	struct text fields;   /* contents of the fields, in the order of the calls */
	struct csv_field places[CSV_COLUMN_MAX];
	struct text line;
};

/* Each sets a column of the current row. */
void csv_row_set_unsigned(struct csv_row *row, size_t column, uint64_t value);
void csv_row_set_signed(struct csv_row *row, size_t column, int64_t value);
void csv_row_set_hexadecimal(struct csv_row *row, size_t column, uint64_t value);
void csv_row_set_double(struct csv_row *row, size_t column, double value);                     /* shortest exact text */
void csv_row_set_bytes(struct csv_row *row, size_t column, const uint8_t *bytes, size_t size); /* hexadecimal */
/* Sets the columns of the ids of a span; nothing for NULL. */
void csv_row_set_span(struct csv_row *row, size_t trace, size_t id, const struct iaprof_span *span);
/* Sets an untrusted name, sanitized like text_append_name(). */
void csv_row_set_name(struct csv_row *row, size_t column, const char *name);
/* Sets the name of a value, or the number if it has no name. */
void csv_row_set_choice(struct csv_row *row, size_t column, const char *const *names, size_t count, uint32_t value);
/* Sets a field in parts: the text that is appended between the two calls is the field. */
struct text *csv_row_begin_text(struct csv_row *row, size_t column);
void csv_row_end_text(struct csv_row *row, size_t column);

/* Writes and clears the row. Returns 0, or a negative errno after host->fail(). */
int csv_row_write(struct csv_row *row, const struct iaprof_host *host, struct iaprof_output *output);

void csv_row_free(struct csv_row *row);
