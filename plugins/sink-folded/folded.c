/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink folded: one line per stack, "program;function;function VALUE", as read by flamegraph.pl, inferno and speedscope.
 * One file per value type that has values, or only the one selected by value=. For a differential profile, "STACK
 * BEFORE AFTER", as written by difffolded.pl and read by flamegraph.pl.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <iaprof/plugin.h>

#include "stacks/missing_stacks.h"
#include "stacks/stack_text.h"
#include "stacks/value_choice.h"

struct folded {
	const char *value; /* name of the selected value type; NULL: all */
	struct stack_text_options text;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct folded, value, STRING, "value", NULL,
		      "Write only this value type, such as cpu; by default one file per value type"),
	STACK_TEXT_OPTIONS(struct folded, text),
	IAPROF_OPTION(struct folded, text.classes, BOOL, "classes", "no",
		      "Show the class of a GPU kernel, such as attention, as the frame above it"),
};

static int folded_configure(const struct iaprof_host *host, void *instance)
{
	const struct folded *folded = instance;
	stack_text_request(&folded->text, host);
	return 0;
}

/* Appends " BEFORE" times a factor, without trailing zeros; flamegraph.pl reads decimals. */
static void append_before(struct text *line, const struct stack_rows *rows, const struct stack_row *row)
{
	double factor = iaprof_profile_value_type(rows->profile, row->value_type)->before_factor;
	if (factor == 1) {
		text_append_format(line, " %" PRIu64, row->before);
		return;
	}
	char number[512]; /* the largest double has 309 digits */
	size_t length = (size_t)snprintf(number, sizeof number, " %.3f", factor * (double)row->before);
	while (number[length - 1] == '0')
		length--;
	text_append(line, number, number[length - 1] == '.' ? length - 1 : length);
}

/* Writes the rows of one value type, starting at first, and sets count to their number. */
static int write_file(const struct iaprof_host *host, const struct stack_rows *rows, size_t first, size_t *count,
		      const char *variant)
{
	struct iaprof_output *output = host->output_open(host, variant, 0);
	if (!output)
		return -EIO;
	struct text line = { 0 };
	int result = 0;
	size_t i = first;
	for (; result == 0 && i < rows->count && rows->rows[i].value_type == rows->rows[first].value_type; i++) {
		stack_rows_append_stack(rows, &rows->rows[i], &line);
		if (rows->profile->flags & IAPROF_PROFILE_DIFFERENCE)
			append_before(&line, rows, &rows->rows[i]);
		text_append_format(&line, " %" PRIu64 "\n", rows->rows[i].value);
		result = text_write(&line, host, output);
	}
	*count = i - first;
	text_free(&line);
	if (result < 0) {
		host->output_discard(host, output);
		return result;
	}
	return host->output_close(host, output);
}

static int write_one(const struct iaprof_host *host, const struct stack_rows *rows, uint32_t value_type)
{
	size_t first = 0, count;
	while (first < rows->count && rows->rows[first].value_type != value_type)
		first++;
	return write_file(host, rows, first, &count, NULL);
}

/* Standard output can have only one value type. */
static int write_chosen(const struct iaprof_host *host, const struct stack_rows *rows)
{
	uint32_t chosen = value_type_best(rows->profile);
	struct text others = { 0 }, label = { 0 };
	for (size_t i = 0; i < rows->count; i++) {
		uint32_t value_type = rows->rows[i].value_type;
		if (value_type == chosen || (i && rows->rows[i - 1].value_type == value_type))
			continue;
		text_append_string(&others, others.size ? ", " : "");
		value_type_append_label(&others, rows->profile, value_type);
	}
	value_type_append_label(&label, rows->profile, chosen);
	host->log(host, IAPROF_LOG_WARNING, "standard output has only %s, not %s (use -o FILE for all, or value=NAME)",
		  text_string(&label), text_string(&others));
	text_free(&others);
	text_free(&label);
	return write_one(host, rows, chosen);
}

static int write_each(const struct iaprof_host *host, const struct stack_rows *rows)
{
	int result = 0;
	for (size_t first = 0, count; result == 0 && first < rows->count; first += count) {
		struct text label = { 0 };
		value_type_append_label(&label, rows->profile, rows->rows[first].value_type);
		const char *variant = text_string(&label);
		result = label.failed ? host->fail(host, ENOMEM, "out of memory for the output")
				      : write_file(host, rows, first, &count, variant);
		text_free(&label);
	}
	return result;
}

static int folded_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct folded *folded = instance;
	uint32_t wanted = VALUE_TYPE_NONE;
	missing_stacks_report(host, profile);
	if (folded->value) {
		wanted = value_type_find(host, profile, folded->value);
		if (wanted == VALUE_TYPE_NONE)
			return -EINVAL;
	}
	struct stack_rows rows;
	int result = stack_rows_make(&rows, profile, &folded->text);
	if (result < 0)
		host->fail(host, result, "out of memory for %zu stacks", profile->value_count);
	else if (wanted != VALUE_TYPE_NONE)
		result = write_one(host, &rows, wanted);
	else if (!rows.count || rows.rows[0].value_type == rows.rows[rows.count - 1].value_type)
		result = write_file(host, &rows, 0, &(size_t){ 0 }, NULL);
	else if (host->output_is_single(host))
		result = write_chosen(host, &rows);
	else
		result = write_each(host, &rows);
	stack_rows_free(&rows);
	return result;
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "folded",
	.finish = output_is_finished,
	.profile = folded_profile,
};

static const struct iaprof_plugin folded_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_DIFFERENCES | IAPROF_PLUGIN_DEFAULT,
	.name = "folded",
	.version = PLUGIN_VERSION,
	.description = "Folded stacks for flamegraph.pl, inferno and speedscope",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct folded),
	.sink = &operations,
	.configure = folded_configure,
};

IAPROF_REGISTER_PLUGIN(folded_plugin)
