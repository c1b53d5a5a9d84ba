/* SPDX-License-Identifier: Apache-2.0 */
/* See activity_rows.h. */
#include "activity_rows.h"

#include "value_names.h"

#define TABLE(NAME, DROPPED)                                                                                           \
	const struct activity_table NAME##_table = { .columns = NAME##_columns,                                        \
						     .column_count = sizeof NAME##_columns / sizeof *NAME##_columns,   \
						     .write = NAME##_write,                                            \
						     .dropped = offsetof(struct iaprof_activity, DROPPED) };           \
	_Static_assert(sizeof NAME##_columns / sizeof *NAME##_columns <= CSV_COLUMN_MAX, "too many columns")

static void add_text(struct activity_rows *rows, const char *text)
{
	csv_row_set_name(rows->row, rows->column++, text);
}

static void add_number(struct activity_rows *rows, uint64_t number)
{
	csv_row_set_unsigned(rows->row, rows->column++, number);
}

/* Adds a number; 0, which means unknown or not applicable, leaves the field empty. */
static void add_known(struct activity_rows *rows, uint64_t number)
{
	if (number)
		csv_row_set_unsigned(rows->row, rows->column, number);
	rows->column++;
}

static void add_real(struct activity_rows *rows, double number)
{
	csv_row_set_double(rows->row, rows->column++, number);
}

static void add_choice(struct activity_rows *rows, const char *const *names, size_t count, uint32_t value)
{
	csv_row_set_choice(rows->row, rows->column++, names, count, value);
}
#define ADD_CHOICE(rows, names, value) add_choice(rows, names, sizeof(names) / sizeof *(names), value)

static void add_device(struct activity_rows *rows, uint32_t index)
{
	static const struct iaprof_device none = { .name = "", .address = "" };
	const struct iaprof_device *device =
		index == IAPROF_ACTIVITY_NONE ? &none : iaprof_activity_device(rows->activity, index);
	add_text(rows, device->name);
	add_text(rows, device->address);
}

static void end_row(struct activity_rows *rows)
{
	rows->column = 0;
	if (!rows->result)
		rows->result = csv_row_write(rows->row, rows->host, rows->output);
}

static const char *const calls_columns[] = {
	"source", "kind", "function", "family", "stack", "depth", "count", "duration", "self_duration",
};

static const struct iaprof_call_function *function_of(const struct activity_rows *rows, uint32_t node)
{
	return iaprof_activity_function(rows->activity, iaprof_activity_node(rows->activity, node)->function);
}

/* Adds the functions from the outermost one inwards, separated by ';', which becomes ':' in names. */
static void add_call_stack(struct activity_rows *rows, uint32_t node)
{
	uint32_t stack[IAPROF_CALL_DEPTH_MAX], count = 0;
	for (; node != IAPROF_ACTIVITY_NONE && count < IAPROF_CALL_DEPTH_MAX;
	     node = iaprof_activity_node(rows->activity, node)->parent)
		stack[count++] = node;
	struct text *text = csv_row_begin_text(rows->row, rows->column);
	while (count-- > 0) {
		size_t begin = text->size;
		text_append_name(text, function_of(rows, stack[count])->name);
		for (size_t i = begin; !text->failed && i < text->size; i++)
			if (text->data[i] == ';')
				text->data[i] = ':';
		text_append_string(text, count ? ";" : "");
	}
	csv_row_end_text(rows->row, rows->column++);
}

static void calls_write(struct activity_rows *rows)
{
	static const char *const kinds[] = { CALL_KIND_NAMES };
	for (uint32_t i = 0; i < rows->activity->node_count; i++) {
		const struct iaprof_call_node *node = iaprof_activity_node(rows->activity, i);
		const struct iaprof_call_function *function = function_of(rows, i);
		add_text(rows, function->source);
		ADD_CHOICE(rows, kinds, function->kind);
		add_text(rows, function->name);
		add_text(rows, function->family);
		add_call_stack(rows, i);
		add_number(rows, node->depth);
		add_number(rows, node->count);
		add_number(rows, node->duration);
		add_number(rows, node->self_duration);
		end_row(rows);
	}
}
TABLE(calls, calls_dropped);

static const char *const jobs_columns[] = {
	"source", "device", "address", "engine",  "program", "pid",   "tid",     "id",   "context", "state",
	"status", "begin",  "queued",  "started", "end",     "count", "waiting", "busy", "aborted", "thread",
};

static void add_track(struct activity_rows *rows, const struct iaprof_track *track)
{
	static const struct iaprof_process none = { .name = "" };
	const struct iaprof_process *process = track->process == IAPROF_ACTIVITY_NONE
						       ? &none
						       : iaprof_activity_process(rows->activity, track->process);
	add_text(rows, track->source);
	add_device(rows, track->device);
	add_text(rows, track->name);
	add_text(rows, process->name);
	add_known(rows, process->pid);
}

static void jobs_write(struct activity_rows *rows)
{
	static const char *const states[] = { JOB_STATE_NAMES };
	for (size_t i = 0; i < rows->activity->track_count; i++) {
		const struct iaprof_track *track = iaprof_activity_track(rows->activity, i);
		if (!iaprof_track_has_jobs(track))
			continue;
		for (size_t k = 0; k < track->event_count; k++) {
			const struct iaprof_event *job = &track->events[k];
			add_track(rows, track);
			add_known(rows, job->tid);
			add_number(rows, job->id);
			add_number(rows, job->context);
			ADD_CHOICE(rows, states, job->state);
			add_number(rows, job->status);
			add_number(rows, job->begin);
			add_known(rows, job->queued);
			add_known(rows, job->started);
			add_number(rows, job->end);
			add_number(rows, job->count);
			add_number(rows, job->waiting);
			add_number(rows, job->busy);
			add_number(rows, job->state == IAPROF_JOB_ABORTED);
			add_text(rows, track->threads[k] ?: "");
			end_row(rows);
		}
		for (size_t k = 0; k < track->slot_count; k++) {
			const struct iaprof_track_slot *slot = &track->slots[k];
			add_track(rows, track);
			rows->column += 5; /* slots have no tid, id, context, state or status */
			add_number(rows, slot->number * rows->activity->slot_width);
			rows->column += 2;
			add_number(rows, (slot->number + 1) * rows->activity->slot_width);
			add_number(rows, slot->count);
			add_number(rows, slot->waiting);
			add_number(rows, slot->busy);
			add_number(rows, slot->aborted);
			end_row(rows);
		}
	}
}
TABLE(jobs, tracks_dropped);

static const char *const counters_columns[] = {
	"source", "device", "address", "name", "unit", "kind", "begin", "end", "count", "minimum", "mean", "maximum",
};

static void counters_write(struct activity_rows *rows)
{
	static const char *const kinds[] = { COUNTER_KIND_NAMES };
	for (size_t i = 0; i < rows->activity->counter_count; i++) {
		const struct iaprof_counter *counter = iaprof_activity_counter(rows->activity, i);
		for (size_t k = 0; k < counter->point_count; k++) {
			const struct iaprof_counter_point *point = &counter->points[k];
			add_text(rows, counter->source);
			add_device(rows, counter->device);
			add_text(rows, counter->name);
			add_text(rows, counter->unit);
			ADD_CHOICE(rows, kinds, counter->kind);
			add_number(rows, point->begin);
			add_number(rows, point->end);
			add_number(rows, point->count);
			add_real(rows, point->minimum);
			add_real(rows, point->mean);
			add_real(rows, point->maximum);
			end_row(rows);
		}
	}
}
TABLE(counters, counter_dropped);

static const char *const histograms_columns[] = {
	"source", "name", "unit", "count", "sum", "p50", "p90", "p99", "maximum",
};

static void histograms_write(struct activity_rows *rows)
{
	static const double parts[] = { 0.5, 0.9, 0.99 };
	for (size_t i = 0; i < rows->activity->histogram_count; i++) {
		const struct iaprof_histogram *histogram = iaprof_activity_histogram(rows->activity, i);
		add_text(rows, histogram->source);
		add_text(rows, histogram->name);
		add_text(rows, histogram->unit);
		add_number(rows, histogram->count);
		add_number(rows, histogram->sum);
		for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
			add_number(rows, iaprof_histogram_quantile(histogram->buckets, histogram->count,
								   histogram->maximum, parts[k]));
		add_number(rows, histogram->maximum);
		end_row(rows);
	}
}
TABLE(histograms, histogram_dropped);

static const char *const findings_columns[] = {
	"source", "severity", "name", "pid", "count", "value", "threshold", "text",
};

static void findings_write(struct activity_rows *rows)
{
	static const char *const severities[] = { FINDING_SEVERITY_NAMES };
	for (size_t i = 0; i < rows->activity->finding_count; i++) {
		const struct iaprof_finding *finding = iaprof_activity_finding(rows->activity, i);
		add_text(rows, finding->source);
		ADD_CHOICE(rows, severities, finding->severity);
		add_text(rows, finding->name);
		add_known(rows, finding->pid);
		add_number(rows, finding->count);
		add_real(rows, finding->value);
		add_real(rows, finding->threshold);
		add_text(rows, finding->text);
		end_row(rows);
	}
}
TABLE(findings, findings_dropped);
