/* SPDX-License-Identifier: Apache-2.0 */
/* See screen_meters.h. */
#include "screen_meters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "screen_line.h"
#include "text/quantity.h"

/* Lower windows have one line for all meters, or none. */
#define ROWS_FOR_BARS 16u
#define ROWS_FOR_ONE_LINE 12u
#define LABEL_COLUMNS_MAX 24u
#define BAR_COLUMNS_MAX 60u

/* Thresholds of colours, in percent. */
#define BUSY 60.0
#define FULL 90.0

static unsigned display_columns(const struct screen *screen, const char *words)
{
	struct text unused = { 0 };
	unsigned columns = columns_append(&unused, &screen->charset, words, LABEL_COLUMNS_MAX);
	text_free(&unused);
	return columns;
}

unsigned screen_meters_lines(const struct screen *screen, const struct model *model)
{
	unsigned most = screen->rows / 4;
	if (!model->meters.count || screen->rows < ROWS_FOR_ONE_LINE)
		return 0;
	return screen->rows < ROWS_FOR_BARS ? 1 : model->meters.count < most ? model->meters.count : most;
}

static const char *style_of(const struct screen *screen, double percent)
{
	if (!screen->colour)
		return percent >= FULL ? BOLD : "";
	return percent >= FULL ? RED : percent >= BUSY ? YELLOW : GREEN;
}

static void append_styled(struct line *line, const char *words, const char *style)
{
	text_append_string(line->text, style);
	line_append(line, words);
	text_append_string(line->text, *style ? PLAIN : "");
}

/* Appends "[||||      45.2%]", or "[            n/a]" if the utilization is unknown. */
static void append_bar(struct line *line, double percent, unsigned columns)
{
	struct quantity_text number = { "n/a" };
	char bars[BAR_COLUMNS_MAX + 1];
	unsigned begin = line->used, inside = columns > 2 ? columns - 2 : 0;
	if (!isnan(percent))
		number = quantity_fixed_share(percent, 100, 1, "%");
	unsigned size = (unsigned)strlen(number.text), room = inside > size ? inside - size : 0;
	unsigned length = isnan(percent) ? 0 : (unsigned)lround(percent * inside / 100);
	length = length < room ? length : room;
	memset(bars, '|', length);
	bars[length] = '\0';
	line_append(line, "[");
	append_styled(line, bars, style_of(line->screen, percent));
	line_pad(line, begin + 1 + room);
	append_styled(line, number.text, BOLD);
	line_pad(line, begin + 1 + inside);
	line_append(line, "]");
}

/* Appends the latest slots, the newest at the right; of a recording all, several in a column if there are many. */
static void append_history(struct line *line, const struct meters *meters, const struct meter *meter, unsigned columns)
{
	static const char *const blocks[] = { "\u2581", "\u2582", "\u2583", "\u2584",
					      "\u2585", "\u2586", "\u2587", "\u2588" };
	static const char *const letters[] = { "_", ".", "-", ":", "=", "+", "*", "#" };
	uint32_t slots = meters_slots(meters);
	uint32_t each = meters->recorded && columns ? (slots + columns - 1) / columns : 1;
	uint32_t shown = each ? slots / each : 0;
	shown = shown < columns ? shown : columns;
	unsigned begin = line->used;
	for (uint32_t i = 0; i < shown; i++) {
		uint32_t from = slots - (shown - i) * each;
		double percent = meter_slots_mean(meters, meter, from, from + each);
		line_pad(line, begin + columns - shown + i);
		if (isnan(percent))
			continue;
		long level = lround(percent * 7 / 100);
		append_styled(line, (line->screen->charset.utf8 ? blocks : letters)[level],
			      line->screen->colour ? style_of(line->screen, percent) : "");
	}
}

static double shown_percent(const struct view *view, const struct meters *meters, const struct meter *meter)
{
	return view->of_run ? meter_mean(meters, meter) : meter_now(meters, meter);
}

static void append_meter(struct text *text, const struct screen *screen, unsigned row, const struct view *view,
			 const struct meters *meters, const struct meter *meter, unsigned label_columns)
{
	struct line line = line_begin(text, screen, row);
	line_append_cut(&line, meter->label, label_columns);
	line_pad(&line, label_columns + 1);
	unsigned rest = screen->columns > line.used ? screen->columns - line.used : 0;
	unsigned bar = rest / 2 < BAR_COLUMNS_MAX ? rest / 2 : BAR_COLUMNS_MAX;
	append_bar(&line, shown_percent(view, meters, meter), bar);
	line_pad(&line, line.used + 1);
	append_history(&line, meters, meter, rest > bar + 1 ? rest - bar - 1 : 0);
	line_end(&line);
}

/* Appends "CPU 45.2%  NPU 3.0%". */
static void append_one_line(struct text *text, const struct screen *screen, unsigned row, const struct view *view,
			    const struct meters *meters)
{
	struct line line = line_begin(text, screen, row);
	for (unsigned i = 0; i < meters->count; i++) {
		const struct meter *meter = meters_at(meters, i);
		double percent = shown_percent(view, meters, meter);
		if (isnan(percent))
			continue;
		line_pad(&line, line.used ? line.used + 2 : 0);
		line_append_cut(&line, meter->label, LABEL_COLUMNS_MAX);
		line_pad(&line, line.used + 1);
		append_styled(&line, quantity_fixed_share(percent, 100, 1, "%").text, BOLD);
	}
	line_end(&line);
}

void screen_meters_append(struct text *text, const struct screen *screen, unsigned row, const struct view *view,
			  const struct model *model)
{
	const struct meters *meters = &model->meters;
	unsigned lines = screen_meters_lines(screen, model), label_columns = 3;
	unsigned most = screen->columns / 4 < LABEL_COLUMNS_MAX ? screen->columns / 4 : LABEL_COLUMNS_MAX;
	if (lines && screen->rows < ROWS_FOR_BARS) {
		append_one_line(text, screen, row, view, meters);
		return;
	}
	for (unsigned i = 0; i < lines; i++) {
		unsigned columns = display_columns(screen, meters_at(meters, i)->label);
		label_columns = columns > label_columns ? columns : label_columns;
	}
	label_columns = label_columns < most ? label_columns : most;
	for (unsigned i = 0; i < lines; i++)
		append_meter(text, screen, row + i, view, meters, meters_at(meters, i), label_columns);
}
