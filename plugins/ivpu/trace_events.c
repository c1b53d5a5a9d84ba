/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_events.h. The print formats are those of Linux 6.13 to 7.2 (events/SYSTEM/EVENT/format). */
#include <string.h>
#include "trace_events.h"
#include "trace_graph.h"

/* Finds "KEY123" in the fields of an event, and the text after KEY up to the next blank or comma. */
static bool find_field(struct text_span fields, const char *key, struct text_span *value)
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

static bool find_number(struct text_span fields, const char *key, uint64_t *number)
{
	struct text_span value;
	return find_field(fields, key, &value) && span_decimal(value, number);
}

/* perf cannot read the strings of vpu's events, and prints their addresses. */
static bool begins_with_address(struct text_span fields)
{
	uint64_t address;
	return span_hexadecimal(span_take_word(&fields), &address);
}

static bool set_job(struct text_span fields, struct trace_line *line)
{
	static const struct {
		const char *name;
		enum trace_job_event event;
	} events[] = { { "create ", TRACE_JOB_CREATE },
		       { "submit ", TRACE_JOB_SUBMIT },
		       { "done ", TRACE_JOB_DONE },
		       { "abort", TRACE_JOB_ABORT } };
	uint64_t context, engine, job;
	if (!find_number(fields, "context:", &context) || !find_number(fields, "engine:", &engine) ||
	    !find_number(fields, "job:", &job))
		return false;
	size_t i = 0;
	while (i < sizeof events / sizeof *events && !span_begins(fields, events[i].name))
		i++;
	if (i == sizeof events / sizeof *events && !begins_with_address(fields))
		return false;
	line->kind = TRACE_LINE_JOB;
	line->event = i < sizeof events / sizeof *events ? events[i].event : TRACE_JOB_UNNAMED;
	line->context = (uint32_t)context;
	line->engine = (uint32_t)engine;
	line->job = job;
	return true;
}

static bool set_message(struct text_span fields, struct trace_line *line)
{
	struct text_span type;
	line->is_sent = span_begins(fields, "[tx]");
	if ((!line->is_sent && !span_begins(fields, "[rx]")) || !find_field(fields, "type:", &type) ||
	    !trace_line_set_name(line->name, type))
		return false;
	line->kind = TRACE_LINE_MESSAGE;
	return true;
}

static bool set_power(struct text_span fields, struct trace_line *line)
{
	if (!fields.length || fields.length > TRACE_NAME_SIZE_MAX || begins_with_address(fields) ||
	    memchr(fields.text, '\0', fields.length))
		return false;
	line->kind = TRACE_LINE_POWER;
	memcpy(line->name, fields.text, fields.length);
	line->name[fields.length] = '\0';
	return true;
}

/* Parses "123:456" as one number: a fence's context and sequence number. */
static bool find_fence(struct text_span fields, const char *key, struct trace_line *line)
{
	struct text_span value, context;
	uint64_t first, second;
	if (!find_field(fields, key, &value) || !span_take_field(&value, ':', &context) ||
	    !span_decimal(context, &first) || !span_decimal(value, &second))
		return false;
	line->context = (uint32_t)first;
	line->job = first << 32 ^ second;
	return true;
}

/* Until Linux 6.16: drm_sched_job, drm_run_job and drm_sched_process_job, with a fence's address. */
static bool find_old_fence(struct text_span fields, struct trace_line *line)
{
	struct text_span value;
	if (!find_field(fields, "fence=", &value) && !find_field(fields, "fence ", &value))
		return false;
	span_take(&value, "0x");
	return span_hexadecimal(value, &line->job);
}

static bool set_scheduled(struct text_span fields, enum trace_job_event event, struct trace_line *line)
{
	struct text_span device;
	if (find_field(fields, "dev=", &device) && device.length <= TRACE_DEVICE_SIZE_MAX)
		memcpy(line->device, device.text, device.length); /* the line is zeroed */
	line->kind = TRACE_LINE_JOB;
	line->event = event;
	return find_fence(fields, "fence=", line) || find_fence(fields, "fence:", line) || find_old_fence(fields, line);
}

/* A kprobe event: "p_ivpu_open_0: (ivpu_open+0x0/0x90 [intel_vpu])"; a return has "<-". */
static bool set_probe(struct text_span fields, struct trace_line *line)
{
	const char *plus = fields.length ? memchr(fields.text, '+', fields.length) : NULL;
	if (!span_take(&fields, "(") || !plus)
		return false;
	if (memmem(fields.text, fields.length, " <- ", 4)) {
		line->kind = TRACE_LINE_NOTHING;
		return true;
	}
	return trace_task_set_function(line, span_part(fields, 0, (size_t)(plus - fields.text)));
}

static bool set_event(struct text_span name, struct text_span fields, struct trace_line *line)
{
	if (span_is(name, "job"))
		return set_job(fields, line);
	if (span_is(name, "jsm"))
		return set_message(fields, line);
	if (span_is(name, "pm"))
		return set_power(fields, line);
	if (span_is(name, "drm_sched_job_queue") || span_is(name, "drm_sched_job"))
		return set_scheduled(fields, TRACE_JOB_CREATE, line);
	if (span_is(name, "drm_sched_job_run") || span_is(name, "drm_run_job"))
		return set_scheduled(fields, TRACE_JOB_SUBMIT, line);
	if (span_is(name, "drm_sched_job_done") || span_is(name, "drm_sched_process_job"))
		return set_scheduled(fields, TRACE_JOB_DONE, line);
	return set_probe(fields, line);
}

bool trace_event_parse(struct text_span text, struct trace_line *line)
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
		return is_return || trace_task_set_function(line, name);
	}
	if (!span_take_field(&fields, ':', &name) || memchr(name.text, ' ', name.length))
		return false;
	return set_event(name, span_trim(fields), line);
}
