/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a sink that sends: waits for what is on its way, and reports what did not arrive. */
#pragma once

#include "http/sender.h"

/*
 * For finish() of a sink. Returns 0, or a negative errno after host->fail() if something was not delivered. what: in
 * the singular, "profile".
 */
int delivery_finish(const struct iaprof_host *host, struct sender *sender, const char *what);
