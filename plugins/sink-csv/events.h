/* SPDX-License-Identifier: Apache-2.0 */
/* rows=events: one row per record, with the same columns for all record types. */
#pragma once

#include "event_row.h"

/*
 * Writes the rows of event->record: none for definitions of strings and stacks, which other rows show in full, and
 * several for a record with several items. event->definitions contains all definitions that the record refers to, and
 * its own. Returns 0, or a negative errno after host->fail().
 */
int event_write(const struct event *event);
