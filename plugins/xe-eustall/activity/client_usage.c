/* SPDX-License-Identifier: Apache-2.0 */
/* See client_usage.h. */
#include <string.h>
#include "client_usage.h"

/* The decimal number at the start of a value; more than 64 bits is none. */
static bool number_read(const char *value, size_t size, uint64_t *number)
{
	uint64_t sum = 0;
	size_t digits = 0;

	for (; digits < size && value[digits] >= '0' && value[digits] <= '9'; digits++)
		if (__builtin_mul_overflow(sum, 10u, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(value[digits] - '0'), &sum))
			return false;
	*number = sum;
	return digits > 0;
}

static bool key_is(const char *key, size_t size, const char *name)
{
	return size == strlen(name) && memcmp(key, name, size) == 0;
}

enum { HAS_ADDRESS = 1, HAS_CLIENT = 2, HAS_CYCLES = 4, HAS_TOTAL = 4 << USAGE_ENGINES };

/* Takes one line's key and value. Returns what the client's description has by it. */
static unsigned value_take(struct client_usage *usage, const char *key, size_t key_size, const char *value,
			   size_t value_size)
{
	static const char *const cycles[USAGE_ENGINES] = { "drm-cycles-ccs", "drm-cycles-rcs" };
	static const char *const totals[USAGE_ENGINES] = { "drm-total-cycles-ccs", "drm-total-cycles-rcs" };

	if (key_is(key, key_size, "drm-pdev")) {
		if (value_size == 0 || value_size >= sizeof usage->address || memchr(value, '\0', value_size))
			return 0;
		memcpy(usage->address, value, value_size);
		usage->address[value_size] = '\0';
		return HAS_ADDRESS;
	}
	if (key_is(key, key_size, "drm-client-id"))
		return number_read(value, value_size, &usage->client) ? HAS_CLIENT : 0;
	for (unsigned i = 0; i < USAGE_ENGINES; i++) {
		if (key_is(key, key_size, cycles[i]))
			return number_read(value, value_size, &usage->cycles[i]) ? HAS_CYCLES << i : 0;
		if (key_is(key, key_size, totals[i]))
			return number_read(value, value_size, &usage->total[i]) ? HAS_TOTAL << i : 0;
	}
	return 0;
}

bool client_usage_parse(const char *text, size_t size, struct client_usage *usage)
{
	const char *end = text + size;
	unsigned has = 0;

	memset(usage, 0, sizeof *usage);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;
		const char *colon = memchr(text, ':', (size_t)(line_end - text));
		if (colon) {
			const char *value = colon + 1;
			while (value < line_end && (*value == ' ' || *value == '\t'))
				value++;
			has |= value_take(usage, text, (size_t)(colon - text), value, (size_t)(line_end - value));
		}
		text = newline ? newline + 1 : end;
	}
	for (unsigned i = 0; i < USAGE_ENGINES; i++)
		usage->known[i] = has & (HAS_CYCLES << i) && has & (HAS_TOTAL << i);
	return has & HAS_ADDRESS && has & HAS_CLIENT;
}

uint64_t client_usage_busy(const struct client_usage *before, const struct client_usage *after, uint64_t time)
{
	uint64_t busy = 0;

	for (unsigned i = 0; i < USAGE_ENGINES; i++) {
		if (!before->known[i] || !after->known[i] || after->cycles[i] <= before->cycles[i] ||
		    after->total[i] <= before->total[i])
			continue;
		uint64_t cycles = after->cycles[i] - before->cycles[i], total = after->total[i] - before->total[i];
		/* An engine class with several engines adds up more than the time: at most 16
		 * (XE_HW_ENGINE_MAX_INSTANCE). */
		if (cycles / 16 > total)
			cycles = total;
		busy += (uint64_t)((unsigned __int128)time * cycles / total);
	}
	return busy;
}
