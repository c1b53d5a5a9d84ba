/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests of one signal of OTLP over HTTP, as configured by the options of a sink and the variables
 * OTEL_EXPORTER_OTLP_*. Each function is for the sink's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/plugin.h>

#include "http/sender.h"
#include "text/text.h"

/* A kind of data: profiles, metrics. */
struct otlp_signal {
	const char *variable;  /* its part of the names of variables: "PROFILES" */
	const char *path;      /* at the receiver: "/v1/metrics" */
	const char *item;      /* what is counted, in the singular: "profile" */
	const char *spool;     /* name of its files: "otlp-profiles" */
	const char *too_large; /* what can be done if the receiver takes no request of this size; NULL: nothing */
};

/* Options of a sink: see OTLP_OPTIONS. */
struct otlp_options {
	const char *endpoint, *headers, *certificate; /* NULL: the variables */
	uint64_t timeout;                             /* ns; 0: the variable */
	uint64_t compression;                         /* index of otlp_compressions */
	const char *spool;                            /* folder; NULL: none */
	uint64_t spool_size;                          /* bytes */
	const char *too_large; /* no option: what can be done if the receiver takes no request of this size; NULL:
				  nothing */
};

extern const char *const otlp_compressions[];

/* The rows of an option table for a member of a sink's struct. */
#define OTLP_OPTIONS(type, member)                                                                                     \
	IAPROF_OPTION(type, member.endpoint, STRING, "endpoint", NULL,                                                 \
		      "URL of the receiver, to which the signal's path is added; default: "                            \
		      "OTEL_EXPORTER_OTLP_ENDPOINT, or http://localhost:4318"),                                        \
		IAPROF_OPTION(type, member.headers, STRING, "headers", NULL,                                           \
			      "HTTP headers, KEY=VALUE and percent-encoded; default: OTEL_EXPORTER_OTLP_HEADERS"),     \
		IAPROF_OPTION(type, member.certificate, STRING, "certificate", NULL,                                   \
			      "File of certificates (PEM) for TLS; default: OTEL_EXPORTER_OTLP_CERTIFICATE, or the "   \
			      "system's"),                                                                             \
		IAPROF_OPTION(type, member.timeout, DURATION, "timeout", "0s",                                         \
			      "Request timeout; 0: OTEL_EXPORTER_OTLP_TIMEOUT, or 10 s", .maximum = 3600000000000),    \
		IAPROF_OPTION(type, member.compression, CHOICE, "compression", "auto",                                 \
			      "auto: OTEL_EXPORTER_OTLP_COMPRESSION, or gzip", .choices = otlp_compressions),          \
		IAPROF_OPTION(type, member.spool, STRING, "spool", NULL,                                               \
			      "Folder for requests that cannot be sent, which are sent later or by the next run"),     \
		IAPROF_OPTION(type, member.spool_size, SIZE, "spool-size", "256MiB",                                   \
			      "Maximum size of the spool folder; the oldest requests are dropped", .minimum = 1 << 20)

/* Initialise with {0}. */
struct otlp_exporter {
	const struct otlp_signal *signal;
	struct text url;
	bool has_curl, is_compressed;
	struct sender *sender;
};

/*
 * For configure() of a sink: checks the URL, headers and certificate, of the options or the variables. Returns 0, or a
 * negative errno after host->fail().
 */
int otlp_exporter_configure(const struct iaprof_host *host, const struct otlp_options *options,
			    const struct otlp_signal *signal);
/* For check() of a sink. */
void otlp_exporter_check(const struct iaprof_host *host, const struct otlp_options *options,
			 const struct otlp_signal *signal);
/* Returns 0, or a negative errno after host->fail(). The options are borrowed until otlp_exporter_close(). */
int otlp_exporter_open(struct otlp_exporter *exporter, const struct iaprof_host *host,
		       const struct otlp_options *options, const struct otlp_signal *signal);
/* For start() of a sink. Returns 0, or a negative errno after host->fail(). */
int otlp_exporter_start(struct otlp_exporter *exporter);
/* Takes over the text, an encoded request with count items. Returns 0, or a negative errno after host->fail(). */
int otlp_exporter_send(struct otlp_exporter *exporter, const struct iaprof_host *host, struct text *message,
		       uint32_t count);
/* For finish() of a sink: waits for what is on its way. Returns a negative errno after host->fail() on losses. */
int otlp_exporter_finish(struct otlp_exporter *exporter, const struct iaprof_host *host);
void otlp_exporter_close(struct otlp_exporter *exporter);
