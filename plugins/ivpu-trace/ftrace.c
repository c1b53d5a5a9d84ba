/* SPDX-License-Identifier: Apache-2.0 */
/* See ftrace.h. The print formats of events are those of Linux 6.13 to 7.2 (events/SYSTEM/EVENT/format). */
#include <string.h>
#include "ftrace.h"

/* Parses "COMM-PID" (ftrace, trace-cmd), or "COMM PID" and "COMM PID/TID" (perf). */
static bool task_take_name(struct text_span text, struct trace_line *line)
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

/*
 * Returns the text without brackets at its end: "(  1234)" or "(-----)", the thread group that the option record-tgid
 * adds, or "[intel_vpu]".
 */
static struct text_span without_brackets(struct text_span text, char open, char close)
{
	text = span_trim(text);
	const char *begin =
		text.length && text.text[text.length - 1] == close ? memrchr(text.text, open, text.length) : NULL;
	return begin ? span_trim(span_part(text, 0, (size_t)(begin - text.text))) : text;
}

/* Returns the text before a mark, or the whole text. */
static struct text_span text_before(struct text_span text, const char *mark)
{
	const char *begin = text.length ? memmem(text.text, text.length, mark, strlen(mark)) : NULL;
	return begin ? span_part(text, 0, (size_t)(begin - text.text)) : text;
}

/* Removes the module, and "+0x4/0x90", which the option sym-offset adds. */
static struct text_span function_name(struct text_span name)
{
	return text_before(without_brackets(name, '[', ']'), "+0x");
}

/* Parses "123.456789:". */
static bool task_time_parse(struct text_span word, struct trace_line *line)
{
	if (!word.length || word.text[word.length - 1] != ':' || !memchr(word.text, '.', word.length) ||
	    !is_digit(*word.text) || !span_seconds(span_part(word, 0, word.length - 1), &line->time))
		return false;
	line->time_kind = TRACE_TIME_SECONDS;
	line->is_unit_known = true;
	return true;
}

/* Parses "[001] d..1.  123.456789:"; the flags are optional. */
static bool cpu_and_time_parse(struct text_span *text, struct trace_line *line)
{
	uint64_t cpu;
	struct text_span rest = *text;
	if (!span_take(&rest, "[") || !span_take_decimal(&rest, &cpu) || !span_take(&rest, "]") || cpu > UINT32_MAX)
		return false;
	struct text_span word = span_take_word(&rest);
	if (!task_time_parse(word, line) && !task_time_parse(span_take_word(&rest), line))
		return false;
	line->lane = (uint32_t)cpu;
	*text = rest;
	return true;
}

static bool function_set(struct trace_line *line, struct text_span name)
{
	name = function_name(name);
	line->kind = TRACE_LINE_OTHER;
	if (!trace_line_set_name(line->name, name))
		return false;
	if (span_begins(name, "ivpu_"))
		line->kind = TRACE_LINE_CALL;
	return true;
}

/* Columns before the outermost call, and of each level below it. */
#define INDENT 2

/* Parses "1.234 us", optionally after a mark for a long duration, such as "+" or "$". */
static bool duration_parse(struct text_span text, struct trace_line *line)
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

/*
 * Returns the call without what options add: a comment with the function's result, its name or its caller, and in
 * trace-cmd report the depth " (2)" or the result " (ret=0x0)". Sets opens if calls below it follow: "ivpu_open() {".
 */
static struct text_span graph_call(struct text_span text, bool *opens)
{
	struct text_span rest = text;
	const char *end = text.length ? memmem(text.text, text.length, "*/", 2) : NULL;
	text = span_trim(text_before(text, "/*"));
	*opens = false;
	if (end) {
		rest = span_trim(span_part(rest, (size_t)(end - rest.text) + 2, rest.length));
		*opens = span_begins(rest, "{");
	}
	for (;;) {
		const char *group = span_ends(text, ")") ? memrchr(text.text, '(', text.length) : NULL;
		size_t at = group ? (size_t)(group - text.text) : 0;
		if (span_ends(text, "{")) {
			*opens = true;
			text.length--;
		} else if (at && is_blank(text.text[at - 1])) {
			text.length = at;
		} else {
			return text;
		}
		text = span_trim(text);
	}
}

static void graph_call_parse(struct text_span body, bool opens, struct trace_line *line)
{
	const char *open = memchr(body.text, '(', body.length);
	bool is_leaf = span_ends(body, ";");
	if (!open || (!is_leaf && !opens) || !function_set(line, span_part(body, 0, (size_t)(open - body.text)))) {
		trace_line_refuse(line, "not a call of function_graph");
		return;
	}
	line->has_duration &= is_leaf;
}

static void graph_body_parse(struct text_span text, struct trace_line *line)
{
	const char *bar = memrchr(text.text, '|', text.length);
	if (!bar) {
		trace_line_refuse(line, "not a call of function_graph");
		return;
	}
	size_t at = (size_t)(bar - text.text);
	duration_parse(span_part(text, 0, at), line);
	text = span_part(text, at + 1, text.length);
	size_t indent = 0;
	while (indent < text.length && text.text[indent] == ' ')
		indent++;
	line->has_depth = indent >= INDENT;
	line->depth = indent >= INDENT ? (uint32_t)(indent - INDENT) / INDENT : 0;
	bool opens;
	text = graph_call(text, &opens);
	if (span_is(text, "}"))
		line->kind = TRACE_LINE_RETURN;
	else if (!text.length) /* a comment only */
		line->kind = TRACE_LINE_NOTHING;
	else
		graph_call_parse(text, opens, line);
}

/* Finds "KEY123" in the fields of an event, and the text after KEY up to the next blank or comma. */
static bool field_find(struct text_span fields, const char *key, struct text_span *value)
{
	const char *at = fields.length ? memmem(fields.text, fields.length, key, strlen(key)) : NULL;
	if (!at)
		return false;
	*value = span_part(fields, (size_t)(at - fields.text) + strlen(key), fields.length);
	size_t length = 0;
	while (length < value->length && !is_blank(value->text[length]) && value->text[length] != ',')
		length++;
	value->length = length;
	return true;
}

static bool number_find(struct text_span fields, const char *key, uint64_t *number)
{
	struct text_span value;
	return field_find(fields, key, &value) && span_decimal(value, number);
}

/* perf cannot read the strings of vpu's events, and prints their addresses. */
static bool address_begins(struct text_span fields)
{
	uint64_t address;
	return span_hexadecimal(span_take_word(&fields), &address);
}

static bool job_event_parse(struct text_span fields, struct trace_line *line)
{
	static const struct {
		const char *name;
		enum trace_job_event event;
	} events[] = { { "create ", TRACE_JOB_CREATE },
		       { "submit ", TRACE_JOB_SUBMIT },
		       { "done ", TRACE_JOB_DONE },
		       { "abort", TRACE_JOB_ABORT } };
	uint64_t context, engine, job;
	if (!number_find(fields, "context:", &context) || !number_find(fields, "engine:", &engine) ||
	    !number_find(fields, "job:", &job))
		return false;
	size_t i = 0;
	while (i < sizeof events / sizeof *events && !span_begins(fields, events[i].name))
		i++;
	if (i == sizeof events / sizeof *events && !address_begins(fields))
		return false;
	line->kind = TRACE_LINE_JOB;
	line->job.event = i < sizeof events / sizeof *events ? events[i].event : TRACE_JOB_UNNAMED;
	line->job.context = (uint32_t)context;
	line->job.engine = (uint32_t)engine;
	line->job.number = job;
	return true;
}

static bool message_parse(struct text_span fields, struct trace_line *line)
{
	struct text_span type;
	line->is_sent = span_begins(fields, "[tx]");
	if ((!line->is_sent && !span_begins(fields, "[rx]")) || !field_find(fields, "type:", &type) ||
	    !trace_line_set_name(line->name, type))
		return false;
	line->kind = TRACE_LINE_MESSAGE;
	return true;
}

static bool power_parse(struct text_span fields, struct trace_line *line)
{
	if (!fields.length || fields.length > TRACE_NAME_SIZE_MAX || address_begins(fields) ||
	    memchr(fields.text, '\0', fields.length))
		return false;
	line->kind = TRACE_LINE_POWER;
	memcpy(line->name, fields.text, fields.length);
	line->name[fields.length] = '\0';
	return true;
}

/* Parses "123:456" as one number: a fence's context and sequence number. */
static bool fence_parse(struct text_span fields, const char *key, struct trace_line *line)
{
	struct text_span value, context;
	uint64_t first, second;
	if (!field_find(fields, key, &value) || !span_take_field(&value, ':', &context) ||
	    !span_decimal(context, &first) || !span_decimal(value, &second))
		return false;
	line->job.context = (uint32_t)first;
	line->job.number = first << 32 ^ second;
	return true;
}

/* Until Linux 6.16: drm_sched_job, drm_run_job and drm_sched_process_job, with a fence's address. */
static bool old_fence_parse(struct text_span fields, struct trace_line *line)
{
	struct text_span value;
	if (!field_find(fields, "fence=", &value) && !field_find(fields, "fence ", &value))
		return false;
	span_take(&value, "0x");
	return span_hexadecimal(value, &line->job.number);
}

static bool scheduled_job_parse(struct text_span fields, enum trace_job_event event, struct trace_line *line)
{
	struct text_span device;
	if (field_find(fields, "dev=", &device) && device.length <= TRACE_DEVICE_SIZE_MAX)
		memcpy(line->job.device, device.text, device.length); /* the line is zeroed */
	line->kind = TRACE_LINE_JOB;
	line->job.event = event;
	return fence_parse(fields, "fence=", line) || fence_parse(fields, "fence:", line) ||
	       old_fence_parse(fields, line);
}

/* A kprobe event: "p_ivpu_open_0: (ivpu_open+0x0/0x90 [intel_vpu])"; a return has "<-". */
static bool probe_parse(struct text_span fields, struct trace_line *line)
{
	const char *plus = fields.length ? memchr(fields.text, '+', fields.length) : NULL;
	if (!span_take(&fields, "(") || !plus)
		return false;
	if (memmem(fields.text, fields.length, " <- ", 4)) {
		line->kind = TRACE_LINE_NOTHING;
		return true;
	}
	return function_set(line, span_part(fields, 0, (size_t)(plus - fields.text)));
}

static bool named_event_parse(struct text_span name, struct text_span fields, struct trace_line *line)
{
	if (span_is(name, "job"))
		return job_event_parse(fields, line);
	if (span_is(name, "jsm"))
		return message_parse(fields, line);
	if (span_is(name, "pm"))
		return power_parse(fields, line);
	if (span_is(name, "drm_sched_job_queue") || span_is(name, "drm_sched_job"))
		return scheduled_job_parse(fields, TRACE_JOB_CREATE, line);
	if (span_is(name, "drm_sched_job_run") || span_is(name, "drm_run_job"))
		return scheduled_job_parse(fields, TRACE_JOB_SUBMIT, line);
	if (span_is(name, "drm_sched_job_done") || span_is(name, "drm_sched_process_job"))
		return scheduled_job_parse(fields, TRACE_JOB_DONE, line);
	return probe_parse(fields, line);
}

static bool event_parse(struct text_span text, struct trace_line *line)
{
	struct text_span name, fields = text, system = text;
	/* perf also prints the subsystem: "vpu:job:". */
	if (span_take(&system, "vpu:") || span_take(&system, "gpu_scheduler:"))
		fields = system;
	/* "probe:ivpu_open: (ffffffffc08fa07c)" of perf probe: a return has two addresses. */
	if (span_take(&system, "probe:") && span_take_field(&system, ':', &name)) {
		bool is_return = system.length && memmem(system.text, system.length, " <- ", 4);
		if (is_return)
			line->kind = TRACE_LINE_NOTHING;
		return is_return || function_set(line, name);
	}
	if (!span_take_field(&fields, ':', &name) || memchr(name.text, ' ', name.length))
		return false;
	bool is_known = named_event_parse(name, span_trim(fields), line);
	if (!is_known && span_begins(text, "vpu:") && (span_is(name, "job") || span_is(name, "jsm"))) {
		trace_line_refuse(line, "an event of the NPU's driver with unknown fields");
		return true;
	}
	return is_known;
}

/* Parses "NAME <-CALLER" or, of trace-cmd, "NAME <-- CALLER". */
static bool function_parse(struct text_span text, struct trace_line *line)
{
	const char *arrow = memmem(text.text, text.length, "<-", 2);
	if (!arrow)
		return false;
	size_t at = (size_t)(arrow - text.text), end = at + 2;
	if (end < text.length && text.text[end] == '-')
		end++;
	struct text_span caller = function_name(span_part(text, end, text.length));
	if (!function_set(line, span_part(text, 0, at)))
		return false;
	if (!trace_line_set_name(line->caller, caller))
		line->caller[0] = '\0';
	return true;
}

/* Columns before an outermost function in trace-cmd report, and of each level below it. */
#define REPORT_COLUMNS 13u
#define REPORT_INDENT 3u

/* Parses "            NAME", "               NAME" of trace-cmd, whose indent is the depth below its caller. */
static bool indented_parse(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	size_t indent = 0;
	while (indent < text.length && text.text[indent] == ' ')
		indent++;
	size_t depth = indent > REPORT_COLUMNS ? (indent - REPORT_COLUMNS) / REPORT_INDENT : 0;
	if (!function_set(line, text))
		return false;
	if (depth >= TRACE_CALLERS_MAX)
		return true;
	if (depth)
		memcpy(line->caller, tasks->callers[depth - 1], sizeof line->caller);
	memcpy(tasks->callers[depth], line->name, sizeof line->name);
	return true;
}

static void task_line_parse(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	text = span_trim(text);
	struct text_span arguments = text;
	if (span_take(&arguments, "funcgraph_entry:") || span_take(&arguments, "funcgraph_exit:")) {
		graph_body_parse(arguments, line);
		return;
	}
	if (!span_take(&arguments, "function:") && !span_take(&arguments, "ftrace:function:"))
		arguments = text;
	if (function_parse(arguments, line))
		return;
	if (arguments.text != text.text && indented_parse(tasks, arguments, line))
		return;
	if (!event_parse(text, line))
		line->kind = TRACE_LINE_OTHER;
}

/* Parses "COMM PID 123.456789: SYSTEM:EVENT: ...", as perf script writes it without CPUs. */
static bool cpuless_task_parse(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	struct text_span rest = text, word;
	while ((word = span_take_word(&rest)).length) {
		size_t before = (size_t)(word.text - text.text);
		struct text_span event = span_trim(rest), system = event;
		if (!before || !task_time_parse(word, line))
			continue;
		if (!task_take_name(span_part(text, 0, before), line) ||
		    (!span_take(&system, "vpu:") && !span_take(&system, "gpu_scheduler:") &&
		     !span_take(&system, "probe:")))
			break;
		line->lane = line->pid;
		task_line_parse(tasks, event, line);
		return true;
	}
	*line = (struct trace_line){ .kind = TRACE_LINE_NOTHING };
	return false;
}

/* Parses "3d..1.": the CPU, and flags as in the latency format. */
static bool latency_flags_parse(struct text_span word, uint64_t *cpu)
{
	if (!span_take_decimal(&word, cpu) || word.length < 3 || *cpu > UINT32_MAX)
		return false;
	for (size_t i = 0; i < word.length; i++)
		if (!is_digit(word.text[i]) && !strchr(".dDXnNpbBhHsSzZ#", word.text[i]))
			return false;
	return true;
}

/* Parses "123.456789:" or "12us", which ":" follows, also after a mark for a long delay. */
static bool latency_time_parse(struct text_span *text, struct trace_line *line)
{
	struct text_span rest = *text, word = span_take_word(&rest);
	uint64_t time;
	if (task_time_parse(word, line)) {
		*text = rest;
		return true;
	}
	if (!span_take_decimal(&word, &time) || !span_take(&word, "us") || time > UINT64_MAX / 1000)
		return false;
	while (word.length && strchr("+!#*@$", *word.text))
		word = span_part(word, 1, word.length);
	if (!word.length)
		word = span_take_word(&rest);
	if (!span_is(word, ":"))
		return false;
	line->time = time * 1000;
	line->time_kind = TRACE_TIME_SECONDS;
	line->is_unit_known = true;
	*text = rest;
	return true;
}

/* Parses "COMM-PID 3d..1. 12us : FUNCTION <-CALLER" of the latency format, of ftrace and of trace-cmd report -l. */
static bool latency_task_parse(struct trace_tasks *tasks, struct text_span text, struct trace_line *line)
{
	struct text_span rest = text, word;
	uint64_t cpu;
	while ((word = span_take_word(&rest)).length) {
		struct text_span before = span_part(text, 0, (size_t)(word.text - text.text)), event = rest;
		if (!before.length || !latency_flags_parse(word, &cpu) || !task_take_name(before, line) ||
		    !latency_time_parse(&event, line))
			continue;
		line->lane = line->pid ? line->pid : (uint32_t)cpu | 1u << 31;
		task_line_parse(tasks, event, line);
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
		if (!cpu_and_time_parse(&rest, line))
			continue;
		if (!task_take_name(without_brackets(span_part(text, 0, i), '(', ')'), line))
			return false;
		/* A task has one stack of calls, on any CPU; each CPU has an idle task with pid 0. */
		line->lane = line->pid ? line->pid : line->lane | 1u << 31;
		task_line_parse(tasks, rest, line);
		return true;
	}
	return latency_task_parse(tasks, text, line) || cpuless_task_parse(tasks, text, line);
}

/* Parses " 1)  player-123  =>  <idle>-0", the CPU's next task. */
static bool switch_parse(struct trace_tasks *tasks, struct text_span text, uint64_t cpu, struct trace_line *line)
{
	const char *arrow = memmem(text.text, text.length, "=>", 2);
	if (!arrow || !task_take_name(span_part(text, (size_t)(arrow - text.text) + 2, text.length), line))
		return false;
	tasks->cpus[cpu].pid = line->pid;
	memcpy(tasks->cpus[cpu].comm, line->comm, sizeof line->comm);
	line->kind = TRACE_LINE_NOTHING;
	return true;
}

/* Parses what the options funcgraph-abstime and funcgraph-proc add before the duration. */
static void graph_fields_parse(struct text_span text, struct trace_line *line)
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
			task_take_name(field, line);
		}
	}
}

/* Finds "12)", the CPU. */
static bool cpu_find(struct text_span text, uint64_t *cpu, size_t *end)
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
static bool cpuless_graph_parse(struct text_span text, struct trace_line *line)
{
	const char *bar = text.length ? memchr(text.text, '|', text.length) : NULL;
	size_t at = bar ? (size_t)(bar - text.text) : 0;
	bool opens;
	struct text_span before = span_trim(span_part(text, 0, at)),
			 body = graph_call(span_part(text, at + (bar != NULL), text.length), &opens);
	if (!bar || text.length < at + 3 || !is_blank(text.text[at + 1]) ||
	    (before.length && !span_ends(before, " us")) || (!span_is(body, "}") && !opens && !span_ends(body, ");")))
		return false;
	line->lane = 1u << 31;
	graph_body_parse(text, line);
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
	if (!cpu_find(text, &cpu, &end))
		return cpuless_graph_parse(text, line);
	const char *bar = memrchr(text.text, '|', text.length);
	if (!bar)
		return switch_parse(tasks, span_part(text, end, text.length), cpu, line);
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
	graph_fields_parse(span_part(text, 0, at), line);
	line->lane = line->pid ? line->pid : (uint32_t)cpu | 1u << 31;
	/* The duration follows the last but one bar, or the CPU. */
	const char *before = memrchr(text.text, '|', at);
	size_t begin = before ? (size_t)(before - text.text) + 1 : 0;
	graph_body_parse(span_part(text, begin > end ? begin : end, text.length), line);
	return true;
}
