/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows of a CSV file: see csv_row.h. */
#include "csv_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text *csv_row_begin_text(struct csv_row *row, size_t column)
{
	row->places[column] = (struct csv_field){ .offset = row->fields.size, .is_text = true };
	return &row->fields;
}

void csv_row_end_text(struct csv_row *row, size_t column)
{
	row->places[column].size = row->fields.size - row->places[column].offset;
}

/* Appends text that needs no escaping. */
static void end_number(struct csv_row *row, size_t column)
{
	csv_row_end_text(row, column);
	row->places[column].is_text = false;
}

static void set_number(struct csv_row *row, size_t column, const char *text)
{
	text_append_string(csv_row_begin_text(row, column), text);
	end_number(row, column);
}

void csv_row_set_unsigned(struct csv_row *row, size_t column, uint64_t value)
{
	text_append_unsigned(csv_row_begin_text(row, column), value);
	end_number(row, column);
}

void csv_row_set_signed(struct csv_row *row, size_t column, int64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRId64, value);
	set_number(row, column, text);
}

void csv_row_set_hexadecimal(struct csv_row *row, size_t column, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof text, "0x%" PRIx64, value);
	set_number(row, column, text);
}

void csv_row_set_double(struct csv_row *row, size_t column, double value)
{
	char text[32];
	for (int digits = 15; digits <= 17; digits++) { /* 17 digits are always enough: DBL_DECIMAL_DIG */
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	set_number(row, column, text);
}

void csv_row_set_bytes(struct csv_row *row, size_t column, const uint8_t *bytes, size_t size)
{
	text_append_hexadecimal(csv_row_begin_text(row, column), bytes, size);
	end_number(row, column);
}

void csv_row_set_span(struct csv_row *row, size_t trace, size_t id, const struct iaprof_span *span)
{
	if (!span)
		return;
	csv_row_set_bytes(row, trace, span->trace_id, sizeof span->trace_id);
	csv_row_set_bytes(row, id, span->span_id, sizeof span->span_id);
}

void csv_row_set_name(struct csv_row *row, size_t column, const char *name)
{
	text_append_name(csv_row_begin_text(row, column), name);
	csv_row_end_text(row, column);
}

void csv_row_set_choice(struct csv_row *row, size_t column, const char *const *names, size_t count, uint32_t value)
{
	if (value < count && names[value])
		csv_row_set_name(row, column, names[value]);
	else
		csv_row_set_unsigned(row, column, value);
}

/*
 * Fields no longer contain control characters, including line ends. Returns the end of the written text, which is at
 * most twice as long as the field plus 3 bytes.
 */
static char *put_field(const struct csv_row *row, const struct csv_field *field, char *out)
{
	const char *bytes = row->fields.data + field->offset;
	bool escape = row->escape && field->is_text && strchr("=+-@", bytes[0]);
	bool quote =
		field->is_text && (memchr(bytes, ',', field->size) != NULL || memchr(bytes, '"', field->size) != NULL);
	if (quote)
		*out++ = '"';
	if (escape)
		*out++ = '\'';
	if (!quote) {
		memcpy(out, bytes, field->size);
		return out + field->size;
	}
	for (size_t i = 0; i < field->size; i++) {
		if (bytes[i] == '"')
			*out++ = '"';
		*out++ = bytes[i];
	}
	*out++ = '"';
	return out;
}

int csv_row_write(struct csv_row *row, const struct iaprof_host *host, struct iaprof_output *output)
{
	size_t line_end = strlen(row->line_end);
	if (!text_reserve(&row->line, 2 * row->fields.size + 4 * row->column_count + line_end) || row->fields.failed) {
		row->line.failed = true;
		return text_write(&row->line, host, output);
	}
	char *out = row->line.data + row->line.size;
	for (size_t i = 0; i < row->column_count; i++) {
		if (i > 0)
			*out++ = ',';
		if (row->places[i].size)
			out = put_field(row, &row->places[i], out);
	}
	memcpy(out, row->line_end, line_end);
	row->line.size = (size_t)(out - row->line.data) + line_end;
	row->fields.size = 0;
	memset(row->places, 0, row->column_count * sizeof *row->places);
	return text_write(&row->line, host, output);
}

void csv_row_free(struct csv_row *row)
{
	text_free(&row->fields);
	text_free(&row->line);
}
