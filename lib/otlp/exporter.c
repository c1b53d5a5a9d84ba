/* SPDX-License-Identifier: Apache-2.0 */
/* See exporter.h. */
#include "otlp/exporter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <curl/curl.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "http/delivery.h"
#include "otlp.pb-c.h"

#define ENDPOINT_DEFAULT "http://localhost:4318"
#define TIMEOUT_DEFAULT (10 * NANOSECONDS_PER_SECOND)
#define TIMEOUT_MAX_MILLISECONDS 3600000u

enum compression { COMPRESSION_AUTO, COMPRESSION_GZIP, COMPRESSION_NONE };
const char *const otlp_compressions[] = { "auto", "gzip", "none", NULL };

static const char *variable_get(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* Returns a variable of the signal, or else the one for all signals; NULL if neither is set. */
static const char *variable(const struct otlp_signal *signal, const char *name)
{
	char own[64], common[64];
	snprintf(own, sizeof own, "OTEL_EXPORTER_OTLP_%s_%s", signal->variable, name);
	snprintf(common, sizeof common, "OTEL_EXPORTER_OTLP_%s", name);
	const char *value = variable_get(own);
	return value ? value : variable_get(common);
}

static void make_url(struct otlp_exporter *exporter, const char *endpoint)
{
	const char *path = exporter->signal->path, *base = endpoint;
	char name[64];
	snprintf(name, sizeof name, "OTEL_EXPORTER_OTLP_%s_ENDPOINT", exporter->signal->variable);
	const char *own = variable_get(name);
	if (!base && own) { /* is used as it is */
		text_append_string(&exporter->url, own);
		return;
	}
	if (!base)
		base = variable_get("OTEL_EXPORTER_OTLP_ENDPOINT");
	if (!base)
		base = ENDPOINT_DEFAULT;
	size_t length = strlen(base), path_length = strlen(path);
	while (length && base[length - 1] == '/')
		length--;
	bool is_whole = length >= path_length && !strncmp(base + length - path_length, path, path_length);
	text_append(&exporter->url, base, length);
	text_append_string(&exporter->url, is_whole ? "" : path);
}

/* The variable is in milliseconds. */
static uint64_t timeout_of(const struct otlp_options *options, const struct otlp_signal *signal)
{
	const char *text = variable(signal, "TIMEOUT");
	uint64_t milliseconds = text ? strtoull(text, NULL, 10) : 0;
	if (options->timeout)
		return options->timeout;
	return milliseconds && milliseconds <= TIMEOUT_MAX_MILLISECONDS ? milliseconds * 1000000 : TIMEOUT_DEFAULT;
}

static bool compresses(const struct otlp_options *options, const struct otlp_signal *signal)
{
	const char *text = variable(signal, "COMPRESSION");
	if (options->compression != COMPRESSION_AUTO)
		return options->compression == COMPRESSION_GZIP;
	return !text || strcmp(text, "none") != 0;
}

/* Reads the server's answer to a request that it accepted: see sender_answer. All signals have the same answers. */
static uint32_t read_answer(const void *bytes, size_t size, uint32_t count, struct text *reason)
{
	Otlp__ExportResponse *response = otlp__export_response__unpack(NULL, size, bytes);
	const Otlp__PartialSuccess *partial = response ? response->partial_success : NULL;
	uint32_t rejected = 0;
	if (partial && partial->rejected > 0)
		rejected = partial->rejected < count ? (uint32_t)partial->rejected : count;
	if (partial && partial->error_message)
		text_append_string(reason, partial->error_message);
	if (response)
		otlp__export_response__free_unpacked(response, NULL);
	return rejected;
}

/* See sender_explanation. */
static void read_explanation(const void *bytes, size_t size, struct text *reason)
{
	Otlp__Status *status = otlp__status__unpack(NULL, size, bytes);
	if (!status)
		return;
	text_append_string(reason, status->message ? status->message : "");
	otlp__status__free_unpacked(status, NULL);
}

int otlp_exporter_open(struct otlp_exporter *exporter, const struct iaprof_host *host,
		       const struct otlp_options *options, const struct otlp_signal *signal)
{
	otlp_exporter_close(exporter); /* if the sink is prepared again */
	exporter->signal = signal;
	make_url(exporter, options->endpoint);
	const char *url = text_string(&exporter->url);
	if (exporter->url.failed)
		return host->fail(host, ENOMEM, "out of memory");
	if (!delivery_is_url(url))
		return host->fail(host, EINVAL, "endpoint %s: has to begin with http:// or https://", url);
	exporter->is_compressed = compresses(options, signal);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return host->fail(host, ENOMEM, "cannot initialise libcurl");
	exporter->has_curl = true;
	const struct sender_options wanted = {
		.host = host,
		.url = url,
		.type = "application/x-protobuf",
		.user_agent = "iaprof/" PLUGIN_VERSION,
		.answer = read_answer,
		.explanation = read_explanation,
		.too_large = signal->too_large,
		.headers = options->headers ? options->headers : variable(signal, "HEADERS"),
		.certificate = options->certificate ? options->certificate : variable(signal, "CERTIFICATE"),
		.timeout = timeout_of(options, signal),
		.compressed = exporter->is_compressed,
		.spool = options->spool,
		.spool_limit = options->spool_size,
		.spool_name = signal->spool
	};
	return sender_new(&wanted, &exporter->sender);
}

int otlp_exporter_start(struct otlp_exporter *exporter)
{
	return sender_start(exporter->sender);
}

int otlp_exporter_send(struct otlp_exporter *exporter, const struct iaprof_host *host, struct text *message,
		       uint32_t count)
{
	struct text body = { 0 };
	if (exporter->is_compressed)
		gzip_append(&body, message->data, message->size);
	struct text *sent = exporter->is_compressed ? &body : message;
	bool good = !sent->failed;
	if (good && count)
		sender_add(exporter->sender, sent, count);
	text_free(message);
	text_free(&body);
	return good ? 0 : host->fail(host, ENOMEM, "out of memory");
}

int otlp_exporter_finish(struct otlp_exporter *exporter, const struct iaprof_host *host)
{
	/* The sender's thread reads it: text_string(), which ended it in otlp_exporter_open(), would write. */
	return delivery_finish(host, exporter->sender, exporter->url.data, exporter->signal->item);
}

void otlp_exporter_close(struct otlp_exporter *exporter)
{
	sender_free(exporter->sender);
	if (exporter->has_curl)
		curl_global_cleanup();
	text_free(&exporter->url);
	*exporter = (struct otlp_exporter){ 0 };
}
