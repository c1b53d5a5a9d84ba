/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text: see batch.h. */
#include "batch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "amounts.h"
#include "wording.h"

/* A stack is cut there. */
#define ROW_BYTES_MAX 65536u

/* Appends what may have names in it, on one line. */
static void append_safe(struct text *text, struct text *words)
{
	text_append(words, "", 1);
	if (!words->failed)
		text_append_name(text, words->data);
	text->failed |= words->failed;
	text_free(words);
}

static void append_row(struct text *text, const struct model *model, enum model_table table, const struct row *row,
		       bool of_run)
{
	struct sums sums = row_sums(row, of_run, model->intervals);
	const struct model_type *type = &model->types[row->type];
	uint64_t whole = of_run ? type->run : type->last;
	struct text words = { 0 };
	text_append_format(text, "%6.2f%% %6.2f%% %15" PRIu64 " %15" PRIu64 "  ", amount_percent(sums.self, whole),
			   amount_percent(sums.total, whole), sums.self, sums.total);
	wording_append_row(&words, model, table, row, ROW_BYTES_MAX, false);
	append_safe(text, &words);
	text_append_string(text, "\n");
}

static void append_table(struct text *text, const struct model *model, const struct view *view, enum model_table table,
			 uint32_t type, uint64_t count)
{
	size_t rows = 0;
	uint32_t *positions = view_sort(view, model, table, type, &rows);
	struct text words = { 0 };
	text->failed |= !positions;
	if (positions && rows) {
		text_append_string(text, "\n");
		text_append_string(text, table_names[table]);
		text_append_string(text, ": ");
		wording_append_view(&words, model, view, table, type);
		text_append_string(&words, ", ");
		text_append_string(&words, model->types[type].unit);
		append_safe(text, &words);
		text_append_format(text, "\n%7s %7s %15s %15s  %s%s\n", "SELF%", "TOTAL%", "SELF", "TOTAL",
				   table_first_heading(table), table_headings[table]);
	}
	for (size_t i = 0; positions && i < rows && i < count; i++)
		append_row(text, model, table, &model->tables[table].rows[positions[i]], view->of_run);
	if (rows > count)
		text_append_format(text, "%49s... %zu more\n", "", rows - (size_t)count);
	free(positions);
}

void batch_append(struct text *text, const struct model *model, const struct view *view, uint64_t count, bool recorded)
{
	struct text words = { 0 };
	text_append_format(text, "%siaprof top, interval %" PRIu32 ": ", model->intervals > 1 ? "\n" : "",
			   model->intervals);
	wording_append_time(&words, model, recorded);
	append_safe(text, &words);
	text_append_string(text, "\n");
	wording_append_rates(&words, model, VIEW_TYPE_NONE);
	append_safe(text, &words);
	text_append_string(text, "\nlost: ");
	wording_append_losses(&words, model);
	append_safe(text, &words);
	text_append_string(text, "\n");
	for (int table = 0; table < TABLE_COUNT; table++)
		for (uint32_t type = 0; type < model->type_count; type++)
			if (!view->table_chosen || (int)view->table == table)
				append_table(text, model, view, (enum model_table)table, type, count);
}
