/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a table as they are shown: merged, filtered and sorted. See view.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"
#include "view.h"
#include "view_text.h"

/* Names are searched up to this length; stacks can be longer. */
#define FILTERED_BYTES_MAX 4096u

enum view_sort view_sort_of(const struct view *view, enum model_table table)
{
	return view->sort == SORT_TOTAL && !table_has_total(table) ? SORT_SELF : view->sort;
}

/* Compares what the rows show apart from the process. */
static int compare_rest(const struct row *left, const struct row *right)
{
	uint32_t length = left->length < right->length ? left->length : right->length;
	for (uint32_t i = KEY_MODULE; i < length; i++)
		if (left->key[i] != right->key[i])
			return left->key[i] < right->key[i] ? -1 : 1;
	return (left->length > right->length) - (left->length < right->length);
}

static int compare_for_merge(const void *a, const void *b)
{
	const struct view_row *left = a, *right = b;
	int order = compare_rest(left->row, right->row);
	return order ? order : (left->row > right->row) - (left->row < right->row);
}

/* Merges rows that differ only in the process. Returns their number. */
static size_t merge(struct view_row *rows, size_t count)
{
	size_t kept = 0;
	qsort(rows, count, sizeof *rows, compare_for_merge);
	for (size_t i = 0; i < count; i++) {
		struct view_row *last = kept ? &rows[kept - 1] : NULL;
		if (!last || !last->row->length || compare_rest(last->row, rows[i].row)) {
			rows[kept++] = rows[i];
			continue;
		}
		last->has_programs |= last->row->key[KEY_PROGRAM] != rows[i].row->key[KEY_PROGRAM];
		last->has_pids |= last->row->key[KEY_PID] != rows[i].row->key[KEY_PID];
		last->sums.self = saturating_add(last->sums.self, rows[i].sums.self);
		last->sums.total = saturating_add(last->sums.total, rows[i].sums.total);
	}
	return kept;
}

struct order {
	const struct model *model;
	enum view_sort sort;
	bool reversed;
};

static int compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

static int compare_texts(const struct model *model, const struct row *left, const struct row *right, uint32_t part)
{
	if (!left->length || !right->length)
		return compare_numbers(!left->length, !right->length);
	return strcasecmp(names_text(&model->names, left->key[part]), names_text(&model->names, right->key[part]));
}

/* Numbers from the largest, names from A to Z. */
static int compare_by(const struct order *order, const struct view_row *left, const struct view_row *right)
{
	switch (order->sort) {
	case SORT_TOTAL:
		return compare_numbers(right->sums.total, left->sums.total);
	case SORT_PID:
		return compare_numbers(left->row->length ? left->row->key[KEY_PID] : 0,
				       right->row->length ? right->row->key[KEY_PID] : 0);
	case SORT_PROGRAM:
		return compare_texts(order->model, left->row, right->row, KEY_PROGRAM);
	case SORT_MODULE:
		return compare_texts(order->model, left->row, right->row, KEY_MODULE);
	case SORT_NAME:
		return compare_texts(order->model, left->row, right->row, KEY_REST);
	default:
		return compare_numbers(right->sums.self, left->sums.self);
	}
}

static int compare(const void *a, const void *b, void *context)
{
	const struct view_row *left = a, *right = b;
	const struct order *order = context;
	int result = compare_by(order, left, right);
	if (result)
		return order->reversed ? -result : result;
	result = compare_numbers(right->sums.self, left->sums.self);
	if (!result)
		result = compare_numbers(right->sums.total, left->sums.total);
	return result ? result : (left->row > right->row) - (left->row < right->row);
}

/* Everything that a row can show is searched. */
static bool accepts(const struct view *view, struct text *text)
{
	return text->failed || strcasestr(text_string(text), view->filter);
}

static bool accepts_row(const struct view *view, const struct model *model, enum model_table table,
			const struct row *row, struct text *text)
{
	text->size = 0;
	if (row->length)
		text_append_format(text, "%s %" PRIu32 " %s ", names_text(&model->names, row->key[KEY_PROGRAM]),
				   row->key[KEY_PID], names_text(&model->names, row->key[KEY_MODULE]));
	view_text_append_name(text, model, table, row, FILTERED_BYTES_MAX);
	return accepts(view, text);
}

bool view_accepts_item(const struct view *view, const struct model_item *item)
{
	struct text text = { 0 };
	view_text_append_item(&text, item);
	bool result = !*view->filter || accepts(view, &text);
	text_free(&text);
	return result;
}

struct view_row *view_rows(const struct view *view, const struct model *model, enum model_table table, uint32_t type,
			   size_t *count)
{
	const struct row_table *from = &model->tables[table];
	struct view_row *rows = malloc((from->row_count + 1) * sizeof *rows);
	struct text text = { 0 };
	*count = 0;
	for (size_t i = 0; rows && i < from->row_count; i++) {
		struct sums sums = row_sums(&from->rows[i], view->of_run, model->intervals);
		if (from->rows[i].type == type && sums.total &&
		    (!*view->filter || accepts_row(view, model, table, &from->rows[i], &text)))
			rows[(*count)++] = (struct view_row){ .row = &from->rows[i], .sums = sums };
	}
	text_free(&text);
	if (!rows)
		return NULL;
	if (!view->by_process && table != TABLE_KERNELS && table != TABLE_PROCESSES)
		*count = merge(rows, *count);
	struct order order = { model, view_sort_of(view, table), view->reversed };
	qsort_r(rows, *count, sizeof *rows, compare, &order);
	return rows;
}
