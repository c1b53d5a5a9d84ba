/* SPDX-License-Identifier: Apache-2.0 */
/* See quantity.h. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "text/quantity.h"

struct quantity_text quantity_number(double number)
{
	struct quantity_text made;
	double unit = 1;
	int digits = 0;

	while (number / unit >= 999.5)
		unit *= 10;
	for (double limit = 99.95; number < limit && digits < (number > 0 ? 8 : 2); limit /= 10)
		digits++;
	if (unit > 1)
		snprintf(made.text, sizeof made.text, "%.0f", round(number / unit) * unit);
	else
		snprintf(made.text, sizeof made.text, "%.*f", digits, number);
	return made;
}

struct quantity_text quantity_sum(uint64_t sum)
{
	struct quantity_text made;

	snprintf(made.text, sizeof made.text, sum == UINT64_MAX ? "more than %" PRIu64 : "%" PRIu64,
		 sum - (sum == UINT64_MAX));
	return made;
}

#define NOT_KNOWN ((struct quantity_text){ "-" })
/* Factor that makes binary fractions just below a half round up. */
#define HALVES_UP (1 + 1e-12)

struct quantity_text quantity_share(double part, double whole, const char *sign)
{
	double percent = 100 * part / whole;
	struct quantity_text made = { "" };

	if (!(whole > 0))
		return NOT_KNOWN;
	if (!(part > 0))
		snprintf(made.text, sizeof made.text, "0%s", sign);
	else if (percent < 0.01)
		snprintf(made.text, sizeof made.text, "<0.01%s", sign);
	else if (percent < 99.95)
		snprintf(made.text, sizeof made.text, "%#.3g%s", percent * HALVES_UP, sign);
	else
		snprintf(made.text, sizeof made.text, "%.*f%s", part < whole, part < whole ? 99.9 : percent * HALVES_UP,
			 sign);
	return made;
}

struct quantity_text quantity_fixed_share(double part, double whole, int decimals, const char *sign)
{
	struct quantity_text made;

	snprintf(made.text, sizeof made.text, "%.*f%s", decimals, whole > 0 ? 100 * part / whole : 0, sign);
	return made;
}

struct quantity_text quantity_per_second(double number, double nanoseconds)
{
	return nanoseconds > 0 ? quantity_number(number * 1e9 / nanoseconds) : NOT_KNOWN;
}

struct unit {
	double size;
	const char *name;
};

/* Formats an amount in the largest of the units that it has, which are ordered by size, the largest first. */
static struct quantity_text unit_format(double amount, const struct unit *units, size_t count)
{
	struct quantity_text made;
	size_t i = 0;

	/* 999.5 us are 1 ms. */
	while (i < count - 1 && amount < 0.9995 * units[i].size)
		i++;
	double number = amount / units[i].size;
	snprintf(made.text, sizeof made.text, number < 999.5 ? "%.3g %s" : "%.0f %s", number * HALVES_UP,
		 units[i].name);
	return made;
}

struct quantity_text quantity_count(double count)
{
	static const struct unit units[] = { { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e3, "k" } };
	struct quantity_text made;

	if (count >= 9999.5)
		return unit_format(count, units, sizeof units / sizeof *units);
	snprintf(made.text, sizeof made.text, "%.0f", round(count));
	return made;
}

struct quantity_text quantity_time(double nanoseconds)
{
	static const struct unit units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };

	return unit_format(nanoseconds, units, sizeof units / sizeof *units);
}

struct quantity_text quantity_measured_time(double nanoseconds)
{
	return nanoseconds > 0 ? quantity_time(nanoseconds) : NOT_KNOWN;
}

struct quantity_text quantity_value(double value, const char *unit)
{
	return strcmp(unit, "nanoseconds") ? quantity_count(value) : quantity_time(value);
}

struct quantity_text quantity_size(double bytes)
{
	static const struct unit units[] = {
		{ 1099511627776, "TiB" }, { 1073741824, "GiB" }, { 1048576, "MiB" }, { 1024, "KiB" }, { 1, "B" }
	};
	/* 1,023 KiB are 0.999 MiB, because four digits are too many. */
	size_t i = 0;

	while (i < sizeof units / sizeof *units - 1 && bytes < (i < 3 ? 999.5 * units[i + 1].size : units[i].size))
		i++;
	const struct unit *unit = &units[i];
	double number = bytes / unit->size;
	struct quantity_text made;

	if (unit->size > 1)
		snprintf(made.text, sizeof made.text, "%.*f %s",
			 number >= 99.95   ? 0
			 : number >= 9.995 ? 1
					   : 2,
			 number, unit->name);
	else
		snprintf(made.text, sizeof made.text, "%.0f B", bytes);
	return made;
}
