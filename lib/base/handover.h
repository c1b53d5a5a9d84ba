/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an instance of a plugin leaves to the one that takes its place in the same process (host->has_successor()), by
 * the name of the instance. Each plugin has its own. Any thread.
 */
#pragma once

#include <stdbool.h>

/* Leaves an item, which the next handover_take() of the name returns. Returns false when out of memory. */
bool handover_leave(const char *instance, void *item);
/* Returns the item that was left last, or NULL. */
void *handover_take(const char *instance);
