/* SPDX-License-Identifier: Apache-2.0 */
/* See metrics_message.h. */
#include "metrics_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "metrics/metric_families.h"
#include "otlp.pb-c.h"

#define FAMILIES_MAX 32u
/* Of a family: each device with each container. */
#define POINTS_MAX (METRIC_DEVICES_MAX * METRIC_CONTAINERS_MAX)
#define LABELS_MAX 8u

/* A request under construction. */
struct request {
	struct message_pool pool;
	const struct metrics_interval *interval;
	Otlp__Metric *metrics[FAMILIES_MAX];
	size_t metric_count;
	bool is_open;                              /* the last metric is that of the family in progress */
	Otlp__NumberDataPoint *points[POINTS_MAX]; /* of the family in progress */
	size_t point_count;
	uint32_t total;
};

/* Labels of Prometheus as attributes: of the semantic conventions where these have one. */
static const struct {
	const char *label, *attribute;
} attributes[] = {
	{ "source", "iaprof.source" },   { "type", "iaprof.value.type" }, { "reason", "iaprof.reason" },
	{ "state", "iaprof.job.state" }, { "device", "hw.name" },         { "address", "hw.id" },
};

static bool is_container_id(const char *name)
{
	return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

static const char *attribute_of(const struct metric_family *family, const struct metric_label *label)
{
	if (strcmp(label->name, "engine") == 0)
		return strncmp(family->otlp, "hw.", 3) == 0 ? "hw.gpu.task" : "iaprof.device.engine";
	if (strcmp(label->name, "container") == 0)
		return is_container_id(label->value) ? "container.id" : "container.name";
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
		if (strcmp(attributes[i].label, label->name) == 0)
			return attributes[i].attribute;
	return label->name;
}

static const char *value_of(const struct metric_label *labels, const char *name)
{
	for (; labels->name; labels++)
		if (strcmp(labels->name, name) == 0)
			return labels->value;
	return "";
}

static void put_attributes(struct request *request, const struct metric_family *family,
			   const struct metric_label *labels, Otlp__NumberDataPoint *point)
{
	point->attributes = message_pool_get(&request->pool, LABELS_MAX, sizeof *point->attributes);
	const struct metric_label *label = labels;
	for (; point->attributes && label->name && point->n_attributes < LABELS_MAX; label++) {
		const char *value = label->value;
		/* The conventions require an id. */
		if (!*value && strcmp(label->name, "address") == 0)
			value = value_of(labels, "device");
		Otlp__KeyValue *pair =
			*value ? resource_message_pair(&request->pool, attribute_of(family, label), value) : NULL;
		if (pair)
			point->attributes[point->n_attributes++] = pair;
	}
}

/* Moves the points of the family in progress into its metric. */
static void close_family(struct request *request)
{
	Otlp__Metric *metric = request->is_open ? request->metrics[request->metric_count - 1] : NULL;
	Otlp__NumberDataPoint **points;
	request->is_open = false;
	if (!metric)
		return;
	if (!request->point_count) { /* is not known */
		request->metric_count--;
		return;
	}
	points = message_pool_get(&request->pool, request->point_count, sizeof *points);
	if (!points)
		return;
	memcpy(points, request->points, request->point_count * sizeof *points);
	if (metric->data_case == OTLP__METRIC__DATA_GAUGE) {
		metric->gauge->data_points = points;
		metric->gauge->n_data_points = request->point_count;
	} else {
		metric->sum->data_points = points;
		metric->sum->n_data_points = request->point_count;
	}
	request->total += (uint32_t)request->point_count;
	request->point_count = 0;
}

static void open_family(void *context, const struct metric_family *family)
{
	struct request *request = context;
	close_family(request);
	Otlp__Metric *metric = family->otlp && request->metric_count < FAMILIES_MAX
				       ? message_pool_get(&request->pool, 1, sizeof *metric)
				       : NULL;
	Otlp__Gauge *gauge = message_pool_get(&request->pool, 1, sizeof *gauge);
	Otlp__Sum *sum = message_pool_get(&request->pool, 1, sizeof *sum);
	if (!metric || !gauge || !sum)
		return;
	otlp__metric__init(metric);
	metric->name = (char *)(uintptr_t)family->otlp;
	metric->description = (char *)(uintptr_t)family->help;
	metric->unit = (char *)(uintptr_t)family->unit;
	if (family->kind == METRIC_GAUGE) {
		otlp__gauge__init(gauge);
		metric->data_case = OTLP__METRIC__DATA_GAUGE;
		metric->gauge = gauge;
	} else {
		otlp__sum__init(sum);
		sum->aggregation_temporality = OTLP__TEMPORALITY__CUMULATIVE;
		sum->is_monotonic = family->kind == METRIC_COUNTER;
		metric->data_case = OTLP__METRIC__DATA_SUM;
		metric->sum = sum;
	}
	request->metrics[request->metric_count++] = metric;
	request->is_open = true;
}

static void add_point(void *context, const struct metric_family *family, const struct metric_label *labels,
		      struct metric_number number)
{
	struct request *request = context;
	Otlp__NumberDataPoint *point = family->otlp && request->point_count < POINTS_MAX
					       ? message_pool_get(&request->pool, 1, sizeof *point)
					       : NULL;
	if (!point)
		return;
	otlp__number_data_point__init(point);
	point->start_time_unix_nano = family->kind == METRIC_GAUGE ? 0 : request->interval->start;
	point->time_unix_nano = request->interval->end;
	if (number.type == METRIC_INTEGER) {
		point->value_case = OTLP__NUMBER_DATA_POINT__VALUE_AS_INT;
		point->as_int = number.integer > INT64_MAX ? INT64_MAX : (int64_t)number.integer;
	} else {
		point->value_case = OTLP__NUMBER_DATA_POINT__VALUE_AS_DOUBLE;
		point->as_double = number.type == METRIC_REAL ? number.real
							      : (double)number.integer / (double)NANOSECONDS_PER_SECOND;
	}
	put_attributes(request, family, labels, point);
	request->points[request->point_count++] = point;
}

static bool request_append(struct request *request, const struct resource *resource, struct text *text)
{
	Otlp__MetricsRequest message = OTLP__METRICS_REQUEST__INIT;
	Otlp__ResourceMetrics of_resource = OTLP__RESOURCE_METRICS__INIT, *resources[] = { &of_resource };
	Otlp__ScopeMetrics of_scope = OTLP__SCOPE_METRICS__INIT, *scopes[] = { &of_scope };
	Otlp__Scope scope = OTLP__SCOPE__INIT;
	scope.name = (char *)(uintptr_t) "iaprof";
	scope.version = (char *)(uintptr_t)PLUGIN_VERSION;
	of_scope.scope = &scope;
	of_scope.metrics = request->metrics;
	of_scope.n_metrics = request->metric_count;
	of_resource.resource = resource_message(&request->pool, (const struct resource *[]){ resource, NULL });
	of_resource.scope_metrics = scopes;
	of_resource.n_scope_metrics = 1;
	message.resource_metrics = resources;
	message.n_resource_metrics = 1;
	if (request->pool.failed || !text_reserve(text, otlp__metrics_request__get_packed_size(&message)))
		return false;
	text->size += otlp__metrics_request__pack(&message, (uint8_t *)text->data + text->size);
	return true;
}

bool metrics_message_append(struct text *text, const struct metrics *metrics, const struct own_cost *cost,
			    const struct resource *resource, const struct metrics_interval *interval, uint32_t *count)
{
	struct request *request = calloc(1, sizeof *request);
	if (!request)
		return false;
	const struct metric_visitor visitor = { .context = request, .family = open_family, .point = add_point };
	request->interval = interval;
	metric_families_visit(metrics, cost, &visitor);
	close_family(request);
	*count = request->total;
	bool good = request_append(request, resource, text);
	arena_free(&request->pool.memory);
	free(request);
	return good;
}
