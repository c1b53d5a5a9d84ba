/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a sink that sends requests: waits for pending requests, and reports those that were not delivered. */
#pragma once

#include "http/sender.h"

/*
 * For finish() of a sink. Returns 0, or a negative errno after host->fail() if something was not delivered. what: in
 * the singular, "profile".
 */
int delivery_finish(const struct iaprof_host *host, struct sender *sender, const char *what);
