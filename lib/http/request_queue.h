/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait to be sent, the oldest first. Not locked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text.h"

struct waiting_request {
	struct text body;
	uint32_t count; /* of profiles in it */
	bool spooled;   /* it is in the spool until it has been sent */
	struct waiting_request *next;
};

/* Initialise with {0}. */
struct request_queue {
	struct waiting_request *first, *last;
	size_t size; /* of all bodies, bytes */
};

/* Takes over the body. Returns false when out of memory: the body remains the caller's. */
bool request_queue_add(struct request_queue *queue, struct text *body, uint32_t count, bool spooled);
/* Removes the request behind another one, or the first one if before is NULL. */
void request_queue_remove(struct request_queue *queue, struct waiting_request *before);
/* Moves all requests to the end of another queue. */
void request_queue_move(struct request_queue *to, struct request_queue *from);
/* Returns the sum of their counts. */
uint64_t request_queue_count(const struct request_queue *queue);
