/* SPDX-License-Identifier: Apache-2.0 */
/* The model in words: see wording.h. */
#include "wording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "amounts.h"

/* What lost amounts are shown of at most. */
#define LOSSES_SHOWN 8

const char *const table_names[] = { "kernels", "instructions", "reasons", "functions", "stacks", "calls", NULL };
const char *const table_headings[] = {
	"GPU KERNEL", "GPU KERNEL+OFFSET INSTRUCTION LINE", "STALL REASON",
	"FUNCTION",   "STACK, THE RUNNING FUNCTION FIRST",  "CALL OF A DRIVER OR ITS LIBRARY"
};

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

void wording_append_time(struct text *text, const struct model *model, bool recorded)
{
	text_append_format(text, "%.0f s", seconds(model->end - model->begin));
	if (model->intervals > 1)
		text_append_format(text, ", every %.1f s", seconds(model->end - model->last_begin));
	if (!recorded)
		text_append_format(text, "; iaprof itself: %.2f %% of a CPU",
				   amount_percent(model->last_cost, model->last_wall));
	if (model->out_of_memory)
		text_append_string(text, "; out of memory: rows are missing");
	if (model->types_left_out)
		text_append_format(text, "; %" PRIu32 " value types are left out", model->types_left_out);
}

static void append_rate(struct text *text, const struct model_type *type, uint64_t duration)
{
	char amount[AMOUNT_SIZE], samples[AMOUNT_SIZE];
	bool is_count = !strcmp(type->unit, "count");
	amount_format(amount, amount_rate(type->last - type->last_lost, duration), type->unit);
	amount_format(samples, amount_rate(type->last_count, duration), "count");
	text_append_string(text, text->size ? "; " : "");
	text_append_string(text, type->name);
	text_append_format(text, " %s", amount);
	if (!is_count && strcmp(type->unit, "nanoseconds")) {
		text_append_string(text, " ");
		text_append_string(text, type->unit);
	}
	text_append_string(text, "/s");
	if (!is_count || type->last_count != type->last - type->last_lost)
		text_append_format(text, ", %s samples/s", samples);
}

void wording_append_rates(struct text *text, const struct model *model, uint32_t first)
{
	uint64_t duration = model->end - model->last_begin;
	if (first < model->type_count)
		append_rate(text, &model->types[first], duration);
	for (uint32_t i = 0; i < model->type_count; i++)
		if (i != first && model->types[i].run)
			append_rate(text, &model->types[i], duration);
	if (model->jobs_done || model->jobs_aborted) {
		char jobs[AMOUNT_SIZE];
		amount_format(jobs, amount_rate(model->last_jobs, duration), "count");
		text_append_format(text, "%sjobs %s/s, %" PRIu64 " aborted", text->size ? "; " : "", jobs,
				   model->jobs_aborted);
	}
	if (!text->size)
		text_append_string(text, "no samples yet");
}

bool wording_has_losses(const struct model *model)
{
	return model->loss_count > 0;
}

/* "cpu-stack: stack map full 300"; "?" for a number that nobody knows. */
static void append_loss(struct text *text, const struct model_loss *loss)
{
	text_append_string(text, loss->source);
	if (loss->reason[0]) {
		text_append_string(text, ": ");
		text_append_string(text, loss->reason);
	}
	if (loss->run || !loss->unknown)
		text_append_format(text, " %" PRIu64 "%s", loss->run, loss->unknown ? "+?" : "");
	else
		text_append_string(text, " ?");
}

void wording_append_losses(struct text *text, const struct model *model)
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

void wording_append_view(struct text *text, const struct model *model, const struct view *view, enum model_table table,
			 uint32_t type)
{
	text_append_string(text, model->types[type].name);
	if (view->of_run || model->intervals < 2)
		text_append_string(text, ", since the start");
	else
		text_append_format(text, ", last %.1f s", seconds(model->end - model->last_begin));
	if (table_has_total(table))
		text_append_string(text, view->by_total ? ", by total" : ", by self");
}

static void append_name(struct text *text, const struct model *model, uint32_t name)
{
	text_append_string(text, model->names.items[name].text);
	text_append_string(text, model->names.items[name].suffix);
}

/* The program and its process take the columns of the heading. */
static void append_program(struct text *text, const struct model *model, const uint32_t *key)
{
	char program[32], padded[64];
	snprintf(program, sizeof program, "%.15s", model->names.items[key[0]].text);
	if (key[1])
		snprintf(padded, sizeof padded, "%s:%" PRIu32, program, key[1]);
	else
		snprintf(padded, sizeof padded, "%s", program);
	text_append_format(text, "%-16s ", padded);
}

static void append_instruction(struct text *text, const struct model *model, const uint32_t *key)
{
	const char *file = model->names.items[key[2]].text;
	text_append_string(text, model->names.items[key[0]].text);
	text_append_format(text, "+0x%" PRIx64 " ", (uint64_t)key[4] << 32 | key[5]);
	text_append_string(text, model->names.items[key[1]].text);
	if (*file) {
		text_append_string(text, " ");
		text_append_string(text, file);
		text_append_format(text, ":%" PRIu32, key[3]);
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

void wording_append_row(struct text *text, const struct model *model, enum model_table table, const struct row *row,
			size_t limit, bool brief)
{
	const uint32_t *key = model->tables[table].numbers + row->first;
	if (!row->length)
		text_append_string(text, "[others, which found no room]");
	else if (table == TABLE_KERNELS) {
		if (!brief)
			append_program(text, model, key);
		text_append_string(text, model->names.items[key[2]].text);
	} else if (table == TABLE_INSTRUCTIONS)
		append_instruction(text, model, key);
	else
		append_stack(text, model, key, row->length, limit);
}
