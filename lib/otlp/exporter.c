/* SPDX-License-Identifier: Apache-2.0 */
/* See exporter.h. */
#include "otlp/exporter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <curl/curl.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "http/delivery.h"
#include "http/server_settings.h"
#include "http/spool.h"
#include "otlp.pb-c.h"

#define ENDPOINT_DEFAULT "http://localhost:4318"
#define TIMEOUT_DEFAULT (10 * NANOSECONDS_PER_SECOND)
#define TIMEOUT_MAX_MILLISECONDS 3600000u

enum compression { COMPRESSION_AUTO, COMPRESSION_GZIP, COMPRESSION_NONE };
const char *const otlp_compressions[] = { "auto", "gzip", "none", NULL };

/* The value of an option, or of the variable that is used without it. */
struct setting {
	char name[64];
	const char *value; /* NULL: neither is set */
};

static const char *variable_get(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* Returns a variable of the signal, or else the one for all signals. */
static struct setting variable(const struct otlp_signal *signal, const char *name)
{
	struct setting setting;
	snprintf(setting.name, sizeof setting.name, "OTEL_EXPORTER_OTLP_%s_%s", signal->variable, name);
	setting.value = variable_get(setting.name);
	if (setting.value)
		return setting;
	snprintf(setting.name, sizeof setting.name, "OTEL_EXPORTER_OTLP_%s", name);
	setting.value = variable_get(setting.name);
	return setting;
}

static struct setting option_or_variable(const char *option, const char *value, const struct otlp_signal *signal,
					 const char *name)
{
	struct setting setting = { .value = value };
	if (!value)
		return variable(signal, name);
	snprintf(setting.name, sizeof setting.name, "%s", option);
	return setting;
}

static struct setting headers_of(const struct otlp_options *options, const struct otlp_signal *signal)
{
	return option_or_variable("headers", options->headers, signal, "HEADERS");
}

static struct setting certificate_of(const struct otlp_options *options, const struct otlp_signal *signal)
{
	return option_or_variable("certificate", options->certificate, signal, "CERTIFICATE");
}

/* Appends the URL of requests. Returns what it is from. */
static struct setting append_url(struct text *url, const struct otlp_options *options, const struct otlp_signal *signal)
{
	struct setting setting = option_or_variable("endpoint", options->endpoint, signal, "ENDPOINT");
	const char *path = signal->path, *base = setting.value ? setting.value : ENDPOINT_DEFAULT;
	size_t length = strlen(base), path_length = strlen(path);
	if (!options->endpoint && setting.value && strstr(setting.name, signal->variable)) { /* is used as it is */
		text_append_string(url, base);
		return setting;
	}
	while (length && base[length - 1] == '/')
		length--;
	bool is_whole = length >= path_length && !strncmp(base + length - path_length, path, path_length);
	text_append(url, base, length);
	text_append_string(url, is_whole ? "" : path);
	return setting;
}

/* The variable is in milliseconds. */
static uint64_t timeout_of(const struct otlp_options *options, const struct otlp_signal *signal)
{
	const char *text = variable(signal, "TIMEOUT").value;
	uint64_t milliseconds = text ? strtoull(text, NULL, 10) : 0;
	if (options->timeout)
		return options->timeout;
	return milliseconds && milliseconds <= TIMEOUT_MAX_MILLISECONDS ? milliseconds * 1000000 : TIMEOUT_DEFAULT;
}

static bool compresses(const struct otlp_options *options, const struct otlp_signal *signal)
{
	const char *text = variable(signal, "COMPRESSION").value;
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

int otlp_exporter_configure(const struct iaprof_host *host, const struct otlp_options *options,
			    const struct otlp_signal *signal)
{
	CLEANUP(text_free) struct text url = { 0 };
	const struct setting headers = headers_of(options, signal), certificate = certificate_of(options, signal),
			     endpoint = append_url(&url, options, signal);
	const struct server_settings settings = { .url = { endpoint.name, endpoint.value },
						  .headers = { headers.name, headers.value },
						  .certificate = { certificate.name, certificate.value },
						  .whole_url = text_string(&url) };
	return url.failed ? host->fail(host, ENOMEM, "out of memory") : server_settings_check(host, &settings);
}

void otlp_exporter_check(const struct iaprof_host *host, const struct otlp_options *options,
			 const struct otlp_signal *signal)
{
	spool_check(host, options->spool, signal->spool);
}

int otlp_exporter_open(struct otlp_exporter *exporter, const struct iaprof_host *host,
		       const struct otlp_options *options, const struct otlp_signal *signal)
{
	exporter->signal = signal;
	append_url(&exporter->url, options, signal);
	const char *url = text_string(&exporter->url);
	if (exporter->url.failed)
		return host->fail(host, ENOMEM, "out of memory");
	exporter->is_compressed = compresses(options, signal);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return host->fail(host, ENOMEM, "cannot initialise libcurl");
	exporter->has_curl = true;
	const struct sender_options wanted = { .host = host,
					       .url = url,
					       .type = "application/x-protobuf",
					       .user_agent = "iaprof/" PLUGIN_VERSION,
					       .answer = read_answer,
					       .explanation = read_explanation,
					       .too_large = signal->too_large,
					       .headers = headers_of(options, signal).value,
					       .certificate = certificate_of(options, signal).value,
					       .timeout = timeout_of(options, signal),
					       .compressed = exporter->is_compressed,
					       .spool = options->spool,
					       .spool_limit = options->spool_size,
					       .spool_name = signal->spool };
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
	return delivery_finish(host, exporter->sender, exporter->signal->item);
}

void otlp_exporter_close(struct otlp_exporter *exporter)
{
	sender_free(exporter->sender);
	if (exporter->has_curl)
		curl_global_cleanup();
	text_free(&exporter->url);
	*exporter = (struct otlp_exporter){ 0 };
}
