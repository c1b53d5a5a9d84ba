/* SPDX-License-Identifier: Apache-2.0 */
/* See exposition.h. */
#include "exposition.h"

#include <inttypes.h>

#include "base/clock.h"
#include "metrics/metric_families.h"

static void append_family(void *context, const struct metric_family *family)
{
	if (!family->prometheus)
		return;
	text_append_format(context, "# HELP %s %s\n# TYPE %s %s\n", family->prometheus, family->help,
			   family->prometheus, family->kind == METRIC_COUNTER ? "counter" : "gauge");
}

static void append_point(void *context, const struct metric_family *family, const struct metric_label *labels,
			 struct metric_number number)
{
	struct text *text = context;
	const char *separator = "{";
	if (!family->prometheus)
		return;
	text_append_string(text, family->prometheus);
	for (; labels->name; labels++) {
		if (!*labels->value)
			continue;
		text_append_format(text, "%s%s=", separator, labels->name);
		/* Quotes and backslashes are escaped as in JSON, and there are no line breaks. */
		text_append_json(text, labels->value);
		separator = ",";
	}
	text_append_string(text, *separator == ',' ? "} " : " ");
	if (number.type == METRIC_INTEGER)
		text_append_format(text, "%" PRIu64 "\n", number.integer);
	else if (number.type == METRIC_NANOSECONDS)
		text_append_format(text, "%" PRIu64 ".%09" PRIu64 "\n", number.integer / NANOSECONDS_PER_SECOND,
				   number.integer % NANOSECONDS_PER_SECOND);
	else
		text_append_format(text, "%.12g\n", number.real);
}

void exposition_append(struct text *text, const struct metrics *metrics, const struct own_cost *cost)
{
	const struct metric_visitor visitor = { .context = text, .family = append_family, .point = append_point };
	metric_families_visit(metrics, cost, &visitor);
}
