/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two runs: see tables.h. */
#include "tables.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stacks/difference.h"
#include "stacks/stack_text.h"
#include "text/printable.h"
#include "text/quantity.h"

#define FUNCTIONS_SHOWN 15

/* Formats "1.25 s", "12"; signed: "+1.25 s". */
static struct quantity_text amount_text(double amount, const char *unit, bool is_signed)
{
	const char *sign = amount < 0 ? "-" : is_signed ? "+" : "";
	struct quantity_text made;
	double size = fabs(amount);
	if (!strcmp(unit, "nanoseconds"))
		snprintf(made.text, sizeof made.text, "%s%.30s", sign, quantity_time(size).text);
	else /* scaled counts have a fraction */
		snprintf(made.text, sizeof made.text, "%s%.*f", sign, fabs(size - round(size)) >= 1e-6, size);
	return made;
}

/* Self values of a function. */
struct change {
	uint32_t frame;
	double before, after;
};

static double difference_of(const struct change *change)
{
	return change->after - change->before;
}

static int by_difference(const void *a, const void *b)
{
	const struct change *left = a, *right = b;
	double more = difference_of(left), less = difference_of(right);
	return more != less ? (more < less ? 1 : -1) : (left->frame > right->frame) - (left->frame < right->frame);
}

static void add_up(const struct iaprof_profile *profile, uint32_t value_type, double factor, struct change *changes)
{
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (value->value_type != value_type)
			continue;
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		uint32_t leaf = stack->frame_count - 1;
		while (leaf && !frame_is_function(iaprof_profile_frame(profile, stack->frames[leaf])))
			leaf--;
		changes[stack->frames[leaf]].before += factor * (double)value->before;
		changes[stack->frames[leaf]].after += (double)value->value;
	}
}

static void print_change(const struct iaprof_profile *profile, const struct change *change, const char *unit, int width,
			 FILE *file)
{
	fprintf(file, "%12s %11s %11s  ", amount_text(difference_of(change), unit, true).text,
		amount_text(change->before, unit, false).text, amount_text(change->after, unit, false).text);
	frame_print(iaprof_profile_frame(profile, change->frame), width - 42, file);
}

/* Prints the functions that grew or shrank, largest change first; nothing if there is none. */
static void print_functions(const struct iaprof_profile *profile, const struct change *changes, bool grew,
			    const char *unit, int width, FILE *file)
{
	for (size_t i = 0; i < profile->frame_count && i < FUNCTIONS_SHOWN; i++) {
		const struct change *change = &changes[grew ? i : profile->frame_count - 1 - i];
		double difference = difference_of(change);
		if (grew ? difference <= 0 : difference >= 0)
			break;
		if (i == 0)
			fprintf(file, "\n      change      before       after  functions that %s most (self)\n",
				grew ? "grew" : "shrank");
		print_change(profile, change, unit, width, file);
	}
}

static void print_totals(const struct iaprof_profile *profile, uint32_t value_type, FILE *file)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(profile, value_type);
	struct difference_totals totals = difference_totals(profile, value_type);
	double before = type->before_factor * (double)totals.before, change = (double)totals.after - before;
	text_print_printable(type->name, INT_MAX, file);
	fprintf(file, ": %s", amount_text((double)totals.before, type->unit, false).text);
	if (profile->normalization != IAPROF_NORMALIZATION_NONE)
		fprintf(file, " times %.6g is %s", type->before_factor, amount_text(before, type->unit, false).text);
	fprintf(file, " before, %s after: %s", amount_text((double)totals.after, type->unit, false).text,
		amount_text(change, type->unit, true).text);
	if (before > 0)
		fprintf(file, " (%s%s)", change < 0 ? "-" : "+",
			quantity_fixed_share(fabs(change), before, 2, "%").text);
}

void difference_tables_print(const struct iaprof_profile *profile, uint32_t only, int width, FILE *file)
{
	CLEANUP_FREE struct change *changes = calloc(profile->frame_count + 1, sizeof *changes);
	for (uint32_t type = 0; changes && type < profile->value_type_count; type++) {
		const struct iaprof_value_type *shown = iaprof_profile_value_type(profile, type);
		struct difference_totals totals = difference_totals(profile, type);
		if ((!totals.before && !totals.after) || (only != VALUE_TYPE_NONE && type != only))
			continue;
		for (uint32_t i = 0; i < profile->frame_count; i++)
			changes[i] = (struct change){ .frame = i };
		add_up(profile, type, shown->before_factor, changes);
		qsort(changes, profile->frame_count, sizeof *changes, by_difference);
		fputc('\n', file);
		print_totals(profile, type, file);
		fputc('\n', file);
		print_functions(profile, changes, true, shown->unit, width < 60 ? 60 : width, file);
		print_functions(profile, changes, false, shown->unit, width < 60 ? 60 : width, file);
	}
}

void difference_totals_print(const struct iaprof_profile *profile, uint32_t only, FILE *file)
{
	static const char *const names[] = { "none", "total", "duration" };
	size_t shared = 0, before_only = 0, after_only = 0;
	for (uint32_t type = 0; type < profile->value_type_count; type++) {
		struct difference_totals totals = difference_totals(profile, type);
		if ((!totals.before && !totals.after) || (only != VALUE_TYPE_NONE && type != only))
			continue;
		*(!totals.before ? &after_only : !totals.after ? &before_only : &shared) += 1;
		print_totals(profile, type, file);
		/* Later versions may have others. */
		if (profile->normalization < sizeof names / sizeof *names)
			fprintf(file, " (--normalize %s)", names[profile->normalization]);
		fputc('\n', file);
		if (profile->normalization == IAPROF_NORMALIZATION_TOTAL && (!totals.before || !totals.after)) {
			fputs("warning: ", file);
			text_print_printable(iaprof_profile_value_type(profile, type)->name, INT_MAX, file);
			fputs(": not normalized (only one file has this value type)\n", file);
		}
	}
	if (!shared && before_only && after_only)
		fprintf(file, "warning: the files have no common value type\n");
}
