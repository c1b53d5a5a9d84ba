/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items that an instance of a plugin hands over to the instance that replaces it in the same process
 * (host->has_successor()), by the name of the instance. Separate for each plugin. Any thread.
 */
#pragma once

#include <stdbool.h>

/* Stores an item, which the next handover_take() of the name returns. Returns false when out of memory. */
bool handover_put(const char *instance, void *item);
/* Returns the item that was stored last, or NULL. */
void *handover_take(const char *instance);
