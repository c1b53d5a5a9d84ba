/* SPDX-License-Identifier: Apache-2.0 */
/* Sink prometheus: metrics of a run for Prometheus, over HTTP: own cost, rates, losses, and the use of devices. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <iaprof/plugin.h>

#include "base/clock.h"
#include "exposition.h"
#include "http/host_name.h"
#include "http/http_address.h"
#include "http/http_server.h"
#include "metrics/metrics.h"
#include "metrics/own_cost.h"

#define PAGE "/metrics"
/* By which --check recognizes a running iaprof. */
#define GREETING "iaprof: metrics are"
#define ADDRESS_DEFAULT "127.0.0.1:9859"
#define INTERVAL_DEFAULT (10 * NANOSECONDS_PER_SECOND)
/* A client that asks more often gets the same cost again, in ns. */
#define COST_AGE_MAX NANOSECONDS_PER_SECOND

struct prometheus {
	const char *address, *hosts;

	struct http_server *server;
	bool has_lock;
	uint32_t command;
	pthread_mutex_t lock; /* of what follows: records come on the sink's thread, requests on the server's */
	struct metrics metrics;
	struct own_cost cost;
	uint64_t cost_time; /* CLOCK_MONOTONIC ns; 0: not yet read */
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct prometheus, address, STRING, "address", ADDRESS_DEFAULT,
		      "IP address and port of the HTTP server; 0.0.0.0 or [::] is reachable from other machines"),
	IAPROF_OPTION(
		struct prometheus, hosts, STRING, "hosts", NULL,
		"Names, separated by spaces, by which requests may address this machine, beside its IP addresses, "
		"its host name and localhost"),
};

static int prometheus_configure(const struct iaprof_host *host, void *instance)
{
	const struct prometheus *prometheus = instance;
	struct http_address address;
	struct error error = { 0 };
	host->default_interval(host, INTERVAL_DEFAULT);
	return http_address_read(&address, prometheus->address, &error) ? host->fail(host, EINVAL, "%s", error.text)
									: 0;
}

static void prometheus_check(const struct iaprof_host *host, void *instance)
{
	const struct prometheus *prometheus = instance;
	struct http_address address;
	struct error error = { 0 };
	if (http_address_read(&address, prometheus->address, &error))
		return;
	/* Without listen(), nobody can connect, and a run can have the address meanwhile. */
	int socket = http_address_bind(&address, prometheus->address, &error);
	if (socket >= 0) {
		close(socket);
		host->check_item(host, IAPROF_CHECK_GOOD, "address", "%s", prometheus->address);
	} else if (socket == -EADDRINUSE && http_address_answers(&address, GREETING)) {
		host->check_item(host, IAPROF_CHECK_LIMITED, "address", "%s: in use by a running iaprof",
				 prometheus->address);
	} else {
		host->check_item(host, IAPROF_CHECK_MISSING, "address", "%s (set address=HOST:PORT)", error.text);
	}
}

static int listen_at_address(struct prometheus *prometheus, struct error *error)
{
	prometheus->server = http_server_listen(prometheus->address, 0, error);
	return prometheus->server ? 0 : error->code;
}

/* Returns 0 if there is no error. */
static int refuse_address(const struct iaprof_host *host, const struct error *error)
{
	return error->code ? host->fail(host, -error->code, "%s (set address=HOST:PORT)", error->text) : 0;
}

static int prometheus_prepare(const struct iaprof_host *host, void *instance)
{
	struct prometheus *prometheus = instance;
	const struct iaprof_target *target = host->target(host);
	struct error error = { 0 };
	pthread_mutex_init(&prometheus->lock, NULL);
	prometheus->has_lock = true;
	prometheus->command = target->command_pid;
	if (!metrics_init(&prometheus->metrics, target->flags & IAPROF_TARGET_RECORDED))
		return host->fail(host, ENOMEM, "out of memory");
	int result = listen_at_address(prometheus, &error);
	/* An earlier run has the address until start(). */
	return result == -EADDRINUSE ? 0 : refuse_address(host, &error);
}

static void render(struct prometheus *prometheus, struct text *text)
{
	uint64_t now = clock_monotonic();
	pthread_mutex_lock(&prometheus->lock);
	if (!prometheus->cost_time || now - prometheus->cost_time >= COST_AGE_MAX) {
		own_cost_update(&prometheus->cost, prometheus->command);
		prometheus->cost_time = now;
	}
	exposition_append(text, &prometheus->metrics, &prometheus->cost);
	pthread_mutex_unlock(&prometheus->lock);
}

/* A browser always sends Host. Prometheus and --check need not. */
static bool is_addressed(const struct prometheus *prometheus, const struct http_request *request)
{
	const char *host = http_request_header(request, "Host");
	return !host || http_host_is_address(host) || http_host_is_machine(host, prometheus->hosts);
}

static void answer(void *context, struct http_request *request, struct http_answer *answer)
{
	const char *path = http_request_path(request);
	if (!is_addressed(context, request)) {
		http_answer_text(answer, 421, "this server has another name (set hosts=NAME of the sink prometheus)\n");
		return;
	}
	if (!strcmp(path, PAGE)) {
		answer->type = EXPOSITION_TYPE;
		render(context, &answer->body);
	} else if (!strcmp(path, "/")) {
		http_answer_text(answer, answer->status, GREETING " at " PAGE "\n");
	} else {
		http_answer_text(answer, 404, "metrics are at " PAGE "\n");
	}
}

static int prometheus_start(const struct iaprof_host *host, void *instance)
{
	struct prometheus *prometheus = instance;
	struct error error = { 0 };
	char address[HTTP_SERVER_ADDRESS_SIZE];
	if (!prometheus->server && listen_at_address(prometheus, &error))
		return refuse_address(host, &error);
	if (http_server_start(prometheus->server, answer, prometheus, &error))
		return host->fail(host, -error.code, "%s", error.text);
	http_server_address(prometheus->server, address);
	host->log(host, IAPROF_LOG_INFO, "metrics are at http://%s" PAGE, address);
	return 0;
}

static int prometheus_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	struct prometheus *prometheus = instance;
	pthread_mutex_lock(&prometheus->lock);
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		metrics_take_record(&prometheus->metrics, record);
	pthread_mutex_unlock(&prometheus->lock);
	return 0;
}

static int prometheus_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct prometheus *prometheus = instance;
	pthread_mutex_lock(&prometheus->lock);
	metrics_take_profile(&prometheus->metrics, profile);
	pthread_mutex_unlock(&prometheus->lock);
	return 0;
}

static int prometheus_finish(const struct iaprof_host *host, void *instance)
{
	struct prometheus *prometheus = instance;
	http_server_free(prometheus->server);
	prometheus->server = NULL;
	return 0;
}

static void prometheus_destroy(const struct iaprof_host *host, void *instance)
{
	struct prometheus *prometheus = instance;
	http_server_free(prometheus->server);
	metrics_free(&prometheus->metrics);
	if (prometheus->has_lock)
		pthread_mutex_destroy(&prometheus->lock);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.check = prometheus_check,
	.prepare = prometheus_prepare,
	.start = prometheus_start,
	.finish = prometheus_finish,
	.records = prometheus_records,
	.profile = prometheus_profile,
};

static const struct iaprof_plugin prometheus_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS | IAPROF_PLUGIN_NO_OUTPUT,
	.name = "prometheus",
	.version = PLUGIN_VERSION,
	.description = "Metrics for Prometheus, over HTTP",
	.instance_size = sizeof(struct prometheus),
	.sink = &operations,
	.configure = prometheus_configure,
	.destroy = prometheus_destroy,
};

IAPROF_REGISTER_PLUGIN(prometheus_plugin)
