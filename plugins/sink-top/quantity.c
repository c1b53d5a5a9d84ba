/* SPDX-License-Identifier: Apache-2.0 */
/* Formats quantities: see quantity.h. */
#include "quantity.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct step {
	double size;
	const char *name;
};

static void format_steps(char text[QUANTITY_SIZE], double amount, const struct step *steps, size_t count)
{
	size_t i = 0;
	while (i + 1 < count && amount < steps[i].size)
		i++;
	double shown = amount / steps[i].size;
	int digits = shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
	snprintf(text, QUANTITY_SIZE, "%.*f%s", digits, shown, steps[i].name);
}

void quantity_format(char text[QUANTITY_SIZE], double amount, const char *unit)
{
	static const struct step times[] = { { 1e9, " s" }, { 1e6, " ms" }, { 1e3, " us" }, { 1, " ns" } };
	static const struct step counts[] = { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } };
	if (!strcmp(unit, "nanoseconds"))
		format_steps(text, amount, times, sizeof times / sizeof *times);
	else if (amount < 9999.5)
		snprintf(text, QUANTITY_SIZE, "%.0f", amount);
	else
		format_steps(text, amount, counts, sizeof counts / sizeof *counts);
}

double quantity_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

double quantity_rate(uint64_t amount, uint64_t nanoseconds)
{
	return nanoseconds ? (double)amount * 1e9 / (double)nanoseconds : 0;
}
