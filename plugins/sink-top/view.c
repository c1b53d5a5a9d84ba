/* SPDX-License-Identifier: Apache-2.0 */
/* State of the view: see view.h. */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "stacks/value_choice.h"
#include "view_text.h"

/* Tables of devices come first, because no other tool shows them. */
static const enum model_table best_first[] = { TABLE_KERNELS, TABLE_CALLS, TABLE_FUNCTIONS, TABLE_FINDINGS,
					       TABLE_COUNTERS };

/* The tables of functions and stacks prefer CPU values, because device values have tables of their own. */
static bool is_of_device(const struct model *model, uint32_t type)
{
	return model->has[TABLE_KERNELS][type] || model->has[TABLE_CALLS][type] ||
	       model->types[type].role == IAPROF_VALUE_DEVICE_IDLE;
}

uint32_t view_type_of(const struct view *view, const struct model *model, enum model_table table)
{
	uint32_t chosen = view->types[table] - 1, found = VIEW_TYPE_NONE;
	int most = -1;
	if (table >= TABLE_SUM_COUNT)
		return VIEW_TYPE_NONE;
	if (chosen < model->type_count && model->has[table][chosen])
		return chosen;
	bool of_any = table != TABLE_FUNCTIONS && table != TABLE_STACKS;
	for (uint32_t type = 0; type < model->type_count; type++) {
		if (!model->has[table][type])
			continue;
		if (!of_any && !is_of_device(model, type))
			return type;
		int wanted = value_role_preference(model->types[type].role);
		if (wanted > most) {
			most = wanted;
			found = type;
		}
	}
	return found;
}

const struct model_item *view_items(const struct model *model, enum model_table table, size_t *count)
{
	size_t first = 0, end;
	*count = 0;
	if (table < TABLE_SUM_COUNT)
		return NULL;
	while (first < model->items.count && model->items.items[first].table < table)
		first++;
	for (end = first; end < model->items.count && model->items.items[end].table == table; end++)
		++*count;
	return *count ? model->items.items + first : NULL;
}

bool view_has(const struct view *view, const struct model *model, enum model_table table)
{
	size_t items;
	view_items(model, table, &items);
	return items || view_type_of(view, model, table) != VIEW_TYPE_NONE;
}

uint32_t view_choose(struct view *view, const struct model *model)
{
	for (size_t i = 0; !view->table_chosen && i < sizeof best_first / sizeof *best_first; i++)
		if (view_has(view, model, best_first[i])) {
			view->table = best_first[i];
			break;
		}
	return view_type_of(view, model, view->table);
}

/* Selects the next table with data, or keeps the current one if there is no other. */
static void change_table(struct view *view, const struct model *model, int step)
{
	view_choose(view, model);
	view->table_chosen = true;
	view->first = 0;
	for (int i = 1; i <= TABLE_COUNT; i++) {
		int table = ((int)view->table + TABLE_COUNT + step * i) % TABLE_COUNT;
		if (view_has(view, model, (enum model_table)table)) {
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

/* Selects the next sort order that the table has. */
static void change_sort(struct view *view, const struct model *model, int step)
{
	view_choose(view, model);
	view->reversed = false;
	view->first = 0;
	int sort = (int)view_sort_of(view, view->table);
	do
		sort = (sort + SORT_COUNT + step) % SORT_COUNT;
	while ((sort == SORT_TOTAL && !table_has_total(view->table)) ||
	       (sort == SORT_MODULE && !model->has_modules[view->table]));
	view->sort = (enum view_sort)sort;
}

static void begin_filter(struct view *view)
{
	view->typing = true;
	memcpy(view->filter_before, view->filter, sizeof view->filter);
}

/* Handles a key while the filter is edited; the rows follow at once. */
static enum view_action type_filter(struct view *view, enum key key)
{
	size_t length = strlen(view->filter);
	view->first = 0;
	if (key == '\r' || key == '\n') {
		view->typing = false;
	} else if (key == KEY_ESCAPE || key == 'G' - '@') {
		view->typing = false;
		memcpy(view->filter, view->filter_before, sizeof view->filter);
	} else if ((key == 0x7f || key == '\b') && length) {
		view->filter[length - 1] = '\0';
	} else if (key == 'U' - '@' || key == 'W' - '@') {
		view->filter[0] = '\0';
	} else if (key >= ' ' && key < 0x7f && length < sizeof view->filter - 1) {
		view->filter[length] = (char)key;
		view->filter[length + 1] = '\0';
	}
	return VIEW_DRAW;
}

static enum view_action letter(struct view *view, const struct model *model, enum key key)
{
	switch ((int)key) {
	case 'q':
	case 'Q':
	case KEY_F1 + 9:
		return VIEW_QUIT;
	case 'Z' - '@':
		return VIEW_SUSPEND;
	case '\t':
	case KEY_F1 + 1:
		change_table(view, model, 1);
		return VIEW_DRAW;
	case '/':
	case '\\':
	case KEY_F1 + 2:
	case KEY_F1 + 3:
		begin_filter(view);
		return VIEW_DRAW;
	case KEY_ESCAPE:
		view->filter[0] = '\0';
		return VIEW_DRAW;
	case 's':
	case '>':
	case KEY_F1 + 5:
		change_sort(view, model, 1);
		return VIEW_DRAW;
	case 'S':
	case '<':
		change_sort(view, model, -1);
		return VIEW_DRAW;
	case 'I':
	case 'R':
		view->reversed = !view->reversed;
		view->first = 0;
		return VIEW_DRAW;
	case 'v':
		change_type(view, model);
		return VIEW_DRAW;
	case 'r':
		view->sort = view_sort_of(view, view->table) == SORT_TOTAL ? SORT_SELF : SORT_TOTAL;
		view->reversed = false;
		return VIEW_DRAW;
	case 'c':
		view->of_run = !view->of_run;
		return VIEW_DRAW;
	case 'g':
	case KEY_F1 + 4:
		view->by_process = !view->by_process;
		view->first = 0;
		return VIEW_DRAW;
	case 'p':
	case ' ':
	case 'Z':
		view->paused = !view->paused;
		return VIEW_PAUSE;
	case 'h':
	case '?':
	case KEY_F1:
		view->help = true;
		view->help_first = 0;
		return VIEW_DRAW;
	case 'L' - '@':
		return VIEW_DRAW;
	default:
		break;
	}
	if (key >= '1' && key < '1' + TABLE_COUNT && view_has(view, model, (enum model_table)(key - '1'))) {
		view->table = (enum model_table)(key - '1');
		view->table_chosen = true;
		view->first = 0;
		return VIEW_DRAW;
	}
	return VIEW_NOTHING;
}

enum view_action view_key(struct view *view, const struct model *model, enum key key, size_t page)
{
	if (view->help && (key == KEY_UP || key == KEY_DOWN)) {
		view->help_first += key == KEY_DOWN ? 1 : view->help_first ? (size_t)-1 : 0;
		return VIEW_DRAW;
	}
	if (view->help && key != KEY_NONE && key != 'q' && key != 'Z' - '@') {
		view->help = false;
		return VIEW_DRAW;
	}
	if (view->typing && (key < KEY_UP || key == KEY_ESCAPE) && key != 'Z' - '@')
		return type_filter(view, key);
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
