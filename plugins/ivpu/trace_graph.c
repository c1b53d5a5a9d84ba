/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of function_graph: see trace_task.h. */
#include <string.h>
#include "trace_graph.h"
#include "trace_task.h"

/* Columns before the outermost call, and of each level below it. */
#define INDENT 2

/* Parses "1.234 us", optionally after a mark for a long duration, such as "+" or "$". */
static bool take_duration(struct text_span text, struct trace_line *line)
{
	text = span_trim(text);
	while (text.length && strchr("+!#*@$", *text.text))
		text = span_part(text, 1, text.length);
	text = span_trim(text);
	if (!span_ends(text, " us"))
		return false;
	/* span_seconds() has nine digits after the point, and the tracer writes at most three: us become ns. */
	if (!span_seconds(span_trim(span_part(text, 0, text.length - 3)), &line->duration))
		return false;
	line->duration /= 1000000;
	line->has_duration = true;
	return true;
}

/* The comment may contain the function's result or name. */
static struct text_span without_comment(struct text_span text)
{
	const char *begin = text.length ? memmem(text.text, text.length, "/*", 2) : NULL;
	return span_trim(begin ? span_part(text, 0, (size_t)(begin - text.text)) : text);
}

static void set_call(struct text_span body, struct trace_line *line)
{
	const char *open = memchr(body.text, '(', body.length);
	bool is_leaf = span_ends(body, ";");
	if (!open || (!is_leaf && !span_ends(body, "{")) ||
	    !trace_task_set_function(line, span_part(body, 0, (size_t)(open - body.text)))) {
		trace_line_refuse(line, "not a call of function_graph");
		return;
	}
	line->has_duration &= is_leaf;
}

void trace_graph_set_body(struct text_span text, struct trace_line *line)
{
	const char *bar = memrchr(text.text, '|', text.length);
	if (!bar) {
		trace_line_refuse(line, "not a call of function_graph");
		return;
	}
	size_t at = (size_t)(bar - text.text);
	take_duration(span_part(text, 0, at), line);
	text = span_part(text, at + 1, text.length);
	size_t indent = 0;
	while (indent < text.length && text.text[indent] == ' ')
		indent++;
	line->has_depth = indent >= INDENT;
	line->depth = indent >= INDENT ? (uint32_t)(indent - INDENT) / INDENT : 0;
	text = without_comment(text);
	if (span_is(text, "}"))
		line->kind = TRACE_LINE_RETURN;
	else if (!text.length) /* a comment only */
		line->kind = TRACE_LINE_NOTHING;
	else
		set_call(text, line);
}

/* Parses " 1)  player-123  =>  <idle>-0", the CPU's next task. */
static bool take_switch(struct trace_tasks *tasks, struct text_span text, uint64_t cpu, struct trace_line *line)
{
	const char *arrow = memmem(text.text, text.length, "=>", 2);
	if (!arrow || !trace_task_take_name(span_part(text, (size_t)(arrow - text.text) + 2, text.length), line))
		return false;
	tasks->cpus[cpu].pid = line->pid;
	memcpy(tasks->cpus[cpu].comm, line->comm, sizeof line->comm);
	line->kind = TRACE_LINE_NOTHING;
	return true;
}

/* Parses what the options funcgraph-abstime and funcgraph-proc add before the duration. */
static void take_fields(struct text_span text, struct trace_line *line)
{
	struct text_span field;
	while (span_take_field(&text, '|', &field)) {
		field = span_trim(field);
		struct text_span number = field;
		uint64_t cpu;
		if (span_take_decimal(&number, &cpu) && span_take(&number, ")"))
			field = span_trim(number);
		if (!field.length || span_ends(field, " us"))
			continue;
		if (is_digit(*field.text) && memchr(field.text, '.', field.length) &&
		    span_seconds(field, &line->time)) {
			line->time_kind = TRACE_TIME_SECONDS;
			line->is_unit_known = true;
		} else {
			trace_task_take_name(field, line);
		}
	}
}

/* Finds "12)", the CPU. */
static bool find_cpu(struct text_span text, uint64_t *cpu, size_t *end)
{
	const char *close = text.length ? memchr(text.text, ')', text.length) : NULL;
	size_t at = close ? (size_t)(close - text.text) : 0, begin = at;
	while (begin && is_digit(text.text[begin - 1]))
		begin--;
	*end = at + 1;
	return close && span_decimal(span_part(text, begin, at), cpu) && *cpu < TRACE_CPUS_MAX &&
	       (!begin || is_blank(text.text[begin - 1]) || text.text[begin - 1] == '|');
}

/* Parses "  2.000 us    |    ivpu_open();", which the option nofuncgraph-cpu leaves. */
static bool parse_without_cpu(struct text_span text, struct trace_line *line)
{
	const char *bar = text.length ? memchr(text.text, '|', text.length) : NULL;
	size_t at = bar ? (size_t)(bar - text.text) : 0;
	struct text_span before = span_trim(span_part(text, 0, at)),
			 body = without_comment(span_part(text, at + (bar != NULL), text.length));
	if (!bar || text.length < at + 3 || !is_blank(text.text[at + 1]) ||
	    (before.length && !span_ends(before, " us")) ||
	    (!span_is(body, "}") && !span_ends(body, "{") && !span_ends(body, ");")))
		return false;
	line->lane = 1u << 31;
	trace_graph_set_body(text, line);
	return true;
}

bool trace_graph_parse(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	uint64_t cpu;
	size_t end;
	struct text_span trimmed = span_trim(text);
	/* " ------------------------------------------" around a switch */
	if (span_begins(trimmed, "----") && trimmed.text[trimmed.length - 1] == '-') {
		line->kind = TRACE_LINE_NOTHING;
		return true;
	}
	if (!find_cpu(text, &cpu, &end))
		return parse_without_cpu(text, line);
	const char *bar = memrchr(text.text, '|', text.length);
	if (!bar)
		return take_switch(tasks, span_part(text, end, text.length), cpu, line);
	size_t at = (size_t)(bar - text.text);
	if (at < end)
		return false;
	/* Marks of interrupts: "==========>" and "<==========". */
	if (memmem(text.text, at, "=====", 5)) {
		line->kind = TRACE_LINE_NOTHING;
		return true;
	}
	line->pid = tasks->cpus[cpu].pid;
	memcpy(line->comm, tasks->cpus[cpu].comm, sizeof line->comm);
	take_fields(span_part(text, 0, at), line);
	line->lane = line->pid ? line->pid : (uint32_t)cpu | 1u << 31;
	/* The duration follows the last but one bar, or the CPU. */
	const char *before = memrchr(text.text, '|', at);
	size_t begin = before ? (size_t)(before - text.text) + 1 : 0;
	trace_graph_set_body(span_part(text, begin > end ? begin : end, text.length), line);
	return true;
}
