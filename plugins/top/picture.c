/* SPDX-License-Identifier: Apache-2.0 */
/* What is on the screen: see picture.h. */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "amounts.h"
#include "wording.h"

/* Windows of fewer rows have the table alone, without what is above and below it. */
#define ROWS_FOR_ALL 9u
/* Lines above the table's heading. */
#define HEAD_LINES 4u
/* Narrower ones have one number in a row. */
#define COLUMNS_FOR_NUMBERS 50u

/* Shares of what is hot, and of what can be told from noise, as perf top colours them. */
#define HOT 5.0
#define WARM 0.5

/* SGR */
#define PLAIN "\033[0m"
#define BOLD "\033[1m"
#define REVERSE "\033[7m"
#define RED "\033[31m"
#define GREEN "\033[32m"

/* A line that is being written. */
struct line {
	struct text *text;
	const struct picture *picture;
	unsigned used; /* columns */
};

static struct line line_begin(struct text *text, const struct picture *picture, unsigned row)
{
	text_append_format(text, "\033[%u;1H", row + 1);
	return (struct line){ .text = text, .picture = picture };
}

static void line_append(struct line *line, const char *words)
{
	line->used += columns_append(line->text, &line->picture->charset, words, line->picture->columns - line->used);
}

/* The same for a text without a NUL, which is freed. */
static void line_take(struct line *line, struct text *words)
{
	text_append(words, "", 1);
	if (!words->failed)
		line_append(line, words->data);
	line->text->failed |= words->failed;
	text_free(words);
}

/* Blanks up to a column. */
static void line_pad(struct line *line, unsigned column)
{
	for (; line->used < column && line->used < line->picture->columns; line->used++)
		text_append(line->text, " ", 1);
}

/* A line that is full has nothing to erase behind it, and some terminals would erase its last column. */
static void line_end(struct line *line)
{
	if (line->used < line->picture->columns)
		text_append_string(line->text, "\033[K");
}

static void append_clock(struct line *line, const struct model *model)
{
	char words[32];
	time_t now = (time_t)(model->end_realtime / 1000000000u);
	struct tm local;
	if (localtime_r(&now, &local) && strftime(words, sizeof words, "%H:%M:%S, ", &local))
		line_append(line, words);
	line_pad(line, line->used + 1);
}

static void append_head(struct text *text, const struct picture *picture, const struct view *view,
			const struct model *model, uint32_t type)
{
	struct text words = { 0 };
	struct line line = line_begin(text, picture, 0);
	text_append_string(text, BOLD);
	line_append(&line, view->paused ? "iaprof top, PAUSED" : "iaprof top");
	text_append_string(text, PLAIN);
	line_pad(&line, line.used + 1);
	line_append(&line, "-");
	line_pad(&line, line.used + 1);
	append_clock(&line, model);
	wording_append_time(&words, model, picture->recorded);
	line_take(&line, &words);
	line_end(&line);

	line = line_begin(text, picture, 1);
	wording_append_rates(&words, model, type);
	line_take(&line, &words);
	line_end(&line);

	line = line_begin(text, picture, 2);
	if (wording_has_losses(model))
		text_append_string(text, picture->colour ? RED : BOLD);
	text_append_string(&words, "lost: ");
	wording_append_losses(&words, model);
	line_take(&line, &words);
	text_append_string(text, PLAIN);
	line_end(&line);
}

/* The tables that have something in them. */
static void append_tabs(struct text *text, const struct picture *picture, const struct view *view,
			const struct model *model)
{
	struct line line = line_begin(text, picture, 3);
	for (int i = 0; i < TABLE_COUNT; i++) {
		enum model_table table = (enum model_table)i;
		bool is_shown = table == view->table;
		char words[32];
		if (!is_shown && view_type_of(view, model, table) == VIEW_TYPE_NONE)
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

static bool has_numbers(const struct picture *picture)
{
	return picture->columns >= COLUMNS_FOR_NUMBERS;
}

static void append_heading(struct text *text, const struct picture *picture, unsigned row, const struct view *view,
			   const struct model *model, uint32_t type)
{
	struct line line = line_begin(text, picture, row);
	struct text words = { 0 };
	text_append_string(text, REVERSE);
	line_pad(&line, 2);
	line_append(&line, "SELF%");
	if (has_numbers(picture)) {
		if (table_has_total(view->table)) {
			line_pad(&line, 9);
			line_append(&line, "TOTAL%");
		}
		line_pad(&line, line.used + 6);
		line_append(&line, "SELF");
	}
	line_pad(&line, line.used + 2);
	if (has_numbers(picture)) {
		unsigned column = line.used + (unsigned)strlen(table_first_heading(view->table));
		line_append(&line, table_first_heading(view->table));
		line_pad(&line, column);
	}
	line_append(&line, table_headings[view->table]);
	/* At the right, when there is room. */
	wording_append_view(&words, model, view, view->table, type);
	if (!words.failed && line.used + 2 + words.size <= picture->columns)
		line_pad(&line, picture->columns - (unsigned)words.size);
	else
		line_pad(&line, line.used + 2);
	line_take(&line, &words);
	line_pad(&line, picture->columns);
	text_append_string(text, PLAIN);
	line_end(&line);
}

static void append_share(struct line *line, double percent)
{
	char words[16];
	snprintf(words, sizeof words, "%6.2f%%", percent);
	const char *style = percent >= HOT                             ? (line->picture->colour ? RED : BOLD)
			    : percent >= WARM && line->picture->colour ? GREEN
								       : "";
	while (words[0] == ' ' && words[1] == ' ') {
		line_pad(line, line->used + 1);
		memmove(words, words + 1, strlen(words));
	}
	if (words[0] == ' ')
		line_pad(line, line->used + 1);
	text_append_string(line->text, style);
	line_append(line, words[0] == ' ' ? words + 1 : words);
	text_append_string(line->text, *style ? PLAIN : "");
}

static void append_row(struct text *text, const struct picture *picture, unsigned screen_row, const struct view *view,
		       const struct model *model, const struct row *row)
{
	struct line line = line_begin(text, picture, screen_row);
	struct sums sums = row_sums(row, view->of_run, model->intervals);
	const struct model_type *type = &model->types[row->type];
	uint64_t whole = view->of_run ? type->run : type->last;
	struct text words = { 0 };
	append_share(&line, amount_percent(sums.self, whole));
	if (has_numbers(picture)) {
		char amount[AMOUNT_SIZE];
		if (table_has_total(view->table)) {
			line_pad(&line, line.used + 1);
			append_share(&line, amount_percent(sums.total, whole));
		}
		amount_format(amount, (double)sums.self, type->unit);
		line_pad(&line, line.used + 10 - (unsigned)strlen(amount));
		line_append(&line, amount);
	}
	line_pad(&line, line.used + 2);
	wording_append_row(&words, model, view->table, row, 16 * (size_t)picture->columns, !has_numbers(picture));
	line_take(&line, &words);
	line_end(&line);
}

static void append_words(struct text *text, const struct picture *picture, unsigned row, const char *words)
{
	struct line line = line_begin(text, picture, row);
	line_append(&line, words);
	line_end(&line);
}

static void append_help(struct text *text, const struct picture *picture)
{
	static const char *const lines[] = {
		"iaprof top: what is hottest, as it happens",
		"",
		"q              end the run; what it came to is printed after the screen is gone",
		"Tab s Right    the next table; Left: the one before",
		"v              another value type",
		"r              order by self (the function runs) or total (it is in the stack)",
		"c              sums since the start, or of the last interval",
		"p              pause: the picture stays, the run goes on",
		"Up Down        scroll; Page Up, Page Down, Home, End too",
		"h ?            this help",
		"",
		"[k] Linux kernel, [j] code made at run time, [G] code of a GPU",
		"",
		"any key goes back",
	};
	for (unsigned row = 0; row < picture->rows; row++)
		append_words(text, picture, row, row < sizeof lines / sizeof *lines ? lines[row] : "");
}

size_t picture_page(const struct picture *picture)
{
	unsigned others = picture->rows < ROWS_FOR_ALL ? 1 : HEAD_LINES + 2;
	return picture->rows > others ? picture->rows - others : 0;
}

static void append_table(struct text *text, const struct picture *picture, unsigned first_row, struct view *view,
			 const struct model *model, uint32_t type)
{
	size_t count = 0, page = picture_page(picture);
	uint32_t *positions = view_sort(view, model, view->table, type, &count);
	text->failed |= !positions;
	view->first_max = count > page ? count - page : 0;
	if (view->first > view->first_max)
		view->first = view->first_max;
	for (size_t i = 0; i < page; i++) {
		unsigned row = first_row + (unsigned)i;
		if (positions && view->first + i < count)
			append_row(text, picture, row, view, model,
				   &model->tables[view->table].rows[positions[view->first + i]]);
		else
			append_words(text, picture, row, "");
	}
	free(positions);
}

void picture_append(struct text *text, const struct picture *picture, struct view *view, const struct model *model)
{
	uint32_t type = view_choose(view, model);
	bool has_all = picture->rows >= ROWS_FOR_ALL;
	unsigned heading = has_all ? HEAD_LINES : 0;
	if (view->help) {
		append_help(text, picture);
		return;
	}
	/* Of one interval there is no other span. */
	struct view shown = *view;
	shown.of_run |= model->intervals < 2;
	if (has_all) {
		append_head(text, picture, &shown, model, type);
		append_tabs(text, picture, &shown, model);
		append_words(text, picture, picture->rows - 1,
			     picture->complete ? "this is all of the recording; q quits, h helps"
					       : "q quit  Tab table  v value  r order  c span  p pause  "
						 "Up/Down scroll  h help");
	}
	if (type == VIEW_TYPE_NONE) {
		for (unsigned row = heading; row < picture->rows - has_all; row++)
			append_words(text, picture, row, row == heading ? "waiting for the first values" : "");
		return;
	}
	append_heading(text, picture, heading, &shown, model, type);
	append_table(text, picture, heading + 1, &shown, model, type);
	view->first = shown.first;
	view->first_max = shown.first_max;
}
