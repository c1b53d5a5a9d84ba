/* SPDX-License-Identifier: Apache-2.0 */
/* See gauges.h. */
#include "gauges.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void point_add(struct gauge_point *point, const struct gauge_point *more)
{
	if (!point->count) {
		*point = *more;
		return;
	}
	point->begin = more->begin < point->begin ? more->begin : point->begin;
	point->end = more->end > point->end ? more->end : point->end;
	point->minimum = more->minimum < point->minimum ? more->minimum : point->minimum;
	point->maximum = more->maximum > point->maximum ? more->maximum : point->maximum;
	/* Not by a sum, which may be beyond all numbers. */
	double count = (double)(point->count + more->count);
	point->mean = point->mean * ((double)point->count / count) + more->mean * ((double)more->count / count);
	point->count += more->count;
}

static void halve(struct gauge *gauge)
{
	for (uint32_t i = 0; i < gauge->point_count; i += 2) {
		struct gauge_point point = gauge->points[i];
		if (i + 1 < gauge->point_count)
			point_add(&point, &gauge->points[i + 1]);
		gauge->points[i / 2] = point;
	}
	gauge->point_count = (gauge->point_count + 1) / 2;
	gauge->together *= 2;
}

static void value_add(struct gauge *gauge, uint64_t time, double value)
{
	const struct gauge_point more = {
		.begin = time, .end = time, .count = 1, .minimum = value, .maximum = value, .mean = value
	};
	struct gauge_point *last = gauge->point_count ? &gauge->points[gauge->point_count - 1] : NULL;
	if (last && last->count < gauge->together) {
		point_add(last, &more);
		return;
	}
	if (gauge->point_count == GAUGE_POINTS_MAX)
		halve(gauge);
	gauge->points[gauge->point_count++] = more;
}

bool gauges_take(struct gauges *gauges, const struct definitions *definitions,
		 const struct iaprof_record_counter_value *record)
{
	const struct iaprof_record_counter *counter =
		definitions_find(definitions, IAPROF_RECORD_COUNTER, record->header.source, record->counter);
	if (!counter || counter->kind != IAPROF_COUNTER_GAUGE || !counter->device)
		return true;
	uint32_t i = 0;
	while (i < gauges->count &&
	       (gauges->items[i]->source != record->header.source || gauges->items[i]->counter != record->counter))
		i++;
	if (i == GAUGES_MAX) {
		gauges->dropped++;
		return true;
	}
	if (i == gauges->count) {
		struct gauge *gauge = calloc(1, sizeof *gauge);
		if (!gauge)
			return false;
		gauge->source = record->header.source;
		gauge->counter = record->counter;
		gauge->together = 1;
		gauges->items[gauges->count++] = gauge;
	}
	value_add(gauges->items[i], record->header.time, record->value);
	return true;
}

void gauges_widen(const struct gauges *gauges, uint64_t *begin, uint64_t *end)
{
	for (uint32_t i = 0; i < gauges->count; i++)
		for (uint32_t k = 0; k < gauges->items[i]->point_count; k++) {
			const struct gauge_point *point = &gauges->items[i]->points[k];
			*begin = point->begin < *begin ? point->begin : *begin;
			*end = point->end > *end ? point->end : *end;
		}
}

static void append_gauge(struct text *text, const struct gauge *gauge, const struct definitions *definitions,
			 uint64_t origin)
{
	const struct iaprof_record_counter *counter =
		definitions_find(definitions, IAPROF_RECORD_COUNTER, gauge->source, gauge->counter);
	const struct iaprof_record_device *device =
		definitions_find(definitions, IAPROF_RECORD_DEVICE, gauge->source, counter->device);
	text_append_string(text, "{\"name\":");
	text_append_json(text, definitions_text(definitions, counter->name));
	text_append_string(text, ",\"unit\":");
	text_append_json(text, definitions_text(definitions, counter->unit));
	text_append_string(text, ",\"device\":");
	text_append_json(text, device ? definitions_text(definitions, device->name) : "");
	text_append_format(text, ",\"together\":%" PRIu64 ",\"points\":[", gauge->together);
	for (uint32_t i = 0; i < gauge->point_count; i++) {
		const struct gauge_point *point = &gauge->points[i];
		text_append_format(text, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.17g,%.17g,%.17g]", i ? "," : "",
				   point->begin - origin, point->end - origin, point->count, point->minimum,
				   point->maximum, point->mean);
	}
	text_append_string(text, "]}");
}

void gauges_append(struct text *text, const struct gauges *gauges, const struct definitions *definitions,
		   uint64_t origin)
{
	text_append_string(text, "[");
	for (uint32_t i = 0; i < gauges->count; i++) {
		text_append_string(text, i ? "," : "");
		append_gauge(text, gauges->items[i], definitions, origin);
	}
	text_append_string(text, "]");
}

void gauges_free(struct gauges *gauges)
{
	for (uint32_t i = 0; i < gauges->count; i++)
		free(gauges->items[i]);
	*gauges = (struct gauges){ 0 };
}
