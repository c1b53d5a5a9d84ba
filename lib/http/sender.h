/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests over HTTP on a thread of its own, so that a server that is slow or down delays nothing else. A request
 * is sent again after network errors and after answers that ask for it; after any other failure it is dropped and
 * counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

#include "text/text.h"

/* Limit on waiting requests, in bytes as they are sent; beyond it, the oldest is dropped. */
#define SENDER_WAITING_MAX ((size_t)64 << 20)

/*
 * Reads the answer of a server that accepted a request with count profiles. Returns how many of them it rejected.
 * reason: receives the server's message, if there is one, which is untrusted.
 */
typedef uint32_t sender_answer(const void *bytes, size_t size, uint32_t count, struct text *reason);
/* Reads the body of an answer with an error status, unless it is a text. reason: as above. */
typedef void sender_explanation(const void *bytes, size_t size, struct text *reason);

/* Borrowed for the lifetime of the sender. */
struct sender_options {
	const struct iaprof_host *host;
	const char *url;
	const char *type; /* of the bodies: "application/x-protobuf" */
	const char *user_agent;
	sender_answer *answer;           /* NULL: only the status matters */
	sender_explanation *explanation; /* NULL: texts only */
	const char *too_large;           /* the remedy if the server accepts no request of this size; NULL: none */
	const char *headers;             /* see headers.h; NULL: none */
	const char *certificate; /* file of certificates that the server is checked against; NULL: the system's */
	uint64_t timeout;        /* of one try, ns */
	bool compressed;         /* bodies are gzip */
	const char *spool;       /* folder for requests that cannot be sent now; NULL: they are dropped */
	uint64_t spool_limit;    /* bytes */
	const char *spool_name;  /* see spool.h */
};

/* Numbers of profiles. */
struct sender_counts {
	uint64_t sent;     /* accepted by the server */
	uint64_t rejected; /* of requests that the server accepted in part */
	uint64_t refused;  /* of requests with an error status that must not be repeated */
	uint64_t dropped;  /* for lack of room */
	uint64_t unsent;   /* the run ended before the server accepted them */
	uint64_t kept;     /* in the spool, for the next run */
};

/* Fates of profiles that were not delivered: the members of these names. */
enum sender_fate { SENDER_REJECTED, SENDER_REFUSED, SENDER_DROPPED, SENDER_UNSENT, SENDER_FATE_COUNT };

struct sender;

/* For prepare() of a sink. Returns 0, or a negative errno after host->fail(). */
int sender_new(const struct sender_options *options, struct sender **sender);
/*
 * Begins to send, first the requests in the spool: for start() of a sink. Returns 0, or a negative errno after
 * host->fail(): -EWOULDBLOCK if another sender has the spool.
 */
int sender_start(struct sender *sender);
/* Takes over the text. count: profiles in it. */
void sender_add(struct sender *sender, struct text *body, uint32_t count);
/*
 * Waits until everything is sent, or until a limit in ns, and ends the thread; with a spool, only while the server
 * answers, because the spool stays for the next run.
 */
struct sender_counts sender_finish(struct sender *sender, uint64_t limit);
/* Returns the URL without user and password. */
const char *sender_url(const struct sender *sender);
/* After sender_finish(): the last error, and the last reason of a fate; "" if there is none. */
const char *sender_error(const struct sender *sender);
const char *sender_reason(const struct sender *sender, enum sender_fate fate);
void sender_free(struct sender *sender);
