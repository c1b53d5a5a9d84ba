/* SPDX-License-Identifier: Apache-2.0 */
/* See page_tables.h. */
#include "page_tables.h"

#include "text/table_row.h"

static void append_cell(struct text *text, const char *cell, size_t length)
{
	struct text name = { 0 };
	text_append(&name, cell, length);
	text_append_json(text, text_string(&name));
	text->failed |= name.failed;
	text_free(&name);
}

static void append_row(struct text *text, const char *row)
{
	const char *before = "[", *cell = row_cells(row);
	for (size_t length; cell; before = ",") {
		const char *next = row_cell_next(cell, &length);
		text_append_string(text, before);
		append_cell(text, cell, length);
		cell = next;
	}
	text_append_string(text, "]");
}

void page_tables_append(struct text *text, const struct iaprof_activity *activity)
{
	bool is_open = false;
	text_append_string(text, ",\"tables\":[");
	for (size_t i = 0; i < activity->finding_count; i++) {
		const struct iaprof_finding *finding = iaprof_activity_finding(activity, i);
		if (!finding_is_row(finding->severity, finding->text))
			continue;
		if (row_has_titles(finding->text) || !is_open) {
			text_append_string(text, is_open ? "],[" : "[");
			is_open = true;
		} else {
			text_append_string(text, ",");
		}
		append_row(text, finding->text);
	}
	text_append_string(text, is_open ? "]]" : "]");
}
