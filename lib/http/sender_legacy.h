/* SPDX-License-Identifier: Apache-2.0 */
/* State that a sender hands over to the sender of the next run in the same process. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/request_queue.h"
#include "http/sender.h"

struct sender_legacy {
	bool exists; /* a sender handed it over */
	struct request_queue requests;
	struct sender_counts counts; /* of this and the previous runs */
	bool is_reported;            /* the server's failure was logged and continues */
	uint64_t logged_at;          /* CLOCK_MONOTONIC, ns; 0: never */
};

/* Takes ownership of the requests. Returns false when out of memory, and then leaves them to the caller. */
bool sender_legacy_put(const struct sender_options *options, struct sender_legacy *legacy);
/*
 * Returns the state from a sender whose host has the same name; *legacy is {0} if there is none. The result is the
 * number of profiles that were dropped because their requests have another type or compression.
 */
uint64_t sender_legacy_take(const struct sender_options *options, struct sender_legacy *legacy);
