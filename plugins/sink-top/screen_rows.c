/* SPDX-License-Identifier: Apache-2.0 */
/* See screen_rows.h. */
#include "screen_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "screen_line.h"
#include "text/quantity.h"
#include "text/short_name.h"
#include "view_text.h"

/* Narrower windows show one number per row. */
#define COLUMNS_FOR_NUMBERS 50u
/* Columns are left out until the name has so much room, and its heading up to the other limit. */
#define NAME_COLUMNS_MIN 40u
#define HEADING_COLUMNS_MAX 50u
/* From here on, programs and modules have more room. */
#define COLUMNS_WIDE 160u
#define COLUMNS_NARROW 100u

/* Thresholds of colours, as in perf top. */
#define HOT 5.0
#define WARM 0.5

#define SEVERAL "several"

/* Widths, with a blank before the column; 0: left out. */
struct columns {
	bool has_numbers, has_total;
	unsigned pid, tid, program, module;
};

static void add_column(unsigned *column, unsigned width, unsigned least, unsigned *left)
{
	if (*left < least + width)
		return;
	*column = width;
	*left -= width;
}

/* Returns the least number of columns for the name. */
static unsigned heading_columns(const struct view *view, const struct model *model, uint32_t type)
{
	struct text words = { 0 };
	view_text_append_view(&words, model, view, view->table, type);
	size_t columns = strlen(table_heading(model, view->table, type)) + 2 + words.size;
	text_free(&words);
	return columns < NAME_COLUMNS_MIN      ? NAME_COLUMNS_MIN
	       : columns < HEADING_COLUMNS_MAX ? (unsigned)columns
					       : HEADING_COLUMNS_MAX;
}

static struct columns choose_columns(const struct screen *screen, const struct view *view, const struct model *model,
				     uint32_t type)
{
	bool is_wide = screen->columns >= COLUMNS_WIDE, is_narrow = screen->columns < COLUMNS_NARROW;
	struct columns columns = { .has_numbers = screen->columns >= COLUMNS_FOR_NUMBERS };
	columns.has_total = columns.has_numbers && table_has_total(view->table);
	unsigned used = 9 + (columns.has_numbers ? 10 : 0) + (columns.has_total ? 8 : 0);
	unsigned left = screen->columns > used ? screen->columns - used : 0;
	unsigned least = heading_columns(view, model, type);
	if (view->table == TABLE_PROCESSES) {
		add_column(&columns.pid, 8, least, &left);
		if (model->has_threads)
			add_column(&columns.tid, 8, least, &left);
		return columns;
	}
	add_column(&columns.program, is_wide ? 17 : is_narrow ? 11 : 13, least, &left);
	add_column(&columns.pid, 8, least, &left);
	if (model->has_modules[view->table])
		add_column(&columns.module, is_wide ? 25 : 17, least, &left);
	return columns;
}

/* Marks the column by which the rows are sorted. */
static void append_title(struct line *line, const struct view *view, enum view_sort sort, const char *title,
			 unsigned columns, bool is_right)
{
	bool is_sorted = view_sort_of(view, view->table) == sort;
	text_append_string(line->text, is_sorted ? UNDERLINE : "");
	if (is_right)
		line_append_right(line, title, columns);
	else
		line_append_cut(line, title, columns);
	text_append_string(line->text, is_sorted ? NO_UNDERLINE : "");
}

/* Leaves the column and a blank after it. */
static void append_left_title(struct line *line, const struct view *view, enum view_sort sort, const char *title,
			      unsigned width)
{
	unsigned begin = line->used;
	append_title(line, view, sort, title, width - 1, false);
	line_pad(line, begin + width);
}

/* Appends ", by self" and the like, right-aligned if there is room. */
static void append_view(struct line *line, const struct view *view, const struct model *model, uint32_t type)
{
	struct text words = { 0 };
	view_text_append_view(&words, model, view, view->table, type);
	if (!words.failed && line->used + 2 + words.size <= line->screen->columns)
		line_pad(line, line->screen->columns - (unsigned)words.size);
	else
		line_pad(line, line->used + 2);
	line_take(line, &words);
}

void screen_rows_append_heading(struct text *text, const struct screen *screen, unsigned row, const struct view *view,
				const struct model *model, uint32_t type)
{
	struct columns columns = { 0 };
	if (view->table < TABLE_SUM_COUNT)
		columns = choose_columns(screen, view, model, type);
	struct line line = line_begin(text, screen, row);
	text_append_string(text, REVERSE);
	if (view->table >= TABLE_SUM_COUNT) {
		line_append(&line, table_heading(model, view->table, type));
	} else {
		line_pad(&line, 2);
		append_title(&line, view, SORT_SELF, "SELF%", 5, false);
		if (columns.has_total) {
			line_pad(&line, 9);
			append_title(&line, view, SORT_TOTAL, "TOTAL%", 6, false);
		}
		if (columns.has_numbers) {
			line_pad(&line, line.used + 6);
			line_append(&line, "SELF");
		}
		line_pad(&line, line.used + 2);
		if (columns.pid) {
			append_title(&line, view, SORT_PID, "PID", columns.pid - 1, true);
			line_pad(&line, line.used + 1);
		}
		if (columns.tid) {
			line_append_right(&line, "TID", columns.tid - 1);
			line_pad(&line, line.used + 1);
		}
		if (columns.program)
			append_left_title(&line, view, SORT_PROGRAM, "PROGRAM", columns.program);
		if (columns.module)
			append_left_title(&line, view, SORT_MODULE, "MODULE", columns.module);
		append_title(&line, view, SORT_NAME, table_heading(model, view->table, type), screen->columns, false);
		append_view(&line, view, model, type);
	}
	line_pad(&line, screen->columns);
	text_append_string(text, PLAIN);
	line_end(&line);
}

static void append_share(struct line *line, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100 * (double)part / (double)whole : 0;
	struct quantity_text words = quantity_fixed_share((double)part, (double)whole, 2, "%");
	const char *style = percent >= HOT                            ? (line->screen->colour ? RED : BOLD)
			    : percent >= WARM && line->screen->colour ? GREEN
								      : "";
	unsigned length = (unsigned)strlen(words.text);
	line_pad(line, line->used + (length < 7 ? 7 - length : 0));
	text_append_string(line->text, style);
	line_append(line, words.text);
	text_append_string(line->text, *style ? PLAIN : "");
}

static void append_id(struct line *line, uint32_t id, bool has_several, unsigned width)
{
	char words[16] = "";
	if (id)
		snprintf(words, sizeof words, "%" PRIu32, id);
	line_append_right(line, has_several ? SEVERAL : words, width - 1);
	line_pad(line, line->used + 1);
}

static void append_cell(struct line *line, const char *words, unsigned width)
{
	unsigned begin = line->used;
	line_append_cut(line, words, width - 1);
	line_pad(line, begin + width);
}

static void append_owner(struct line *line, const struct columns *columns, const struct model *model,
			 const struct view_row *row)
{
	const uint32_t *key = row->row->key;
	if (!row->row->length) { /* all others */
		line_pad(line, line->used + columns->pid + columns->tid + columns->program + columns->module);
		return;
	}
	if (columns->pid)
		append_id(line, key[KEY_PID], row->has_pids, columns->pid);
	if (columns->tid)
		append_id(line, key[KEY_TID], false, columns->tid);
	if (columns->program)
		append_cell(line, row->has_programs ? SEVERAL : names_text(&model->names, key[KEY_PROGRAM]),
			    columns->program);
	if (columns->module)
		append_cell(line, names_text(&model->names, key[KEY_MODULE]), columns->module);
}

/* Shortens a row's only name, such as that of a kernel, to the room that it has. */
static void shorten_name(struct text *words, const struct row *row, unsigned room)
{
	struct text name = { 0 };
	if (row->length != KEY_REST + 1 || words->size <= room || room < SHORT_NAME_LEAST)
		return;
	for (size_t i = 0; i < words->size; i++)
		if ((unsigned char)words->data[i] > 127) /* its columns are not its bytes */
			return;
	text_append_short_name(&name, text_string(words), room);
	text_free(words);
	*words = name;
}

void screen_rows_append(struct text *text, const struct screen *screen, unsigned screen_row, const struct view *view,
			const struct model *model, const struct view_row *row)
{
	struct columns columns = choose_columns(screen, view, model, row->row->type);
	struct line line = line_begin(text, screen, screen_row);
	const struct model_type *type = &model->types[row->row->type];
	uint64_t whole = view->of_run ? type->run : type->last;
	struct text words = { 0 };
	append_share(&line, row->sums.self, whole);
	if (columns.has_total) {
		line_pad(&line, line.used + 1);
		append_share(&line, row->sums.total, whole);
	}
	if (columns.has_numbers)
		line_append_right(&line, quantity_value((double)row->sums.self, type->unit).text, 10);
	line_pad(&line, line.used + 2);
	append_owner(&line, &columns, model, row);
	view_text_append_name(&words, model, view->table, row->row, 16 * (size_t)screen->columns);
	shorten_name(&words, row->row, screen->columns > line.used ? screen->columns - line.used : 0);
	line_take(&line, &words);
	line_end(&line);
}
