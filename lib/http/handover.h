/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that a sink could not send, from one run to the next in the same process: kept in memory, by the name of the
 * instance. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/request_queue.h"

/* Takes over the requests, of a type and compressed or not. Returns false when out of memory: they stay. */
bool handover_leave(const char *instance, const char *type, bool compressed, struct request_queue *requests);
/*
 * Adds what an instance left to a queue. Returns the number of profiles that were dropped, because their requests are
 * of another type, or compressed differently.
 */
uint64_t handover_take(const char *instance, const char *type, bool compressed, struct request_queue *requests);
