/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_form.h. */
#include <ctype.h>
#include "trace_columns.h"
#include "trace_form.h"

uint64_t trace_unit_find(struct text_span name)
{
	static const struct {
		const char *name;
		uint64_t unit;
	} units[] = {
		{ "ns", 1 },
		{ "nsecs", 1 },
		{ "nanoseconds", 1 },
		{ "us", 1000 },
		{ "usecs", 1000 },
		{ "microseconds", 1000 },
		{ "ms", 1000000 },
		{ "msecs", 1000000 },
		{ "milliseconds", 1000000 },
		{ "s", 1000000000 },
		{ "sec", 1000000000 },
		{ "secs", 1000000000 },
		{ "seconds", 1000000000 },
	};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (span_is(name, units[i].name))
			return units[i].unit;
	return 0;
}

static const char *unit_name(uint64_t unit)
{
	return unit == 1         ? "nanoseconds"
	       : unit == 1000    ? "microseconds"
	       : unit == 1000000 ? "milliseconds"
	       : unit            ? "seconds"
				 : "";
}

/* Returns the unit in a name such as "usecs", "latency_us" or "Latency (microseconds):", "" if there is none. */
static const char *unit_in(struct text_span text)
{
	for (size_t end = text.length, begin; end; end = begin) {
		while (end && !isalpha((unsigned char)text.text[end - 1]))
			end--;
		for (begin = end; begin && isalpha((unsigned char)text.text[begin - 1]);)
			begin--;
		uint64_t unit = end > begin ? trace_unit_find(span_part(text, begin, end)) : 0;
		if (unit)
			return unit_name(unit);
	}
	return "";
}

/* Takes the title of a histogram, "@usecs[ivpu_open]:", without the final colon. */
static void begin_histogram(struct trace_form *form, struct text_span title)
{
	struct text_span rest = title, map;
	size_t length = title.length < TRACE_NAME_SIZE_MAX ? title.length : TRACE_NAME_SIZE_MAX;
	for (size_t i = 0; i < length; i++)
		form->histogram[i] = isprint((unsigned char)title.text[i]) ? title.text[i] : '?';
	form->histogram[length] = '\0';
	form->histogram_unit = span_take_field(&rest, '[', &map) ? unit_in(map) : "";
	if (!*form->histogram_unit && form->title_unit)
		form->histogram_unit = form->title_unit;
	form->title_unit = NULL;
	form->histogram_prints++;
}

/* Parses "4", "4K" or "4M". */
static bool take_bound(struct text_span *text, uint64_t *number)
{
	static const char *const suffixes = "KMGTPE";
	if (!span_take_decimal(text, number))
		return false;
	const char *suffix = text->length && *text->text ? strchr(suffixes, *text->text) : NULL;
	if (!suffix)
		return true;
	*text = span_part(*text, 1, text->length);
	return !__builtin_mul_overflow(*number, UINT64_C(1) << 10 * (suffix - suffixes + 1), number);
}

/*
 * Parses "[4, 8)    12 |@@@     |" or "[1]  7 |@@@|", of hist(). Returns false if it is not a bucket. Buckets of
 * lhist() do not begin at powers of two: they are not imported.
 */
static bool take_bucket(const struct trace_form *form, struct text_span text, struct trace_line *line)
{
	uint64_t low, high = 0;
	bool is_negative = span_begins(text, "(...");
	if (text.length < 2 || text.text[text.length - 1] != '|' || !memchr(text.text, '|', text.length - 1))
		return false;
	if (is_negative) {
		trace_line_refuse(line, "negative values of a histogram");
		return true;
	}
	if (!span_take(&text, "[") || !take_bound(&text, &low))
		return false;
	bool is_single = !span_take(&text, ",");
	text = span_trim(text);
	if ((!is_single && !take_bound(&text, &high)) || (!span_take(&text, ")") && !span_take(&text, "]")))
		return false;
	text = span_trim(text);
	if (!span_take_decimal(&text, &line->count))
		return false;
	if (!form->histogram[0])
		trace_line_refuse(line, "a bucket without its histogram");
	else if ((is_single ? low > 1 : low & (low - 1) || low < 2 || high / 2 != low))
		trace_line_refuse(line, "a linear histogram");
	else {
		line->kind = TRACE_LINE_BUCKET;
		line->bucket = low > 1 ? (uint32_t)__builtin_ctzll(low) : 0;
	}
	return true;
}

/* What the published scripts print about calls in words of their own. */
static bool take_script_line(struct text_span text, struct trace_line *line)
{
	static const struct {
		const char *text, *function;
	} lines[] = {
		{ "[KERNEL] Submit ioctl", "ivpu_submit_ioctl" },
		{ "[FIRMWARE] IPC interrupt", "ivpu_ipc_irq_handler" },
	};
	const char *function = NULL;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (span_is(text, lines[i].text))
			function = lines[i].function;
	line->kind = TRACE_LINE_CALL;
	if (!function && span_take(&text, "Buffer allocation took ") && span_take_decimal(&text, &line->duration) &&
	    span_is(text, " us") && line->duration <= UINT64_MAX / 1000) {
		function = "ivpu_bo_create_ioctl";
		line->duration *= 1000;
		line->has_duration = true;
	} else if (!function && span_take(&text, "IPC messages/sec: ") && span_decimal(text, &line->count)) {
		/* The script counts calls, most of which are polls. */
		function = "ivpu_ipc_receive";
		line->kind = TRACE_LINE_COUNT;
		line->is_column = true;
	}
	return function && trace_line_set_name(line->name, span_of(function));
}

/* Text that contains no data: titles of scripts and headings of tools. */
static bool is_heading(struct text_span text)
{
	return span_is_comment(text) || span_is(text, "#") || span_begins(text, "Tracing ") ||
	       (span_begins(text, "==") && span_ends(text, "==")) || span_begins(text, "cpus=") ||
	       span_begins(text, "version = ") || (span_begins(text, "CPU ") && span_ends(text, " is empty")) ||
	       span_begins(text, "[API] ");
}

/* ftrace: "CPU:1 [LOST 12 EVENTS]"; trace-cmd: "CPU:1 [12 EVENTS DROPPED]", "CPU:1 [EVENTS DROPPED]". */
static bool take_lost(struct text_span text, struct trace_line *line)
{
	uint64_t cpu;
	if (!span_take(&text, "CPU:") || !span_take_decimal(&text, &cpu) || !span_take(&text, " ["))
		return false;
	if (span_take(&text, "LOST ") ? !span_take_decimal(&text, &line->count) || !span_is(text, " EVENTS]")
				      : !span_is(text, "EVENTS DROPPED]") && (!span_take_decimal(&text, &line->count) ||
									      !span_is(text, " EVENTS DROPPED]")))
		return false;
	line->kind = TRACE_LINE_LOST;
	line->count = line->count ? line->count : UINT64_MAX; /* not known */
	return true;
}

static bool take_title(struct trace_form *form, struct text_span text)
{
	if (!span_ends(text, ":"))
		return false;
	if (span_begins(text, "@")) {
		begin_histogram(form, span_part(text, 1, text.length - 1));
		return true;
	}
	/* "Buffer Allocation Latency (microseconds):", but not the beginning of a torn line. */
	if (!isupper((unsigned char)*text.text) || !memchr(text.text, ' ', text.length))
		return false;
	form->title_unit = unit_in(text);
	return true;
}

/* Returns whether the line has a form that bpftrace does not write by itself. */
static bool take_other_form(struct trace_form *form, struct text_span whole, struct trace_line *line)
{
	struct text_span text = span_trim(whole);
	if (is_heading(text) || take_title(form, text) || trace_columns_take_heading(form, text)) {
		line->kind = TRACE_LINE_NOTHING;
		return true;
	}
	if (take_bucket(form, text, line) || take_lost(text, line) || take_script_line(text, line) ||
	    trace_task_parse(&form->tasks, text, line) || trace_graph_parse(&form->tasks, whole, line) ||
	    (form->column_count && trace_columns_parse(form, text, line)))
		return true;
	/* Columns that do not fit leave nothing behind. */
	*line = (struct trace_line){ .kind = TRACE_LINE_NOTHING };
	return trace_words_parse(whole, line);
}

void trace_form_parse(struct trace_form *form, const char *bytes, size_t size, struct trace_line *line)
{
	*line = (struct trace_line){ .kind = TRACE_LINE_NOTHING };
	if (size > TRACE_LINE_SIZE_MAX) {
		trace_line_refuse(line, "too long");
		return;
	}
	struct text_span whole = { bytes, size - (size && bytes[size - 1] == '\r') };
	/* The byte order mark of editors on Windows. */
	if (span_take(&whole, "\xef\xbb\xbf")) {
		bytes += 3;
		size -= 3;
	}
	if (!span_trim(whole).length || memchr(bytes, '\0', size))
		return;
	if (!take_other_form(form, whole, line))
		trace_line_parse(bytes, size, line);
	if (!line->lane)
		line->lane = line->pid;
}
