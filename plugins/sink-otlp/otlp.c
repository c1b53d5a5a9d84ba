/* SPDX-License-Identifier: Apache-2.0 */
/* Sink otlp: sends profiles to an OpenTelemetry Collector, or another receiver of OTLP profiles over HTTP. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <iaprof/plugin.h>

#include "base/clock.h"
#include "message.h"
#include "otlp/exporter.h"
#include "resources.h"

#define INTERVAL_DEFAULT (10 * NANOSECONDS_PER_SECOND)

static const struct otlp_signal signal_profiles = {
	"PROFILES", "/v1development/profiles", "profile", "otlp-profiles",
	"set a smaller request-size=, or a larger max_request_body_size of the receiver"
};

struct otlp {
	struct otlp_options options;
	struct message_options message;

	struct otlp_exporter exporter;
	struct resources resources;
	bool has_refused; /* that attributes of processes are not sent was reported */
};

static const struct iaprof_option options[] = {
	OTLP_OPTIONS(struct otlp, options),
	IAPROF_OPTION(struct otlp, message.lines, BOOL, "lines", "yes", "Source lines and inlined functions (DWARF)"),
	IAPROF_OPTION(struct otlp, message.links, BOOL, "links", "yes",
		      "Links of samples to the spans of traces that their threads worked on"),
	IAPROF_OPTION(struct otlp, message.size, SIZE, "request-size", "16MiB",
		      "Maximum size of a request before compression; larger profiles are sent in parts",
		      .minimum = 1 << 14),
};

static int otlp_configure(const struct iaprof_host *host, void *instance)
{
	const struct otlp *otlp = instance;
	host->request(host, IAPROF_REQUEST_THREADS | (otlp->message.lines ? IAPROF_REQUEST_LINES : 0u) |
				    (otlp->message.links ? IAPROF_REQUEST_SPANS : 0u));
	host->default_interval(host, INTERVAL_DEFAULT);
	return otlp_exporter_configure(host, &otlp->options, &signal_profiles);
}

static void otlp_check(const struct iaprof_host *host, void *instance)
{
	const struct otlp *sink = instance;
	otlp_exporter_check(host, &sink->options, &signal_profiles);
}

static int otlp_prepare(const struct iaprof_host *host, void *instance)
{
	struct otlp *otlp = instance;
	bool is_recorded = host->target(host)->flags & IAPROF_TARGET_RECORDED;
	int result = otlp_exporter_open(&otlp->exporter, host, &otlp->options, &signal_profiles);
	if (!result && !resources_init(&otlp->resources, getenv("OTEL_RESOURCE_ATTRIBUTES"), is_recorded))
		result = host->fail(host, ENOMEM, "out of memory");
	return result;
}

static int otlp_start(const struct iaprof_host *host, void *instance)
{
	struct otlp *otlp = instance;
	return otlp_exporter_start(&otlp->exporter);
}

static int otlp_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct otlp *otlp = instance;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		resources_take(&otlp->resources, record);
	return 0;
}

/* Context of the function that passes on a request. */
struct delivery_target {
	struct otlp_exporter *exporter;
	const struct iaprof_host *host;
};

static bool send_request(void *context, struct text *message, uint32_t count)
{
	const struct delivery_target *target = context;
	return otlp_exporter_send(target->exporter, target->host, message, count) == 0;
}

/* Reports once that attributes which processes choose are beyond the limit of their user. */
static void report_refused(const struct iaprof_host *host, struct otlp *otlp)
{
	uint32_t user = 0;
	if (otlp->has_refused || !user_accounts_refused(&otlp->resources.users, &user))
		return;
	otlp->has_refused = true;
	host->log(host, IAPROF_LOG_WARNING,
		  "service attributes of processes of user %" PRIu32
		  " are omitted: more than %u different resources of a user",
		  user, RESOURCES_USER_MAX);
}

static int otlp_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct otlp *otlp = instance;
	struct delivery_target target = { &otlp->exporter, host };
	report_refused(host, otlp);
	if (message_make(profile, &otlp->resources, &otlp->message, send_request, &target))
		return 0;
	return host->fail(host, ENOMEM, "out of memory for %zu stacks", profile->value_count);
}

static int otlp_finish(const struct iaprof_host *host, void *instance)
{
	struct otlp *otlp = instance;
	return otlp_exporter_finish(&otlp->exporter, host);
}

static void otlp_destroy(const struct iaprof_host *host, void *instance)
{
	struct otlp *otlp = instance;
	otlp_exporter_close(&otlp->exporter);
	resources_free(&otlp->resources);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.check = otlp_check,
	.prepare = otlp_prepare,
	.start = otlp_start,
	.finish = otlp_finish,
	.records = otlp_records,
	.profile = otlp_profile,
};

static const struct iaprof_plugin otlp_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS | IAPROF_PLUGIN_NO_OUTPUT,
	.name = "otlp",
	.version = PLUGIN_VERSION,
	.description = "Profiles for an OpenTelemetry Collector (OTLP over HTTP)",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct otlp),
	.sink = &operations,
	.configure = otlp_configure,
	.destroy = otlp_destroy,
};

IAPROF_REGISTER_PLUGIN(otlp_plugin)
