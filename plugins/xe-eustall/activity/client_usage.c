/* SPDX-License-Identifier: Apache-2.0 */
/* See client_usage.h. */
#include <string.h>
#include "client_usage.h"
#include "text/text_span.h"

enum { HAS_ADDRESS = 1, HAS_CLIENT = 2, HAS_CYCLES = 4, HAS_TOTAL = 4 << USAGE_ENGINES };

/* Handles the key and value of a line. Returns the flags of the members that it sets. */
static unsigned value_take(struct client_usage *usage, struct text_span key, struct text_span value)
{
	static const char *const cycles[USAGE_ENGINES] = { "drm-cycles-ccs", "drm-cycles-rcs" };
	static const char *const totals[USAGE_ENGINES] = { "drm-total-cycles-ccs", "drm-total-cycles-rcs" };

	if (span_is(key, "drm-pdev")) {
		if (!value.length || value.length >= sizeof usage->address || memchr(value.text, '\0', value.length))
			return 0;
		memcpy(usage->address, value.text, value.length);
		usage->address[value.length] = '\0';
		return HAS_ADDRESS;
	}
	if (span_is(key, "drm-client-id"))
		return span_take_decimal(&value, &usage->client) ? HAS_CLIENT : 0;
	for (unsigned i = 0; i < USAGE_ENGINES; i++) {
		if (span_is(key, cycles[i]))
			return span_take_decimal(&value, &usage->cycles[i]) ? HAS_CYCLES << i : 0;
		if (span_is(key, totals[i]))
			return span_take_decimal(&value, &usage->total[i]) ? HAS_TOTAL << i : 0;
	}
	return 0;
}

bool client_usage_parse(const char *text, size_t size, struct client_usage *usage)
{
	struct text_span rest = { text, size }, line, key;
	unsigned has = 0;

	memset(usage, 0, sizeof *usage);
	while (span_take_field(&rest, '\n', &line))
		if (span_take_field(&line, ':', &key) && line.text)
			has |= value_take(usage, key, span_trim(line));
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
		/*
		 * An engine class with several engines exceeds the elapsed time: at most 16 engines
		 * (XE_HW_ENGINE_MAX_INSTANCE).
		 */
		if (cycles / 16 > total)
			cycles = total;
		busy += (uint64_t)((unsigned __int128)time * cycles / total);
	}
	return busy;
}
