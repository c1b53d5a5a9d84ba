/* SPDX-License-Identifier: Apache-2.0 */
/* Sink otlp-metrics: sends metrics of a run to an OpenTelemetry Collector: own cost, rates, losses, use of devices. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <iaprof/plugin.h>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "metrics/own_cost.h"
#include "metrics_message.h"
#include "otlp/exporter.h"
#include "otlp/resource.h"

/* As OTEL_METRIC_EXPORT_INTERVAL. */
#define INTERVAL_DEFAULT (60 * NANOSECONDS_PER_SECOND)

static const struct otlp_signal signal_metrics = { "METRICS", "/v1/metrics", "data point", "otlp-metrics", NULL };

struct otlp_metrics {
	struct otlp_options options;

	struct otlp_exporter exporter;
	struct resource resource;
	struct metrics metrics;
	uint64_t start; /* CLOCK_REALTIME ns */
	struct own_cost cost;
	uint32_t command; /* pid; 0: none */
};

static const struct iaprof_option options[] = {
	OTLP_OPTIONS(struct otlp_metrics, options),
};

static int otlp_metrics_configure(const struct iaprof_host *host, void *instance)
{
	const struct otlp_metrics *sink = instance;
	host->default_interval(host, INTERVAL_DEFAULT);
	return otlp_exporter_configure(host, &sink->options, &signal_metrics);
}

static void otlp_metrics_check(const struct iaprof_host *host, void *instance)
{
	const struct otlp_metrics *sink = instance;
	otlp_exporter_check(host, &sink->options, &signal_metrics);
}

static int otlp_metrics_prepare(const struct iaprof_host *host, void *instance)
{
	struct otlp_metrics *sink = instance;
	const struct iaprof_target *target = host->target(host);
	const char *attributes = getenv("OTEL_RESOURCE_ATTRIBUTES"), *service = getenv("OTEL_SERVICE_NAME");
	bool is_recorded = target->flags & IAPROF_TARGET_RECORDED;
	int result = otlp_exporter_open(&sink->exporter, host, &sink->options, &signal_metrics);
	if (result)
		return result;
	sink->command = target->command_pid;
	sink->start = clock_read(CLOCK_REALTIME);
	bool good = metrics_init(&sink->metrics, is_recorded) &&
		    (!service || resource_add(&sink->resource, "service.name", service)) &&
		    (!attributes || resource_add_list(&sink->resource, attributes)) &&
		    resource_add(&sink->resource, "service.name", "iaprof") &&
		    resource_add(&sink->resource, "service.version", PLUGIN_VERSION) &&
		    (is_recorded || resource_add_machine(&sink->resource));
	return good ? 0 : host->fail(host, ENOMEM, "out of memory");
}

static int otlp_metrics_start(const struct iaprof_host *host, void *instance)
{
	struct otlp_metrics *sink = instance;
	return otlp_exporter_start(&sink->exporter);
}

static int otlp_metrics_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct otlp_metrics *sink = instance;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		metrics_take_record(&sink->metrics, record);
	return 0;
}

/* An interval has ended. */
static int otlp_metrics_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct otlp_metrics *sink = instance;
	const struct metrics_interval interval = { .start = sink->start, .end = clock_read(CLOCK_REALTIME) };
	struct text message = { 0 };
	uint32_t count = 0;
	own_cost_update(&sink->cost, sink->command);
	metrics_take_profile(&sink->metrics, profile);
	if (metrics_message_append(&message, &sink->metrics, &sink->cost, &sink->resource, &interval, &count))
		return otlp_exporter_send(&sink->exporter, host, &message, count);
	text_free(&message);
	return host->fail(host, ENOMEM, "out of memory");
}

static int otlp_metrics_finish(const struct iaprof_host *host, void *instance)
{
	struct otlp_metrics *sink = instance;
	return otlp_exporter_finish(&sink->exporter, host);
}

static void otlp_metrics_destroy(const struct iaprof_host *host, void *instance)
{
	struct otlp_metrics *sink = instance;
	otlp_exporter_close(&sink->exporter);
	metrics_free(&sink->metrics);
	resource_free(&sink->resource);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.check = otlp_metrics_check,
	.prepare = otlp_metrics_prepare,
	.start = otlp_metrics_start,
	.finish = otlp_metrics_finish,
	.records = otlp_metrics_records,
	.profile = otlp_metrics_profile,
};

static const struct iaprof_plugin otlp_metrics_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS | IAPROF_PLUGIN_NO_OUTPUT,
	.name = "otlp-metrics",
	.version = PLUGIN_VERSION,
	.description = "Metrics for an OpenTelemetry Collector (OTLP over HTTP)",
	.instance_size = sizeof(struct otlp_metrics),
	.sink = &operations,
	.configure = otlp_metrics_configure,
	.destroy = otlp_metrics_destroy,
};

IAPROF_REGISTER_PLUGIN(otlp_metrics_plugin)
