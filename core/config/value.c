/* SPDX-License-Identifier: Apache-2.0 */
/* Values as users write them: see value.h. */
#include "config/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

/* From the largest to the smallest; if several produce equally short texts, the first is used. */
static const struct unit duration_units[] = {
	{ "h", 3600000000000 }, { "m", 60000000000 }, { "s", 1000000000 },
	{ "ms", 1000000 },      { "us", 1000 },       { "ns", 1 },
};
static const struct unit size_units[] = {
	{ "GiB", 1 << 30 }, { "GB", 1000000000 }, { "MiB", 1 << 20 }, { "MB", 1000000 },
	{ "KiB", 1 << 10 }, { "kB", 1000 },       { "B", 1 },
};

#define UNIT_COUNT(units) (sizeof(units) / sizeof *(units))

/* Further digits of a fraction do not change the result: the largest unit is 3.6e12. */
#define FRACTION_DIGITS_MAX 18

/* Longest name of a plugin or key; no suggestion is made for longer ones. */
#define NAME_LENGTH_MAX 63

int value_parse_bool(const char *text, bool *value)
{
	static const char *const yes[] = { "yes", "true", "on", "1" };
	static const char *const no[] = { "no", "false", "off", "0" };

	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
		bool is_yes = strcasecmp(text, yes[i]) == 0;
		if (is_yes || strcasecmp(text, no[i]) == 0) {
			*value = is_yes;
			return 0;
		}
	}
	return -EINVAL;
}

/* Returns the value of a digit in a base, independent of the locale; -1: not a digit. */
static int digit_value(char digit, int base)
{
	int value = -1;
	if (digit >= '0' && digit <= '9')
		value = digit - '0';
	else if (digit >= 'a' && digit <= 'f')
		value = digit - 'a' + 10;
	else if (digit >= 'A' && digit <= 'F')
		value = digit - 'A' + 10;
	return value < base ? value : -1;
}

/* Reads digits up to the first other character. Continues after an overflow, so that syntax errors take precedence. */
static const char *read_digits(const char *text, int base, uint64_t *value, bool *overflow)
{
	*value = 0;
	*overflow = false;
	for (int digit; (digit = digit_value(*text, base)) >= 0; text++)
		if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
		    __builtin_add_overflow(*value, (uint64_t)digit, value))
			*overflow = true;
	return text;
}

int value_parse_uint(const char *text, uint64_t *value)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = text + (hexadecimal ? 2 : 0);
	bool overflow;
	uint64_t number;
	const char *end = read_digits(digits, hexadecimal ? 16 : 10, &number, &overflow);

	if (end == digits || *end)
		return -EINVAL;
	if (overflow)
		return -ERANGE;
	*value = number;
	return 0;
}

static const char *skip_digits(const char *text)
{
	while (digit_value(*text, 10) >= 0)
		text++;
	return text;
}

/* Returns whether text is a decimal number. strtod() also accepts blanks, hexadecimal, "inf" and "nan". */
static bool is_decimal(const char *text)
{
	text += *text == '+' || *text == '-';
	const char *whole = text;
	text = skip_digits(text);
	size_t digits = (size_t)(text - whole);
	if (*text == '.') {
		const char *fraction = ++text;
		text = skip_digits(text);
		digits += (size_t)(text - fraction);
	}
	if (digits == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		const char *exponent = text;
		text = skip_digits(text);
		if (text == exponent)
			return false;
	}
	return *text == '\0';
}

int value_parse_double(const char *text, double *value)
{
	if (!is_decimal(text))
		return -EINVAL;
	locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!locale)
		return -ENOMEM;
	double number = strtod_l(text, NULL, locale);
	freelocale(locale);
	if (!isfinite(number))
		return -ERANGE;
	*value = number;
	return 0;
}

/* Parses a decimal number, optional blanks and an optional unit; default_factor applies without a unit. */
static int parse_quantity(const char *text, const struct unit *units, size_t unit_count, uint64_t default_factor,
			  uint64_t *value)
{
	uint64_t whole, fraction = 0, fraction_scale = 1, factor = default_factor;
	bool overflow, has_fraction = false;
	const char *end = read_digits(text, 10, &whole, &overflow);
	bool has_digits = end > text;

	if (*end == '.') {
		const char *digits = ++end;
		for (; digit_value(*end, 10) >= 0; end++) {
			has_fraction |= *end != '0';
			if (end - digits < FRACTION_DIGITS_MAX) {
				fraction = fraction * 10 + (uint64_t)digit_value(*end, 10);
				fraction_scale *= 10;
			}
		}
		if (end == digits)
			return -EINVAL;
		has_digits = true;
	}
	if (!has_digits)
		return -EINVAL;
	const char *unit = end + strspn(end, " \t");
	if (*end) {
		size_t i = 0;
		while (i < unit_count && strcmp(unit, units[i].name) != 0)
			i++;
		if (i == unit_count)
			return -EINVAL;
		factor = units[i].factor;
	}
	/* Rounds to the nearest value; a nonzero value that would become 0 is out of range. */
	uint64_t part = (uint64_t)(((unsigned __int128)fraction * factor + fraction_scale / 2) / fraction_scale);
	uint64_t total;
	if (overflow || __builtin_mul_overflow(whole, factor, &total) || __builtin_add_overflow(total, part, &total) ||
	    (total == 0 && has_fraction))
		return -ERANGE;
	*value = total;
	return 0;
}

int value_parse_duration_in(const char *text, const char *plain_unit, uint64_t *value)
{
	uint64_t factor = 1000000000;
	for (size_t i = 0; plain_unit && i < UNIT_COUNT(duration_units); i++)
		if (strcmp(duration_units[i].name, plain_unit) == 0)
			factor = duration_units[i].factor;
	return parse_quantity(text, duration_units, UNIT_COUNT(duration_units), factor, value);
}

int value_parse_duration(const char *text, uint64_t *value)
{
	return value_parse_duration_in(text, NULL, value);
}

int value_parse_size(const char *text, uint64_t *value)
{
	return parse_quantity(text, size_units, UNIT_COUNT(size_units), 1, value);
}

/* Formats a value in one unit. Returns false if that is below 1 or not exact with few decimals. */
static bool format_in_unit(uint64_t value, const struct unit *unit, char *text, size_t size)
{
	uint64_t whole = value / unit->factor, rest = value % unit->factor;
	char decimals[11] = "";
	size_t count = 0;

	if (whole == 0)
		return false;
	if (rest)
		decimals[count++] = '.';
	for (; rest && count < sizeof decimals - 1; rest = rest * 10 % unit->factor)
		decimals[count++] = (char)('0' + rest * 10 / unit->factor);
	snprintf(text, size, "%" PRIu64 "%s%s", whole, decimals, unit->name);
	return rest == 0;
}

static void format_quantity(uint64_t value, const struct unit *units, size_t unit_count, const char *zero, char *text,
			    size_t size)
{
	char candidate[48], best[48];
	size_t best_length = SIZE_MAX;

	snprintf(best, sizeof best, "%s", zero);
	for (size_t i = 0; i < unit_count; i++) {
		if (!format_in_unit(value, &units[i], candidate, sizeof candidate))
			continue;
		size_t length = strlen(candidate);
		if (length < best_length) {
			best_length = length;
			memcpy(best, candidate, length + 1);
		}
	}
	snprintf(text, size, "%s", best);
}

void value_format_duration(uint64_t value, char *text, size_t size)
{
	format_quantity(value, duration_units, UNIT_COUNT(duration_units), "0s", text, size);
}

void value_format_size(uint64_t value, char *text, size_t size)
{
	format_quantity(value, size_units, UNIT_COUNT(size_units), "0B", text, size);
}

struct value_excerpt value_excerpt(const char *text)
{
	struct value_excerpt excerpt;
	size_t length = strnlen(text, sizeof excerpt.text);
	if (length < sizeof excerpt.text) {
		memcpy(excerpt.text, text, length + 1);
		return excerpt;
	}
	length = sizeof excerpt.text - 4;
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--; /* not within a UTF-8 character */
	memcpy(excerpt.text, text, length);
	memcpy(excerpt.text + length, "...", 4);
	return excerpt;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns the number of letters to insert, delete, change or swap. Both texts have at most NAME_LENGTH_MAX bytes. */
static size_t edit_distance(const char *from, const char *to)
{
	size_t rows[3][NAME_LENGTH_MAX + 1];
	size_t from_length = strlen(from), to_length = strlen(to);

	for (size_t j = 0; j <= to_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= from_length; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= to_length; j++) {
			bool same = tolower((unsigned char)from[i - 1]) == tolower((unsigned char)to[j - 1]);
			row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
				row[j] = smaller(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[from_length % 3][to_length];
}

const char *value_nearest_name(const char *text, const char *const *names)
{
	const char *nearest = NULL;
	size_t length = strlen(text);

	if (length == 0 || length > NAME_LENGTH_MAX)
		return NULL;
	/* At most one error per three letters. */
	size_t best = (length == 1 ? 0 : length < 6 ? 1 : length / 3) + 1;
	for (const char *const *name = names; *name; name++) {
		if (strlen(*name) > NAME_LENGTH_MAX)
			continue;
		size_t distance = edit_distance(text, *name);
		if (distance < best) {
			best = distance;
			nearest = *name;
		}
	}
	/* Otherwise, suggests a name that begins with the text, such as "freq". */
	for (const char *const *name = names; !nearest && length >= 3 && *name; name++)
		if (strncmp(text, *name, length) == 0)
			nearest = *name;
	return nearest;
}
