/* SPDX-License-Identifier: Apache-2.0 */
/* Sink csv: a table (RFC 4180) with one row per stack and interval, per event, or per job, counter value and so on. */
#include <errno.h>
#include <inttypes.h>
#include <iaprof/plugin.h>

#include "records/definitions.h"
#include "stacks/missing_spans.h"
#include "stacks/stack_text.h"
#include "activity_rows.h"
#include "csv_row.h"
#include "event_queue.h"
#include "event_row.h"
#include "text/plural.h"

enum csv_rows { CSV_ROWS_STACKS, CSV_ROWS_EVENTS, CSV_ROWS_ACTIVITY };
static const char *const rows_choices[] = { "stacks",   "events",     "calls",    "jobs",
					    "counters", "histograms", "findings", NULL };
/* Indexed by rows - CSV_ROWS_ACTIVITY. */
static const struct activity_table *const activity_tables[] = { &calls_table, &jobs_table, &counters_table,
								&histograms_table, &findings_table };
static const char *const newline_choices[] = { "crlf", "lf", NULL };
static const char *const line_ends[] = { "\r\n", "\n" };

struct csv {
	uint64_t rows;    /* enum csv_rows, or one of activity_tables */
	uint64_t newline; /* index of line_ends */
	bool escape;
	struct stack_text_options text;

	const char *const *columns;
	const struct activity_table *table; /* for rows=calls and the later choices; NULL: other rows */
	struct iaprof_output *output;       /* NULL before the first row */
	struct csv_row row;
	struct definitions definitions; /* for rows=events */
	struct event_queue queue;       /* likewise */
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(
		struct csv, rows, CHOICE, "rows", "stacks",
		"Contents of a row: the value of a stack in an interval, an event, a node of the call tree, a job, a "
		"value of a counter, a histogram or a finding",
		.choices = rows_choices),
	STACK_TEXT_OPTIONS(struct csv, text),
	IAPROF_OPTION(
		struct csv, text.spans, BOOL, "spans", "no",
		"Show the trace and span that threads worked on in columns of their own, with a row for each span"),
	IAPROF_OPTION(struct csv, newline, CHOICE, "newline", "crlf",
		      "Line ending: crlf (RFC 4180), or lf for tools such as awk and cut", .choices = newline_choices),
	IAPROF_OPTION(struct csv, escape, BOOL, "escape", "yes",
		      "Prefix text that begins with =, +, - or @ with ', so that spreadsheets do not evaluate it"),
};

enum stack_column {
	INTERVAL,
	BEGIN,
	END,
	BEGIN_REALTIME,
	PROGRAM,
	PID,
	FUNCTION,
	STACK,
	VALUE_TYPE,
	UNIT,
	VALUE,
	COUNT,
	TID,
	THREAD,
	TRACE_ID,
	SPAN_ID,
	KERNEL_CLASS,
	COLUMN_COUNT,
	/* Additional columns of differential profiles. */
	BEFORE = COLUMN_COUNT,
	BEFORE_COUNT,
	BEFORE_FACTOR,
	DIFFERENCE_COLUMN_COUNT
};

static const char *const stack_columns[] = {
	[INTERVAL] = "interval",
	[BEGIN] = "begin",
	[END] = "end",
	[BEGIN_REALTIME] = "begin_realtime",
	[PROGRAM] = "program",
	[PID] = "pid",
	[FUNCTION] = "function",
	[STACK] = "stack",
	[VALUE_TYPE] = "value_type",
	[UNIT] = "unit",
	[VALUE] = "value",
	[COUNT] = "count",
	[TID] = "tid",
	[THREAD] = "thread",
	[TRACE_ID] = "trace_id",
	[SPAN_ID] = "span_id",
	[KERNEL_CLASS] = "kernel_class",
	[BEFORE] = "before",
	[BEFORE_COUNT] = "before_count",
	[BEFORE_FACTOR] = "before_factor",
};

static int csv_configure(const struct iaprof_host *host, void *instance)
{
	struct csv *csv = instance;
	bool stacks = csv->rows == CSV_ROWS_STACKS;
	csv->columns = stacks ? stack_columns : event_columns;
	csv->row.column_count = stacks ? COLUMN_COUNT : EVENT_COLUMN_COUNT;
	if (csv->rows >= CSV_ROWS_ACTIVITY) {
		csv->table = activity_tables[csv->rows - CSV_ROWS_ACTIVITY];
		csv->columns = csv->table->columns;
		csv->row.column_count = csv->table->column_count;
		host->request(host, IAPROF_REQUEST_ACTIVITY);
	}
	csv->row.line_end = line_ends[csv->newline];
	csv->row.escape = csv->escape;
	if (!stacks && (csv->text.pid != STACK_TEXT_PID_AUTO || csv->text.module || !csv->text.annotate ||
			csv->text.threads != STACK_TEXT_THREADS_NO || csv->text.blame != STACK_TEXT_BLAME_WAITER ||
			csv->text.spans))
		return host->fail(host, EINVAL,
				  "pid=, threads=, module=, annotate=, blame= and spans= require rows=stacks");
	if (csv->rows == CSV_ROWS_EVENTS)
		host->request(host, IAPROF_REQUEST_RECORD_SPANS);
	if (stacks || csv->text.lines) /* symbolization results are events, too */
		stack_text_request(&csv->text, host);
	return 0;
}

/* Opens the output and writes the header on the first call, because outputs belong to the sink's thread. */
static int open_output(const struct iaprof_host *host, struct csv *csv)
{
	if (csv->output)
		return 0;
	/* Events contain Linux kernel addresses. */
	csv->output = host->output_open(host, NULL, csv->rows == CSV_ROWS_EVENTS ? IAPROF_OUTPUT_PRIVATE : 0);
	if (!csv->output)
		return -EIO;
	for (size_t i = 0; i < csv->row.column_count; i++)
		csv_row_set_name(&csv->row, i, csv->columns[i]);
	return csv_row_write(&csv->row, host, csv->output);
}

static void set_interval(struct csv_row *row, const struct iaprof_profile *profile)
{
	csv_row_set_unsigned(row, INTERVAL, profile->interval);
	csv_row_set_unsigned(row, BEGIN, profile->begin);
	csv_row_set_unsigned(row, END, profile->end);
	csv_row_set_unsigned(row, BEGIN_REALTIME, profile->begin_realtime);
}

static int write_stack(const struct iaprof_host *host, struct csv *csv, const struct stack_rows *rows,
		       const struct stack_row *row)
{
	const struct iaprof_profile *profile = rows->profile;
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, row->stack);
	const struct iaprof_value_type *type = iaprof_profile_value_type(profile, row->value_type);
	uint32_t pid = iaprof_profile_frame(profile, stack->frames[0])->pid;
	set_interval(&csv->row, profile);
	stack_rows_append_frame(rows, row, 0, csv_row_begin_text(&csv->row, PROGRAM));
	csv_row_end_text(&csv->row, PROGRAM);
	if (row->pid && pid)
		csv_row_set_unsigned(&csv->row, PID, pid);
	uint32_t leaf = stack_rows_leaf(rows, row);
	if (leaf > 0) {
		stack_rows_append_frame(rows, row, leaf, csv_row_begin_text(&csv->row, FUNCTION));
		csv_row_end_text(&csv->row, FUNCTION);
	}
	stack_rows_append_stack(rows, row, csv_row_begin_text(&csv->row, STACK));
	csv_row_end_text(&csv->row, STACK);
	csv_row_set_name(&csv->row, VALUE_TYPE, type->name);
	csv_row_set_name(&csv->row, UNIT, type->unit);
	csv_row_set_unsigned(&csv->row, VALUE, row->value);
	csv_row_set_unsigned(&csv->row, COUNT, row->count);
	struct iaprof_stack_origin origin = thread_of_stack(profile, row->stack, csv->text.threads);
	if (origin.tid)
		csv_row_set_unsigned(&csv->row, TID, origin.tid);
	if (origin.thread)
		csv_row_set_name(&csv->row, THREAD, origin.thread);
	if (csv->text.spans)
		csv_row_set_span(&csv->row, TRACE_ID, SPAN_ID, iaprof_profile_stack_span(profile, row->stack));
	const char *kernel_class = iaprof_profile_stack_kernel_class(profile, row->stack);
	if (kernel_class)
		csv_row_set_name(&csv->row, KERNEL_CLASS, kernel_class);
	if (profile->flags & IAPROF_PROFILE_DIFFERENCE) {
		csv_row_set_unsigned(&csv->row, BEFORE, row->before);
		csv_row_set_unsigned(&csv->row, BEFORE_COUNT, row->before_count);
		csv_row_set_double(&csv->row, BEFORE_FACTOR, type->before_factor);
	}
	return csv_row_write(&csv->row, host, csv->output);
}

/*
 * Writes losses as events: "lost" has the number of lost items, "lost-unknown" the number of losses of unknown size.
 * The lost values are already stacks of the profile.
 */
static int write_lost(const struct iaprof_host *host, struct csv *csv, const struct iaprof_profile *profile,
		      const struct iaprof_lost *lost, bool unknown)
{
	const struct iaprof_frame source = { .name = lost->source, .kind = IAPROF_FRAME_LOST };
	const struct iaprof_frame reason = { .name = lost->reason, .kind = IAPROF_FRAME_LOST };
	bool is_difference = profile->flags & IAPROF_PROFILE_DIFFERENCE;
	uint64_t count = unknown ? lost->unknown : lost->count;
	uint64_t before = !is_difference ? 0 : unknown ? lost->before_unknown : lost->before_count;
	if (!count && !before)
		return 0;
	set_interval(&csv->row, profile);
	csv_row_set_name(&csv->row, PROGRAM, "[lost]");
	stack_text_append_frame(csv_row_begin_text(&csv->row, FUNCTION), &reason, &csv->text);
	csv_row_end_text(&csv->row, FUNCTION);
	struct text *stack = csv_row_begin_text(&csv->row, STACK);
	text_append_string(stack, "[lost];");
	stack_text_append_frame(stack, &source, &csv->text);
	text_append_string(stack, ";");
	stack_text_append_frame(stack, &reason, &csv->text);
	csv_row_end_text(&csv->row, STACK);
	csv_row_set_name(&csv->row, VALUE_TYPE, unknown ? "lost-unknown" : "lost");
	csv_row_set_name(&csv->row, UNIT, unknown ? "times" : "events");
	csv_row_set_unsigned(&csv->row, VALUE, count);
	csv_row_set_unsigned(&csv->row, COUNT, count);
	if (is_difference) {
		csv_row_set_unsigned(&csv->row, BEFORE, before);
		csv_row_set_unsigned(&csv->row, BEFORE_COUNT, before);
		csv_row_set_double(&csv->row, BEFORE_FACTOR, 1);
	}
	return csv_row_write(&csv->row, host, csv->output);
}

static int write_activity(const struct iaprof_host *host, struct csv *csv, const struct iaprof_profile *profile)
{
	struct activity_rows rows = { .activity = profile->activity, .row = &csv->row, .host = host };
	if (!rows.activity || !(profile->flags & (IAPROF_PROFILE_FINAL | IAPROF_PROFILE_TOTAL)))
		return 0;
	rows.result = open_output(host, csv);
	rows.output = csv->output;
	if (!rows.result)
		csv->table->write(&rows);
	uint64_t dropped = *(const uint64_t *)((const char *)rows.activity + csv->table->dropped);
	if (dropped)
		host->log(host, IAPROF_LOG_WARNING, "%" PRIu64 " item%s missing: too many to keep", dropped,
			  plural(dropped));
	return rows.result;
}

static int write_profile(const struct iaprof_host *host, struct csv *csv, const struct iaprof_profile *profile)
{
	bool is_difference = profile->flags & IAPROF_PROFILE_DIFFERENCE;
	if (csv->rows != CSV_ROWS_STACKS && is_difference)
		return host->fail(host, EINVAL, "--diff requires rows=stacks");
	if (csv->rows != CSV_ROWS_STACKS)
		return csv->rows == CSV_ROWS_EVENTS ? 0 : write_activity(host, csv, profile);
	if (is_difference)
		csv->row.column_count = DIFFERENCE_COLUMN_COUNT;
	int result = open_output(host, csv);
	if (result < 0)
		return result;
	struct stack_rows rows;
	result = stack_rows_make(&rows, profile, &csv->text);
	if (result < 0)
		host->fail(host, result, "out of memory for %zu stacks", profile->value_count);
	for (size_t i = 0; result == 0 && i < rows.count; i++)
		result = write_stack(host, csv, &rows, &rows.rows[i]);
	for (size_t i = 0; result == 0 && i < profile->lost_count * 2; i++)
		result = write_lost(host, csv, profile, iaprof_profile_lost(profile, i / 2), i % 2);
	stack_rows_free(&rows);
	return result;
}

/* Writes each interval when it ends, for readers that follow the file. */
static int csv_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct csv *csv = instance;
	if (csv->text.spans)
		missing_spans_report(host, profile);
	int result = write_profile(host, csv, profile);
	return result || !csv->output ? result : host->output_flush(host, csv->output);
}

static struct event make_event(const struct iaprof_host *host, struct csv *csv, const struct iaprof_record *record)
{
	return (struct event){ .record = record,
			       .definitions = &csv->definitions,
			       .row = &csv->row,
			       .host = host,
			       .output = csv->output,
			       .text = &csv->text };
}

static int csv_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct csv *csv = instance;
	if (csv->rows != CSV_ROWS_EVENTS)
		return 0;
	int result = open_output(host, csv);
	for (const struct iaprof_record *record = NULL; result == 0 && (record = iaprof_batch_next(batch, record));) {
		struct event event = make_event(host, csv, record);
		result = event_queue_take(&csv->queue, &event, &csv->definitions);
	}
	return result;
}

static int csv_finish(const struct iaprof_host *host, void *instance)
{
	struct csv *csv = instance;
	int result = open_output(host, csv);
	struct event event = make_event(host, csv, NULL);
	if (result == 0 && csv->rows == CSV_ROWS_EVENTS)
		result = event_queue_finish(&csv->queue, &event);
	return result < 0 ? result : host->output_close(host, csv->output);
}

static void csv_destroy(const struct iaprof_host *host, void *instance)
{
	struct csv *csv = instance;
	event_queue_free(&csv->queue);
	csv_row_free(&csv->row);
	definitions_free(&csv->definitions);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "csv",
	.finish = csv_finish,
	.records = csv_records,
	.profile = csv_profile,
};

static const struct iaprof_plugin csv_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS | IAPROF_PLUGIN_DIFFERENCES,
	.name = "csv",
	.version = PLUGIN_VERSION,
	.description = "CSV table of stacks per interval, events, jobs, counters and other data",
	.instance_size = sizeof(struct csv),
	.sink = &operations,
	.configure = csv_configure,
	.destroy = csv_destroy,
};

IAPROF_REGISTER_PLUGIN(csv_plugin)
