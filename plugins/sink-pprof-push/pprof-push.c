/* SPDX-License-Identifier: Apache-2.0 */
/* Sink pprof-push: sends profiles in the format of pprof to Pyroscope, or to any URL that takes them. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <curl/curl.h>
#include <iaprof/plugin.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "http/delivery.h"
#include "http/server_settings.h"
#include "http/spool.h"
#include "request.h"

#define PATH "/push.v1.PusherService/Push"
#define URL_DEFAULT "http://localhost:4040"
#define INTERVAL_DEFAULT (10 * NANOSECONDS_PER_SECOND)
/* Of the user: Pyroscope takes 30, with __name__, service_name and hostname. */
#define LABELS_MAX 27u

enum format { FORMAT_PYROSCOPE, FORMAT_PLAIN };
static const char *const formats[] = { "pyroscope", "plain", NULL };

struct pprof_push {
	const char *url, *service, *label_list, *headers, *certificate, *spool;
	uint64_t format, timeout, spool_size;
	bool lines, spans;

	struct text target;
	struct utsname system;
	char *label_copy;
	struct request_labels labels;
	bool has_curl;
	struct sender *sender;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct pprof_push, url, STRING, "url", URL_DEFAULT,
		      "Server, to which " PATH " is added for Pyroscope; with format=plain the whole URL"),
	IAPROF_OPTION(struct pprof_push, format, CHOICE, "format", "pyroscope",
		      "pyroscope: a series for each value type; plain: the profile is the request", .choices = formats),
	IAPROF_OPTION(struct pprof_push, service, STRING, "service", "iaprof", "Label service_name"),
	IAPROF_OPTION(struct pprof_push, label_list, STRING, "labels", NULL,
		      "More labels, NAME=VALUE separated by commas, beside hostname"),
	IAPROF_OPTION(struct pprof_push, headers, STRING, "headers", NULL,
		      "HTTP headers, KEY=VALUE and percent-encoded: X-Scope-OrgID=TENANT"),
	IAPROF_OPTION(struct pprof_push, certificate, STRING, "certificate", NULL,
		      "File of certificates (PEM) for TLS instead of the system's"),
	IAPROF_OPTION(struct pprof_push, timeout, DURATION, "timeout", "10s", "Request timeout", .minimum = 1000000,
		      .maximum = 3600000000000),
	IAPROF_OPTION(struct pprof_push, spool, STRING, "spool", NULL,
		      "Folder for requests that cannot be sent, which are sent later or by the next run"),
	IAPROF_OPTION(struct pprof_push, spool_size, SIZE, "spool-size", "256MiB",
		      "Maximum size of the spool folder; the oldest requests are dropped", .minimum = 1 << 20),
	IAPROF_OPTION(struct pprof_push, lines, BOOL, "lines", "yes", "Source lines and inlined functions (DWARF)"),
	IAPROF_OPTION(struct pprof_push, spans, BOOL, "spans", "no",
		      "Labels trace_id and span_id, of the spans of traces that threads worked on; each has samples of "
		      "its own"),
};

static bool is_label_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static bool add_label(struct pprof_push *push, const char *name, const char *value)
{
	return array_push(&push->labels, ((struct request_label){ name, value }));
}

static bool has_label(const struct pprof_push *push, const char *name)
{
	for (size_t i = 0; i < push->labels.count; i++)
		if (!strcmp(push->labels.items[i].name, name))
			return true;
	return false;
}

/* Checks the name of a label. Returns 0, or a negative errno after host->fail(). */
static int check_label(const struct iaprof_host *host, const struct pprof_push *push, const char *name)
{
	if (!is_label_name(name))
		return host->fail(host, EINVAL,
				  "labels: '%s' is not a name (use letters, digits and _, with no digit first)", name);
	if (!strcmp(name, "service_name"))
		return host->fail(host, EINVAL, "labels: service_name is set with service=");
	if (!strcmp(name, "__name__"))
		return host->fail(host, EINVAL, "labels: __name__ is the value type of a series");
	if (has_label(push, name))
		return host->fail(host, EINVAL, "labels: %s is set twice", name);
	/* One more than these: service_name. */
	if (push->labels.count > LABELS_MAX)
		return host->fail(host, EINVAL, "labels: more than %u labels", LABELS_MAX);
	return 0;
}

static int take_labels(const struct iaprof_host *host, struct pprof_push *push)
{
	push->label_copy = strdup(push->label_list ? push->label_list : "");
	bool good = push->label_copy && add_label(push, "service_name", push->service);
	char *rest = push->label_copy;
	for (char *pair; good && *push->label_copy && (pair = strsep(&rest, ","));) {
		char *value = strchr(pair, '=');
		if (!value)
			return host->fail(host, EINVAL, "labels: '%s' is not NAME=VALUE", pair);
		*value++ = '\0';
		int result = check_label(host, push, pair);
		if (result)
			return result;
		good = add_label(push, pair, value);
	}
	return good ? 0 : host->fail(host, ENOMEM, "out of memory");
}

/* A live run has the label of its machine. Returns false when out of memory. */
static bool add_hostname(const struct iaprof_host *host, struct pprof_push *push)
{
	bool is_recorded = host->target(host)->flags & IAPROF_TARGET_RECORDED;
	return is_recorded || has_label(push, "hostname") || uname(&push->system) ||
	       add_label(push, "hostname", push->system.nodename);
}

static void make_target(struct pprof_push *push)
{
	size_t length = strlen(push->url);
	while (push->format == FORMAT_PYROSCOPE && length && push->url[length - 1] == '/')
		length--;
	text_append(&push->target, push->url, length);
	if (push->format == FORMAT_PYROSCOPE)
		text_append_string(&push->target, PATH);
}

static int pprof_push_configure(const struct iaprof_host *host, void *instance)
{
	struct pprof_push *push = instance;
	host->request(host, IAPROF_REQUEST_THREADS | (push->lines ? IAPROF_REQUEST_LINES : 0u) |
				    (push->spans ? IAPROF_REQUEST_SPANS : 0u));
	host->default_interval(host, INTERVAL_DEFAULT);
	make_target(push);
	if (push->target.failed)
		return host->fail(host, ENOMEM, "out of memory");
	const struct server_settings settings = { .url = { "url", push->url },
						  .headers = { "headers", push->headers },
						  .certificate = { "certificate", push->certificate },
						  .whole_url = text_string(&push->target) };
	int result = server_settings_check(host, &settings);
	return result ? result : take_labels(host, push);
}

/* Requests of the two forms do not share files. */
static const char *spool_name(const struct pprof_push *push)
{
	return push->format == FORMAT_PLAIN ? "pprof" : "pprof-push";
}

static void pprof_push_check(const struct iaprof_host *host, void *instance)
{
	const struct pprof_push *push = instance;
	spool_check(host, push->spool, spool_name(push));
}

/* What prepare() made. */
static void release(struct pprof_push *push)
{
	sender_free(STEAL_POINTER(push->sender));
	if (push->has_curl)
		curl_global_cleanup();
	push->has_curl = false;
}

static int pprof_push_prepare(const struct iaprof_host *host, void *instance)
{
	struct pprof_push *push = instance;
	bool is_plain = push->format == FORMAT_PLAIN;
	const char *url = text_string(&push->target);
	if (!add_hostname(host, push))
		return host->fail(host, ENOMEM, "out of memory");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return host->fail(host, ENOMEM, "cannot initialise libcurl");
	push->has_curl = true;
	/* The profile itself is compressed: no content encoding. */
	const struct sender_options wanted = { .host = host,
					       .url = url,
					       .type = is_plain ? "application/octet-stream" : "application/json",
					       .user_agent = "iaprof/" PLUGIN_VERSION,
					       .headers = push->headers,
					       .certificate = push->certificate,
					       .timeout = push->timeout,
					       .spool = push->spool,
					       .spool_limit = push->spool_size,
					       .spool_name = spool_name(push) };
	return sender_new(&wanted, &push->sender);
}

static int pprof_push_start(const struct iaprof_host *host, void *instance)
{
	const struct pprof_push *push = instance;
	return sender_start(push->sender);
}

static void send_request(void *instance, struct text *body, uint32_t count)
{
	struct pprof_push *push = instance;
	sender_add(push->sender, body, count);
}

static int pprof_push_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct pprof_push *push = instance;
	const struct profile_samples_options wanted = { .text = { .lines = push->lines }, .spans = push->spans };
	bool good = push->format == FORMAT_PLAIN ? request_plain(profile, &wanted, send_request, push)
						 : request_push(profile, &wanted, &push->labels, send_request, push);
	return good ? 0 : host->fail(host, ENOMEM, "out of memory for %zu stacks", profile->value_count);
}

static int pprof_push_finish(const struct iaprof_host *host, void *instance)
{
	const struct pprof_push *push = instance;
	return delivery_finish(host, push->sender, "profile");
}

static void pprof_push_destroy(const struct iaprof_host *host, void *instance)
{
	struct pprof_push *push = instance;
	release(push);
	array_free(&push->labels);
	free(push->label_copy);
	text_free(&push->target);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.check = pprof_push_check,
	.prepare = pprof_push_prepare,
	.start = pprof_push_start,
	.finish = pprof_push_finish,
	.profile = pprof_push_profile,
};

static const struct iaprof_plugin pprof_push_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS | IAPROF_PLUGIN_NO_OUTPUT,
	.name = "pprof-push",
	.version = PLUGIN_VERSION,
	.description = "Profiles in pprof's format, sent to Pyroscope or another server",
	.instance_size = sizeof(struct pprof_push),
	.sink = &operations,
	.configure = pprof_push_configure,
	.destroy = pprof_push_destroy,
};

IAPROF_REGISTER_PLUGIN(pprof_push_plugin)
