/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that begin with a task: see trace_task.h. */
#include <string.h>
#include "trace_events.h"
#include "trace_graph.h"
#include "trace_task.h"

/* Parses "COMM-PID" (ftrace, trace-cmd), or "COMM PID" and "COMM PID/TID" (perf). */
bool trace_task_take_name(struct text_span text, struct trace_line *line)
{
	text = span_trim(text);
	size_t begin = text.length;
	while (begin && (is_digit(text.text[begin - 1]) || text.text[begin - 1] == '/'))
		begin--;
	/* A worker's name has a slash: only digits on both sides of it are numbers. */
	struct text_span rest = span_part(text, begin, text.length), number;
	if (!begin || !span_take_field(&rest, '/', &number) ||
	    (text.text[begin - 1] != '-' && !is_blank(text.text[begin - 1])) || !trace_line_set_pid(line, number))
		return false;
	trace_line_set_comm(line, span_part(text, 0, begin - 1));
	return true;
}

/* Removes "  (  1234)" or "(-----)", the thread group that the option record-tgid adds. */
static struct text_span without_group(struct text_span text)
{
	text = span_trim(text);
	const char *begin =
		text.length && text.text[text.length - 1] == ')' ? memrchr(text.text, '(', text.length) : NULL;
	return begin ? span_part(text, 0, (size_t)(begin - text.text)) : text;
}

/* Parses "123.456789:". */
static bool take_task_time(struct text_span word, struct trace_line *line)
{
	if (!word.length || word.text[word.length - 1] != ':' || !memchr(word.text, '.', word.length) ||
	    !is_digit(*word.text) || !span_seconds(span_part(word, 0, word.length - 1), &line->time))
		return false;
	line->time_kind = TRACE_TIME_SECONDS;
	line->is_unit_known = true;
	return true;
}

/* Parses "[001] d..1.  123.456789:"; the flags are optional. */
static bool take_cpu_and_time(struct text_span *text, struct trace_line *line)
{
	uint64_t cpu;
	struct text_span rest = *text;
	if (!span_take(&rest, "[") || !span_take_decimal(&rest, &cpu) || !span_take(&rest, "]") || cpu > UINT32_MAX)
		return false;
	struct text_span word = span_take_word(&rest);
	if (!take_task_time(word, line) && !take_task_time(span_take_word(&rest), line))
		return false;
	line->lane = (uint32_t)cpu;
	*text = rest;
	return true;
}

/* Removes " [intel_vpu]" at the end. */
static struct text_span without_module(struct text_span name)
{
	const char *begin =
		name.length && name.text[name.length - 1] == ']' ? memrchr(name.text, '[', name.length) : NULL;
	return begin ? span_trim(span_part(name, 0, (size_t)(begin - name.text))) : name;
}

/* Removes "+0x4/0x90", which the option sym-offset adds. */
static struct text_span without_offset(struct text_span name)
{
	const char *plus = name.length ? memmem(name.text, name.length, "+0x", 3) : NULL;
	return plus ? span_part(name, 0, (size_t)(plus - name.text)) : name;
}

bool trace_task_set_function(struct trace_line *line, struct text_span name)
{
	name = without_offset(without_module(span_trim(name)));
	line->kind = TRACE_LINE_OTHER;
	if (!trace_line_set_name(line->name, name))
		return false;
	if (span_begins(name, "ivpu_"))
		line->kind = TRACE_LINE_CALL;
	return true;
}

/* Parses "NAME <-CALLER" or, of trace-cmd, "NAME <-- CALLER". */
static bool parse_function(struct text_span text, struct trace_line *line)
{
	const char *arrow = memmem(text.text, text.length, "<-", 2);
	if (!arrow)
		return false;
	size_t at = (size_t)(arrow - text.text), end = at + 2;
	if (end < text.length && text.text[end] == '-')
		end++;
	struct text_span caller = without_offset(without_module(span_trim(span_part(text, end, text.length))));
	if (!trace_task_set_function(line, span_part(text, 0, at)))
		return false;
	if (!trace_line_set_name(line->caller, caller))
		line->caller[0] = '\0';
	return true;
}

/* Columns before an outermost function in trace-cmd report, and of each level below it. */
#define REPORT_COLUMNS 13u
#define REPORT_INDENT 3u

/* Parses "            NAME", "               NAME" of trace-cmd, whose indent is the depth below its caller. */
static bool parse_indented(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	size_t indent = 0;
	while (indent < text.length && text.text[indent] == ' ')
		indent++;
	size_t depth = indent > REPORT_COLUMNS ? (indent - REPORT_COLUMNS) / REPORT_INDENT : 0;
	if (!trace_task_set_function(line, text))
		return false;
	if (depth >= TRACE_CALLERS_MAX)
		return true;
	if (depth)
		memcpy(line->caller, tasks->callers[depth - 1], sizeof line->caller);
	memcpy(tasks->callers[depth], line->name, sizeof line->name);
	return true;
}

static void parse_what(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	text = span_trim(text);
	struct text_span arguments = text;
	if (span_take(&arguments, "funcgraph_entry:") || span_take(&arguments, "funcgraph_exit:")) {
		trace_graph_set_body(arguments, line);
		return;
	}
	if (!span_take(&arguments, "function:") && !span_take(&arguments, "ftrace:function:"))
		arguments = text;
	if (parse_function(arguments, line))
		return;
	if (arguments.text != text.text && parse_indented(tasks, arguments, line))
		return;
	if (!trace_event_parse(text, line))
		line->kind = TRACE_LINE_OTHER;
}

/* Parses "COMM PID 123.456789: SYSTEM:EVENT: ...", as perf script writes it without CPUs. */
static bool parse_without_cpu(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	struct text_span rest = text, word;
	while ((word = span_take_word(&rest)).length) {
		size_t before = (size_t)(word.text - text.text);
		struct text_span event = span_trim(rest), system = event;
		if (!before || !take_task_time(word, line))
			continue;
		if (!trace_task_take_name(span_part(text, 0, before), line) ||
		    (!span_take(&system, "vpu:") && !span_take(&system, "gpu_scheduler:") &&
		     !span_take(&system, "probe:")))
			break;
		line->lane = line->pid;
		parse_what(tasks, event, line);
		return true;
	}
	*line = (struct trace_line){ .kind = TRACE_LINE_NOTHING };
	return false;
}

bool trace_task_parse(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	for (size_t i = 1; i + 1 < text.length; i++) {
		if (text.text[i] != '[' || !is_blank(text.text[i - 1]))
			continue;
		struct text_span rest = span_part(text, i, text.length);
		if (!take_cpu_and_time(&rest, line))
			continue;
		if (!trace_task_take_name(without_group(span_part(text, 0, i)), line))
			return false;
		/* A task has one stack of calls, on any CPU; each CPU has an idle task with pid 0. */
		line->lane = line->pid ? line->pid : line->lane | 1u << 31;
		parse_what(tasks, rest, line);
		return true;
	}
	return parse_without_cpu(tasks, text, line);
}
