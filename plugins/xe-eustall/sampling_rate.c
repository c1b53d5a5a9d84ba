/* SPDX-License-Identifier: Apache-2.0 */
/* See sampling_rate.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sampling_rate.h"

int rate_choice_parse(const char *text, struct rate_choice *choice)
{
	char *end;

	*choice = (struct rate_choice){ 0 };
	if (!text || !strcmp(text, "slowest"))
		return 0;
	if (!strcmp(text, "auto")) {
		choice->automatic = true;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	unsigned long cycles = strtoul(text, &end, 10);
	if (errno || *end || !cycles || cycles > UINT32_MAX)
		return -EINVAL;
	choice->cycles = (uint32_t)cycles;
	return 0;
}

int rate_budget_parse(const char *text, double *share)
{
	double percent = 0, unit = 1;
	bool point = false, digits = false;

	/* Not strtod(), which depends on the locale. */
	for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		digits = true;
		percent = 10 * percent + (*text - '0');
		if (point)
			unit *= 10;
	}
	if (*text == '%')
		text++;
	percent /= unit;
	if (*text || !digits || !(percent > 0) || percent > 100)
		return -EINVAL;
	*share = percent / 100;
	return 0;
}

int rate_choice_find(const struct rate_choice *choice, const struct query_eu_stall *eu_stall)
{
	if (!choice->cycles)
		return (int)eu_stall->rate_count - 1;
	for (size_t i = 0; i < eu_stall->rate_count; i++)
		if (eu_stall->rates[i] == choice->cycles)
			return (int)i;
	return -ENOENT;
}

void rate_list_format(const struct query_eu_stall *eu_stall, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < eu_stall->rate_count && length < size; i++)
		length +=
			(size_t)snprintf(text + length, size - length, "%s%" PRIu32, i ? ", " : "", eu_stall->rates[i]);
}

void rate_control_init(struct rate_control *control, size_t position, uint64_t now)
{
	*control = (struct rate_control){ .position = position, .since = now };
}

size_t rate_control_next(struct rate_control *control, const struct query_eu_stall *eu_stall, uint64_t now,
			 bool overflowed, double share, double budget)
{
	size_t slowest = eu_stall->rate_count - 1;

	if (overflowed) {
		if (control->position < slowest)
			control->position++;
		/* Permanently: a rate that overflowed once will overflow again, and each change loses samples. */
		control->fastest = control->position;
		control->since = now;
	} else if (share > budget) {
		/* Temporarily: a program may be starting, or the machine is slow for a moment. */
		if (control->position < slowest) {
			control->position++;
			control->retry_wait = control->retry_wait ? 2 * control->retry_wait : RATE_RETRY;
			if (control->retry_wait > RATE_RETRY_MAX)
				control->retry_wait = RATE_RETRY_MAX;
			control->retry = now + control->retry_wait;
		}
		control->since = now;
	} else if (control->position > control->fastest && now >= control->retry &&
		   now - control->since >= RATE_QUIET) {
		/* The cost is proportional to the rate. */
		double faster = share * eu_stall->rates[control->position] / eu_stall->rates[control->position - 1];
		if (faster <= budget) {
			control->position--;
			control->since = now;
		}
	}
	return control->position;
}
