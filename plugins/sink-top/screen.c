/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the screen: see screen.h. */
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "screen_line.h"
#include "screen_meters.h"
#include "screen_rows.h"
#include "view_text.h"

/* Smaller windows show only the table. */
#define ROWS_FOR_ALL 9u
/* Number of lines above the table's heading, apart from meters. */
#define HEAD_LINES 4u
static void append_clock(struct line *line, const struct model *model)
{
	char words[32];
	time_t now = (time_t)(model->end_realtime / 1000000000u);
	struct tm local;
	if (localtime_r(&now, &local) && strftime(words, sizeof words, "%H:%M:%S, ", &local))
		line_append(line, words);
	line_pad(line, line->used + 1);
}

static void append_head(struct text *text, const struct screen *screen, const struct view *view,
			const struct model *model, uint32_t type)
{
	struct text words = { 0 };
	struct line line = line_begin(text, screen, 0);
	text_append_string(text, BOLD);
	line_append(&line, view->paused ? "iaprof top, PAUSED" : "iaprof top");
	text_append_string(text, PLAIN);
	line_pad(&line, line.used + 1);
	line_append(&line, "-");
	line_pad(&line, line.used + 1);
	append_clock(&line, model);
	view_text_append_time(&words, model, screen->recorded);
	line_take(&line, &words);
	line_end(&line);

	line = line_begin(text, screen, 1);
	view_text_append_rates(&words, model, type);
	line_take(&line, &words);
	line_end(&line);

	line = line_begin(text, screen, 2);
	if (view_text_has_losses(model))
		text_append_string(text, screen->colour ? RED : BOLD);
	text_append_string(&words, "lost: ");
	view_text_append_losses(&words, model);
	line_take(&line, &words);
	text_append_string(text, PLAIN);
	line_end(&line);
}

static bool has_tab(const struct view *view, const struct model *model, int table)
{
	return (int)view->table == table || view_has(view, model, (enum model_table)table);
}

/* Returns the first tab to show: the next ones up to the current one find room. */
static int first_tab(const struct screen *screen, const struct view *view, const struct model *model)
{
	size_t columns = 0;
	int first = (int)view->table;
	for (int i = first; i >= 0; i--) {
		if (!has_tab(view, model, i))
			continue;
		columns += strlen(table_names[i]) + 2; /* brackets of the current one, blanks after others */
		if (columns > screen->columns)
			break;
		first = i;
	}
	return first;
}

/* Appends the tabs of tables with data. */
static void append_tabs(struct text *text, const struct screen *screen, unsigned row, const struct view *view,
			const struct model *model)
{
	struct line line = line_begin(text, screen, row);
	for (int i = first_tab(screen, view, model); i < TABLE_COUNT; i++) {
		bool is_shown = i == (int)view->table;
		char words[32];
		if (!has_tab(view, model, i))
			continue;
		snprintf(words, sizeof words, is_shown ? "[%s]" : "%s", table_names[i]);
		text_append_string(text, is_shown ? BOLD : "");
		if (line.used)
			line_pad(&line, line.used + 2);
		line_append(&line, words);
		text_append_string(text, is_shown ? PLAIN : "");
	}
	line_end(&line);
}

static void append_item(struct text *text, const struct screen *screen, unsigned screen_row,
			const struct model_item *item)
{
	struct line line = line_begin(text, screen, screen_row);
	struct text words = { 0 };
	view_text_append_item(&words, item);
	line_take(&line, &words);
	line_end(&line);
}

static void append_help(struct text *text, const struct screen *screen, struct view *view)
{
	static const char *const lines[] = {
		"iaprof top: live profile",
		"",
		"q F10          quit and print the summary",
		"Tab Right F2   next table; Left: previous; 1 to 9: that table",
		"/ F3 F4        filter rows; Enter keeps, Esc clears",
		"s > F6         next sort column; S <: previous; I: reverse",
		"r              sort by self or by total",
		"v              next value type",
		"c              cumulative, or last interval",
		"g F5           a row for each process, or one for all",
		"p Space        pause the display (the run continues)",
		"Up Down        scroll; also Page Up, Page Down, Home, End",
		"h ? F1         this help",
		"",
		"[k] Linux kernel, [j] JIT code, [G] device code",
	};
	size_t count = sizeof lines / sizeof *lines, page = screen->rows > 1 ? screen->rows - 1 : 0;
	size_t first_max = count > page ? count - page : 0;
	if (view->help_first > first_max)
		view->help_first = first_max;
	for (unsigned row = 0; row < page; row++)
		line_append_whole(text, screen, row,
				  view->help_first + row < count ? lines[view->help_first + row] : "");
	line_append_whole(text, screen, screen->rows - 1,
			  first_max ? "Up Down scroll; any other key returns" : "Press any key to return");
}

static unsigned head_lines(const struct screen *screen, const struct model *model)
{
	return screen->rows < ROWS_FOR_ALL ? 0 : HEAD_LINES + screen_meters_lines(screen, model);
}

size_t screen_page(const struct screen *screen, const struct model *model)
{
	unsigned others = screen->rows < ROWS_FOR_ALL ? 1 : head_lines(screen, model) + 2;
	return screen->rows > others ? screen->rows - others : 0;
}

/* Returns the items that the filter accepts, to be freed; NULL: out of memory. */
static const struct model_item **filter_items(const struct view *view, const struct model_item *items, size_t *count)
{
	const struct model_item **accepted = malloc((*count + 1) * sizeof *accepted);
	size_t kept = 0;
	for (size_t i = 0; accepted && i < *count; i++)
		if (view_accepts_item(view, &items[i]))
			accepted[kept++] = &items[i];
	*count = kept;
	return accepted;
}

static void append_table(struct text *text, const struct screen *screen, unsigned first_row, struct view *view,
			 const struct model *model, uint32_t type)
{
	size_t count = 0, page = screen_page(screen, model);
	const struct model_item *all = view_items(model, view->table, &count);
	const struct model_item **items = all ? filter_items(view, all, &count) : NULL;
	struct view_row *rows = all ? NULL : view_rows(view, model, view->table, type, &count);
	text->failed |= !items && !rows;
	view->first_max = count > page ? count - page : 0;
	if (view->first > view->first_max)
		view->first = view->first_max;
	for (size_t i = 0; i < page; i++) {
		unsigned row = first_row + (unsigned)i;
		if (items && view->first + i < count)
			append_item(text, screen, row, items[view->first + i]);
		else if (rows && view->first + i < count)
			screen_rows_append(text, screen, row, view, model, &rows[view->first + i]);
		else
			line_append_whole(text, screen, row,
					  i || count ? "" : "no rows match the filter (Esc clears it)");
	}
	free(items);
	free(rows);
}

/* The last line: the keys, or the filter. */
static void append_foot(struct text *text, const struct screen *screen, const struct view *view)
{
	struct line line = line_begin(text, screen, screen->rows - 1);
	if (view->typing || *view->filter) {
		text_append_string(text, BOLD);
		line_append(&line, "filter:");
		line_pad(&line, line.used + 1);
		line_append(&line, view->filter);
		text_append_string(text, PLAIN);
		if (view->typing && line.used < screen->columns) {
			text_append_string(text, REVERSE " " PLAIN);
			line.used++;
		}
		line_pad(&line, line.used + 2);
		line_append(&line, view->typing ? "Enter keep  Esc cancel" : "Esc clear  / edit  q quit  h help");
	} else {
		line_append(&line, screen->complete ? "end of recording  q quit  / filter  s sort  h help"
						    : "q quit  Tab table  / filter  s sort  v value  c span  g process"
						      "  p pause  h help");
	}
	line_end(&line);
}

void screen_append(struct text *text, const struct screen *screen, struct view *view, const struct model *model)
{
	uint32_t type = view_choose(view, model);
	bool has_all = screen->rows >= ROWS_FOR_ALL;
	unsigned heading = head_lines(screen, model);
	if (view->help) {
		append_help(text, screen, view);
		return;
	}
	/* With a single interval, both spans are the same. */
	struct view shown = *view;
	shown.of_run |= model->intervals < 2;
	if (has_all) {
		append_head(text, screen, &shown, model, type);
		screen_meters_append(text, screen, HEAD_LINES - 1, view, model);
		append_tabs(text, screen, heading - 1, &shown, model);
		append_foot(text, screen, view);
	}
	if (!view_has(view, model, view->table)) {
		for (unsigned row = heading; row < screen->rows - has_all; row++)
			line_append_whole(text, screen, row, row == heading ? "waiting for samples" : "");
		return;
	}
	screen_rows_append_heading(text, screen, heading, &shown, model, type);
	append_table(text, screen, heading + 1, &shown, model, type);
	view->first = shown.first;
	view->first_max = shown.first_max;
}
