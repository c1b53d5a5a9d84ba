/* SPDX-License-Identifier: Apache-2.0 */
/* Writes tables as text: see batch.h. */
#include "batch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "text/quantity.h"
#include "view_text.h"

/* Stacks are truncated to this length. */
#define ROW_BYTES_MAX 65536u

/* Appends sanitized text on one line. */
static void append_safe(struct text *text, struct text *words)
{
	text_append(words, "", 1);
	if (!words->failed)
		text_append_name(text, words->data);
	text->failed |= words->failed;
	text_free(words);
}

static void append_row(struct text *text, const struct model *model, enum model_table table,
		       const struct view_row *shown, bool of_run)
{
	const struct row *row = shown->row;
	struct sums sums = shown->sums;
	const struct model_type *type = &model->types[row->type];
	uint64_t whole = of_run ? type->run : type->last;
	struct text words = { 0 };
	text_append_format(text, "%7s %7s %15" PRIu64 " %15" PRIu64 "  ",
			   quantity_fixed_share((double)sums.self, (double)whole, 2, "%").text,
			   quantity_fixed_share((double)sums.total, (double)whole, 2, "%").text, sums.self, sums.total);
	view_text_append_row(&words, model, table, row, ROW_BYTES_MAX);
	append_safe(text, &words);
	text_append_string(text, "\n");
}

static void append_table(struct text *text, const struct model *model, const struct view *view, enum model_table table,
			 uint32_t type, uint64_t count)
{
	size_t rows = 0;
	struct view_row *shown = view_rows(view, model, table, type, &rows);
	struct text words = { 0 };
	text->failed |= !shown;
	if (shown && rows) {
		text_append_format(text, "\n%s: ", table_names[table]);
		view_text_append_view(&words, model, view, table, type);
		text_append_format(&words, ", %s", model->types[type].unit);
		append_safe(text, &words);
		text_append_format(text, "\n%7s %7s %15s %15s  %s%s\n", "SELF%", "TOTAL%", "SELF", "TOTAL",
				   table_first_heading(table), table_heading(model, table, type));
	}
	for (size_t i = 0; shown && i < rows && i < count; i++)
		append_row(text, model, table, &shown[i], view->of_run);
	if (rows > count)
		text_append_format(text, "%49s... %zu more\n", "", rows - (size_t)count);
	free(shown);
}

static void append_items(struct text *text, const struct model *model, enum model_table table, uint64_t count)
{
	size_t item_count;
	const struct model_item *items = view_items(model, table, &item_count);
	struct text words = { 0 };
	if (item_count)
		text_append_format(text, "\n%s\n%s\n", table_names[table], table_heading(model, table, VIEW_TYPE_NONE));
	for (size_t i = 0; i < item_count && i < count; i++) {
		view_text_append_item(&words, &items[i]);
		append_safe(text, &words);
		text_append_string(text, "\n");
	}
	if (item_count > count)
		text_append_format(text, "... %zu more\n", item_count - (size_t)count);
}

/* Appends "utilization: CPU 20.8 %, NPU 5.9 %"; nothing if all is unknown. */
static void append_utilization(struct text *text, const struct meters *meters, bool of_run)
{
	bool is_first = true;
	for (uint32_t i = 0; i < meters->count; i++) {
		const struct meter *meter = meters_at(meters, i);
		double percent = of_run ? meter_mean(meters, meter) : meter_now(meters, meter);
		if (isnan(percent))
			continue;
		text_append_string(text, is_first ? "utilization: " : ", ");
		text_append_name(text, meter->label);
		text_append_format(text, " %s", quantity_fixed_share(percent, 100, 1, " %").text);
		is_first = false;
	}
	text_append_string(text, is_first ? "" : "\n");
}

void batch_append(struct text *text, const struct model *model, const struct view *view, uint64_t count, bool recorded)
{
	struct text words = { 0 };
	text_append_format(text, "%siaprof top, interval %" PRIu32 ": ", model->intervals > 1 ? "\n" : "",
			   model->intervals);
	view_text_append_time(&words, model, recorded);
	append_safe(text, &words);
	text_append_string(text, "\n");
	view_text_append_rates(&words, model, VIEW_TYPE_NONE);
	append_safe(text, &words);
	text_append_string(text, "\n");
	append_utilization(text, &model->meters, view->of_run || recorded);
	text_append_string(text, "lost: ");
	view_text_append_losses(&words, model);
	append_safe(text, &words);
	text_append_string(text, "\n");
	for (int table = 0; table < TABLE_COUNT; table++) {
		if (view->table_chosen && (int)view->table != table)
			continue;
		for (uint32_t type = 0; table < TABLE_SUM_COUNT && type < model->type_count; type++)
			append_table(text, model, view, (enum model_table)table, type, count);
		append_items(text, model, (enum model_table)table, count);
	}
}
