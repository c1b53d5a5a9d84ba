/* SPDX-License-Identifier: Apache-2.0 */
/* What a sender leaves to the one of the next run in the same process. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/request_queue.h"
#include "http/sender.h"

struct sender_legacy {
	bool exists; /* a sender has left it */
	struct request_queue requests;
	struct sender_counts counts; /* of this run and those before */
	bool is_reported;            /* the server's failure was logged, and it has not ended */
	uint64_t logged_at;          /* CLOCK_MONOTONIC, ns; 0: never */
};

/* Takes over the requests. Returns false when out of memory: they stay. */
bool sender_legacy_leave(const struct sender_options *options, struct sender_legacy *legacy);
/*
 * Takes what a sender with a host of the same name left; *legacy is {0} if there was none. Returns the number of
 * profiles that were dropped, because their requests are of another type, or compressed differently.
 */
uint64_t sender_legacy_take(const struct sender_options *options, struct sender_legacy *legacy);
