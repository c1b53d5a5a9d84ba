/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the model as text: see view_text.h. */
#include "text/plural.h"
#include "view_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text/quantity.h"

/* Maximum number of losses shown. */
#define LOSSES_SHOWN 8

const char *const table_choices[] = { "auto",  "kernels",   "instructions", "reasons",  "functions", "stacks",
				      "calls", "processes", "counters",     "findings", NULL };
const char *const *const table_names = &table_choices[1];

const char *table_heading(const struct model *model, enum model_table table, uint32_t type)
{
	static const char *const kernels[] = { "DEVICE KERNEL", "GPU KERNEL", "NPU KERNEL" };
	static const char *const instructions[] = { "DEVICE KERNEL+OFFSET INSTRUCTION LINE",
						    "GPU KERNEL+OFFSET INSTRUCTION LINE",
						    "NPU KERNEL+OFFSET INSTRUCTION LINE" };
	static const char *const others[] = {
		[TABLE_REASONS] = "STALL REASON",      [TABLE_FUNCTIONS] = "FUNCTION",
		[TABLE_STACKS] = "STACK (LEAF FIRST)", [TABLE_CALLS] = "CALL",
		[TABLE_PROCESSES] = "PROGRAM",         [TABLE_COUNTERS] = "VALUE         COUNTER",
		[TABLE_FINDINGS] = "SEVERITY  FINDING"
	};
	if (others[table])
		return others[table];
	uint32_t kind = model->types[type].device_kind;
	kind = kind <= IAPROF_DEVICE_NPU ? kind : IAPROF_DEVICE_UNKNOWN;
	return table == TABLE_KERNELS ? kernels[kind] : instructions[kind];
}

bool table_has_total(enum model_table table)
{
	return table == TABLE_FUNCTIONS || table == TABLE_CALLS;
}

const char *table_first_heading(enum model_table table)
{
	return table == TABLE_KERNELS ? "PROGRAM          " : "";
}

static double seconds(uint64_t nanoseconds)
{
	return (double)nanoseconds / 1e9;
}

void view_text_append_time(struct text *text, const struct model *model, bool recorded)
{
	text_append_format(text, "%.0f s", seconds(model->end - model->begin));
	if (model->intervals > 1)
		text_append_format(text, ", every %.1f s", seconds(model->end - model->last_begin));
	if (!recorded)
		text_append_format(
			text, "; iaprof itself: %s of a CPU",
			quantity_fixed_share((double)model->last_cost, (double)model->last_wall, 2, " %").text);
	if (model->out_of_memory)
		text_append_string(text, "; out of memory: rows dropped");
	if (model->types_left_out)
		text_append_format(text, "; %" PRIu32 " value type%s not shown", model->types_left_out,
				   plural(model->types_left_out));
}

static struct quantity_text rate_text(uint64_t amount, uint64_t nanoseconds, const char *unit)
{
	return quantity_value(nanoseconds ? (double)amount * 1e9 / (double)nanoseconds : 0, unit);
}

static void append_rate(struct text *text, const struct model_type *type, uint64_t duration)
{
	bool is_count = !strcmp(type->unit, "count");
	text_append_format(text, "%s%s %s", text->size ? "; " : "", type->title,
			   rate_text(type->last - type->last_lost, duration, type->unit).text);
	if (!is_count && strcmp(type->unit, "nanoseconds")) {
		text_append_format(text, " %s", type->unit);
	}
	text_append_string(text, "/s");
	if (type->role != IAPROF_VALUE_DEVICE_IDLE && (!is_count || type->last_count != type->last - type->last_lost))
		text_append_format(text, ", %s %s/s", rate_text(type->last_count, duration, "count").text,
				   type->role == IAPROF_VALUE_DEVICE_TIME ? "executions" : "samples");
}

void view_text_append_rates(struct text *text, const struct model *model, uint32_t first)
{
	uint64_t duration = model->end - model->last_begin;
	if (first < model->type_count)
		append_rate(text, &model->types[first], duration);
	for (uint32_t i = 0; i < model->type_count; i++)
		if (i != first && model->types[i].run)
			append_rate(text, &model->types[i], duration);
	if (model->jobs_done || model->jobs_aborted) {
		text_append_format(text, "%sjobs %s/s, %" PRIu64 " aborted", text->size ? "; " : "",
				   rate_text(model->last_jobs, duration, "count").text, model->jobs_aborted);
	}
	if (!text->size)
		text_append_string(text, "no samples yet");
}

bool view_text_has_losses(const struct model *model)
{
	return model->loss_count > 0;
}

/* Appends "cpu-stack: stack map full 300"; "?" if the number is unknown. */
static void append_loss(struct text *text, const struct model_loss *loss)
{
	text_append_string(text, loss->source);
	if (loss->reason[0]) {
		text_append_format(text, ": %s", loss->reason);
	}
	if (loss->run || !loss->unknown)
		text_append_format(text, " %" PRIu64 "%s", loss->run, loss->unknown ? "+?" : "");
	else
		text_append_string(text, " ?");
}

void view_text_append_losses(struct text *text, const struct model *model)
{
	uint64_t run = 0, last = 0;
	for (uint32_t i = 0; i < model->loss_count; i++) {
		run += model->losses[i].run;
		last += model->losses[i].interval == model->intervals ? model->losses[i].last : 0;
	}
	if (!model->loss_count) {
		text_append_string(text, "nothing");
		return;
	}
	text_append_format(text, "%" PRIu64 ", %" PRIu64 " since the start: ", last, run);
	for (uint32_t i = 0; i < model->loss_count && i < LOSSES_SHOWN; i++) {
		text_append_string(text, i ? ", " : "");
		append_loss(text, &model->losses[i]);
	}
	if (model->loss_count > LOSSES_SHOWN)
		text_append_format(text, ", and %" PRIu32 " more", model->loss_count - LOSSES_SHOWN);
}

void view_text_append_view(struct text *text, const struct model *model, const struct view *view,
			   enum model_table table, uint32_t type)
{
	text_append_string(text, model->types[type].title);
	if (view->of_run || model->intervals < 2)
		text_append_string(text, ", since the start");
	else
		text_append_format(text, ", last %.1f s", seconds(model->end - model->last_begin));
	static const char *const orders[SORT_COUNT] = { "self", "total", "pid", "program", "module", "name" };
	enum view_sort sort = view_sort_of(view, table);
	if (table_has_total(table) || sort != SORT_SELF || view->reversed)
		text_append_format(text, ", by %s%s", orders[sort], view->reversed ? " reversed" : "");
}

static void append_name(struct text *text, const struct model *model, uint32_t name)
{
	text_append_format(text, "%s%s", names_text(&model->names, name), names_suffix(&model->names, name));
}

/* The program and its pid, aligned with the columns of the heading. */
static void append_program(struct text *text, const struct model *model, const uint32_t *key, int width)
{
	char program[32], padded[64];
	snprintf(program, sizeof program, "%.15s", names_text(&model->names, key[KEY_PROGRAM]));
	if (key[KEY_TID])
		snprintf(padded, sizeof padded, "%s:%" PRIu32 "/%" PRIu32, program, key[KEY_PID], key[KEY_TID]);
	else if (key[KEY_PID])
		snprintf(padded, sizeof padded, "%s:%" PRIu32, program, key[KEY_PID]);
	else
		snprintf(padded, sizeof padded, "%s", program);
	text_append_format(text, "%-*s", width, padded);
}

/* The program, and the name of its thread if that is another one. */
static void append_thread(struct text *text, const struct model *model, const struct row *row)
{
	append_name(text, model, row->key[KEY_REST]);
	if (row->length > KEY_REST + 1)
		text_append_format(text, " (%s)", names_text(&model->names, row->key[KEY_REST + 1]));
}

static void append_instruction(struct text *text, const struct model *model, const uint32_t *row_key)
{
	const uint32_t *key = row_key + KEY_REST;
	const char *file = names_text(&model->names, key[2]);
	text_append_format(text, "%s+0x%" PRIx64 " %s", names_text(&model->names, key[0]),
			   (uint64_t)key[4] << 32 | key[5], names_text(&model->names, key[1]));
	if (*file) {
		text_append_format(text, " %s:%" PRIu32, file, key[3]);
	}
}

static void append_stack(struct text *text, const struct model *model, const uint32_t *key, uint32_t length,
			 size_t limit)
{
	size_t begin = text->size;
	for (uint32_t i = 0; i < length && text->size - begin < limit; i++) {
		text_append_string(text, i ? " < " : "");
		append_name(text, model, key[i]);
	}
}

void view_text_append_name(struct text *text, const struct model *model, enum model_table table, const struct row *row,
			   size_t limit)
{
	if (!row->length)
		text_append_string(text, "[others]");
	else if (table == TABLE_KERNELS)
		text_append_string(text, names_text(&model->names, row->key[KEY_REST]));
	else if (table == TABLE_PROCESSES)
		append_thread(text, model, row);
	else if (table == TABLE_INSTRUCTIONS)
		append_instruction(text, model, row->key);
	else
		append_stack(text, model, row->key + KEY_REST, row->length - KEY_REST, limit);
}

void view_text_append_row(struct text *text, const struct model *model, enum model_table table, const struct row *row,
			  size_t limit)
{
	if (row->length && table == TABLE_PROCESSES) {
		append_program(text, model, row->key, 0);
		if (row->length > KEY_REST + 1)
			text_append_format(text, " %s", names_text(&model->names, row->key[KEY_REST + 1]));
		return;
	}
	if (row->length && table == TABLE_KERNELS) {
		append_program(text, model, row->key, 16);
		text_append_string(text, " ");
	}
	view_text_append_name(text, model, table, row, limit);
}

static void append_counter(struct text *text, const struct model_item *item)
{
	text_append_format(text, "%-12.10g  %s", item->value, item->name);
	if (*item->text) {
		text_append_format(text, " [%s]", item->text);
	}
	text_append_format(text, ", %s", *item->device ? item->device : item->source);
}

static void append_finding(struct text *text, const struct model_item *item)
{
	static const char *const severities[] = { "", "note", "warning", "problem" };
	text_append_format(text, "%-8s  %s", severities[item->severity], item->name);
	if (item->pid)
		text_append_format(text, ", process %" PRIu32, item->pid);
	if (item->count > 1)
		text_append_format(text, ", %" PRIu64 " times", item->count);
	text_append_format(text, ": %s", item->text);
}

void view_text_append_item(struct text *text, const struct model_item *item)
{
	(item->table == TABLE_COUNTERS ? append_counter : append_finding)(text, item);
}
