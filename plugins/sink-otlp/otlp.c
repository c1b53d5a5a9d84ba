/* SPDX-License-Identifier: Apache-2.0 */
/* Sink otlp: sends profiles to an OpenTelemetry Collector, or another receiver of OTLP profiles over HTTP. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <curl/curl.h>
#include <iaprof/plugin.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "http/delivery.h"
#include "message.h"
#include "otlp.pb-c.h"
#include "resources.h"

#define PATH "/v1development/profiles"
#define ENDPOINT_DEFAULT "http://localhost:4318"
#define INTERVAL_DEFAULT (10 * NANOSECONDS_PER_SECOND)
#define TIMEOUT_DEFAULT (10 * NANOSECONDS_PER_SECOND)

enum compression { COMPRESSION_AUTO, COMPRESSION_GZIP, COMPRESSION_NONE };
static const char *const compression_choices[] = { "auto", "gzip", "none", NULL };

struct otlp {
	const char *endpoint, *headers, *certificate;
	uint64_t timeout, compression;
	bool lines;

	struct text url;
	bool has_curl, is_compressed;
	struct resources resources;
	struct sender *sender;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct otlp, endpoint, STRING, "endpoint", NULL,
		      "URL of the receiver, to which " PATH
		      " is added; default: OTEL_EXPORTER_OTLP_ENDPOINT, or " ENDPOINT_DEFAULT),
	IAPROF_OPTION(struct otlp, headers, STRING, "headers", NULL,
		      "HTTP headers, KEY=VALUE and percent-encoded; default: OTEL_EXPORTER_OTLP_HEADERS"),
	IAPROF_OPTION(struct otlp, certificate, STRING, "certificate", NULL,
		      "File of certificates (PEM) for TLS; default: OTEL_EXPORTER_OTLP_CERTIFICATE, or the system's"),
	IAPROF_OPTION(struct otlp, timeout, DURATION, "timeout", "0s",
		      "Longest time of a request; 0: OTEL_EXPORTER_OTLP_TIMEOUT, or 10 s", .maximum = 3600000000000),
	IAPROF_OPTION(struct otlp, compression, CHOICE, "compression", "auto",
		      "auto: OTEL_EXPORTER_OTLP_COMPRESSION, or gzip", .choices = compression_choices),
	IAPROF_OPTION(struct otlp, lines, BOOL, "lines", "yes", "Source lines and inlined functions (DWARF)"),
};

/* Returns a variable of the profiles signal, or else the one for all signals; NULL if neither is set. */
static const char *variable(const char *name)
{
	char full[64];
	static const char *const prefixes[] = { "OTEL_EXPORTER_OTLP_PROFILES_", "OTEL_EXPORTER_OTLP_" };
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		snprintf(full, sizeof full, "%s%s", prefixes[i], name);
		const char *value = getenv(full);
		if (value && *value)
			return value;
	}
	return NULL;
}

static void make_url(struct otlp *otlp)
{
	const char *own = getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"), *base = otlp->endpoint;
	if (!base && own && *own) { /* is used as it is */
		text_append_string(&otlp->url, own);
		return;
	}
	if (!base)
		base = variable("ENDPOINT");
	if (!base)
		base = ENDPOINT_DEFAULT;
	size_t length = strlen(base);
	while (length && base[length - 1] == '/')
		length--;
	bool is_whole = length >= sizeof PATH - 1 && !strncmp(base + length - (sizeof PATH - 1), PATH, sizeof PATH - 1);
	text_append(&otlp->url, base, length);
	text_append_string(&otlp->url, is_whole ? "" : PATH);
}

/* The variable is in milliseconds. */
static uint64_t timeout_of(const struct otlp *otlp)
{
	const char *text = variable("TIMEOUT");
	uint64_t milliseconds = text ? strtoull(text, NULL, 10) : 0;
	if (otlp->timeout)
		return otlp->timeout;
	return milliseconds && milliseconds <= 3600000 ? milliseconds * 1000000 : TIMEOUT_DEFAULT;
}

static bool compresses(const struct otlp *otlp)
{
	const char *text = variable("COMPRESSION");
	if (otlp->compression != COMPRESSION_AUTO)
		return otlp->compression == COMPRESSION_GZIP;
	return !text || strcmp(text, "none") != 0;
}

static int otlp_configure(const struct iaprof_host *host, void *instance)
{
	const struct otlp *otlp = instance;
	host->request(host, IAPROF_REQUEST_THREADS | (otlp->lines ? IAPROF_REQUEST_LINES : 0u));
	host->default_interval(host, INTERVAL_DEFAULT);
	return 0;
}

/* Reads what the server says of a request that it took: see sender_answer. */
static uint32_t read_answer(const void *bytes, size_t size, uint32_t count, struct text *reason)
{
	Otlp__ExportResponse *response = otlp__export_response__unpack(NULL, size, bytes);
	const Otlp__PartialSuccess *partial = response ? response->partial_success : NULL;
	uint32_t rejected = 0;
	if (partial && partial->rejected_profiles > 0)
		rejected = partial->rejected_profiles < count ? (uint32_t)partial->rejected_profiles : count;
	if (partial && partial->error_message)
		text_append_string(reason, partial->error_message);
	if (response)
		otlp__export_response__free_unpacked(response, NULL);
	return rejected;
}

static int otlp_prepare(const struct iaprof_host *host, void *instance)
{
	struct otlp *otlp = instance;
	const struct iaprof_target *target = host->target(host);
	make_url(otlp);
	const char *url = text_string(&otlp->url);
	if (otlp->url.failed)
		return host->fail(host, ENOMEM, "out of memory");
	if (!delivery_is_url(url))
		return host->fail(host, EINVAL, "endpoint %s: has to begin with http:// or https://", url);
	otlp->is_compressed = compresses(otlp);
	if (!resources_init(&otlp->resources, getenv("OTEL_RESOURCE_ATTRIBUTES"),
			    target->flags & IAPROF_TARGET_RECORDED))
		return host->fail(host, ENOMEM, "out of memory");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return host->fail(host, ENOMEM, "cannot initialise libcurl");
	otlp->has_curl = true;
	otlp->sender = sender_new(&(struct sender_options){
		.host = host,
		.url = url,
		.type = "application/x-protobuf",
		.user_agent = "iaprof/" PLUGIN_VERSION,
		.answer = read_answer,
		.headers = otlp->headers ? otlp->headers : variable("HEADERS"),
		.certificate = otlp->certificate ? otlp->certificate : variable("CERTIFICATE"),
		.timeout = timeout_of(otlp),
		.compressed = otlp->is_compressed });
	return otlp->sender ? 0 : -EINVAL;
}

static int otlp_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct otlp *otlp = instance;
	(void)host;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		resources_take(&otlp->resources, record);
	return 0;
}

static int otlp_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct otlp *otlp = instance;
	struct text message = { 0 }, body = { 0 };
	uint32_t count = 0;
	if (!message_append(&message, profile, &otlp->resources, otlp->lines, &count)) {
		text_free(&message);
		return host->fail(host, ENOMEM, "out of memory for %zu stacks", profile->value_count);
	}
	if (otlp->is_compressed)
		gzip_append(&body, message.data, message.size);
	struct text *sent = otlp->is_compressed ? &body : &message;
	bool good = !sent->failed;
	if (good && count)
		sender_add(otlp->sender, sent, count);
	text_free(&message);
	text_free(&body);
	return good ? 0 : host->fail(host, ENOMEM, "out of memory");
}

static int otlp_finish(const struct iaprof_host *host, void *instance)
{
	struct otlp *otlp = instance;
	return delivery_finish(host, otlp->sender, text_string(&otlp->url));
}

static void otlp_destroy(const struct iaprof_host *host, void *instance)
{
	struct otlp *otlp = instance;
	(void)host;
	sender_free(otlp->sender);
	if (otlp->has_curl)
		curl_global_cleanup();
	resources_free(&otlp->resources);
	text_free(&otlp->url);
}

static const struct iaprof_plugin otlp_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS | IAPROF_PLUGIN_NO_OUTPUT,
	.name = "otlp",
	.version = PLUGIN_VERSION,
	.description = "Profiles for an OpenTelemetry Collector (OTLP over HTTP)",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct otlp),
	.configure = otlp_configure,
	.destroy = otlp_destroy,
	.prepare = otlp_prepare,
	.finish = otlp_finish,
	.records = otlp_records,
	.profile = otlp_profile,
};

IAPROF_REGISTER_PLUGIN(otlp_plugin)
