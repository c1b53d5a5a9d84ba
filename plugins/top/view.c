/* SPDX-License-Identifier: Apache-2.0 */
/* What the user looks at: see view.h. */
#include "view.h"

#include <stdlib.h>

/* Tables that only devices have come first: nobody else shows them. */
static const enum model_table best_first[] = { TABLE_KERNELS, TABLE_CALLS, TABLE_FUNCTIONS };

/* Of functions and stacks those on the CPU are wanted: what devices do has tables of its own. */
static bool is_of_device(const struct model *model, uint32_t type)
{
	return model->has[TABLE_KERNELS][type] || model->has[TABLE_CALLS][type];
}

uint32_t view_type_of(const struct view *view, const struct model *model, enum model_table table)
{
	uint32_t chosen = view->types[table] - 1, found = VIEW_TYPE_NONE;
	if (chosen < model->type_count && model->has[table][chosen])
		return chosen;
	bool of_any = table != TABLE_FUNCTIONS && table != TABLE_STACKS;
	for (uint32_t type = 0; type < model->type_count; type++) {
		if (!model->has[table][type])
			continue;
		if (of_any || !is_of_device(model, type))
			return type;
		if (found == VIEW_TYPE_NONE)
			found = type;
	}
	return found;
}

uint32_t view_choose(struct view *view, const struct model *model)
{
	for (size_t i = 0; !view->table_chosen && i < sizeof best_first / sizeof *best_first; i++) {
		uint32_t type = view_type_of(view, model, best_first[i]);
		if (type == VIEW_TYPE_NONE)
			continue;
		view->table = best_first[i];
		return type;
	}
	return view_type_of(view, model, view->table);
}

/* The next table with anything in it; the one that is shown when there is no other. */
static void change_table(struct view *view, const struct model *model, int step)
{
	view_choose(view, model);
	view->table_chosen = true;
	view->first = 0;
	for (int i = 1; i <= TABLE_COUNT; i++) {
		int table = ((int)view->table + TABLE_COUNT + step * i) % TABLE_COUNT;
		if (view_type_of(view, model, (enum model_table)table) != VIEW_TYPE_NONE) {
			view->table = (enum model_table)table;
			return;
		}
	}
}

static void change_type(struct view *view, const struct model *model)
{
	uint32_t shown = view_choose(view, model);
	view->first = 0;
	for (uint32_t i = 1; shown != VIEW_TYPE_NONE && i <= model->type_count; i++) {
		uint32_t type = (shown + i) % model->type_count;
		if (model->has[view->table][type]) {
			view->types[view->table] = type + 1;
			return;
		}
	}
}

static void scroll(struct view *view, size_t rows, bool up)
{
	if (up)
		view->first -= rows < view->first ? rows : view->first;
	else
		view->first = view->first + rows < view->first_max ? view->first + rows : view->first_max;
}

static enum view_action letter(struct view *view, const struct model *model, enum key key)
{
	switch ((int)key) {
	case 'q':
	case 'Q':
		return VIEW_QUIT;
	case 'Z' - '@':
		return VIEW_SUSPEND;
	case '\t':
	case 's':
		change_table(view, model, 1);
		return VIEW_DRAW;
	case 'v':
		change_type(view, model);
		return VIEW_DRAW;
	case 'r':
		view->by_total = !view->by_total;
		return VIEW_DRAW;
	case 'c':
		view->of_run = !view->of_run;
		return VIEW_DRAW;
	case 'p':
		view->paused = !view->paused;
		return VIEW_PAUSE;
	case 'h':
	case '?':
		view->help = true;
		return VIEW_DRAW;
	case 'L' - '@':
		return VIEW_DRAW;
	default:
		return VIEW_NOTHING;
	}
}

enum view_action view_key(struct view *view, const struct model *model, enum key key, size_t page)
{
	if (view->help && key != KEY_NONE && key != 'q' && key != 'Z' - '@') {
		view->help = false;
		return VIEW_DRAW;
	}
	switch (key) {
	case KEY_UP:
	case KEY_DOWN:
		scroll(view, 1, key == KEY_UP);
		return VIEW_DRAW;
	case KEY_PAGE_UP:
	case KEY_PAGE_DOWN:
		scroll(view, page ? page : 1, key == KEY_PAGE_UP);
		return VIEW_DRAW;
	case KEY_HOME:
	case KEY_END:
		view->first = key == KEY_HOME ? 0 : view->first_max;
		return VIEW_DRAW;
	case KEY_LEFT:
	case KEY_BACK_TAB:
		change_table(view, model, -1);
		return VIEW_DRAW;
	case KEY_RIGHT:
		change_table(view, model, 1);
		return VIEW_DRAW;
	default:
		return letter(view, model, key);
	}
}

/* A row with what it is sorted by. */
struct sorted {
	uint64_t first, second;
	uint32_t position;
};

static int compare(const void *a, const void *b)
{
	const struct sorted *left = a, *right = b;
	if (left->first != right->first)
		return left->first < right->first ? 1 : -1;
	if (left->second != right->second)
		return left->second < right->second ? 1 : -1;
	return left->position < right->position ? -1 : 1;
}

uint32_t *view_sort(const struct view *view, const struct model *model, enum model_table table, uint32_t type,
		    size_t *count)
{
	const struct row_table *rows = &model->tables[table];
	struct sorted *sorted = malloc((rows->row_count + 1) * sizeof *sorted);
	uint32_t *positions = malloc((rows->row_count + 1) * sizeof *positions);
	*count = 0;
	for (size_t i = 0; sorted && i < rows->row_count; i++) {
		struct sums sums = row_sums(&rows->rows[i], view->of_run, model->intervals);
		if (rows->rows[i].type == type && sums.total)
			sorted[(*count)++] = (struct sorted){ .first = view->by_total ? sums.total : sums.self,
							      .second = view->by_total ? sums.self : sums.total,
							      .position = (uint32_t)i };
	}
	if (sorted)
		qsort(sorted, *count, sizeof *sorted, compare);
	for (size_t i = 0; positions && sorted && i < *count; i++)
		positions[i] = sorted[i].position;
	if (!sorted) {
		free(positions);
		positions = NULL;
	}
	free(sorted);
	return positions;
}
