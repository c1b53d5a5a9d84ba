/* SPDX-License-Identifier: Apache-2.0 */
/* rows=events: one row for each record, with one set of columns for all types of record. */
#ifndef IAPROF_PLUGINS_CSV_EVENTS_H
#define IAPROF_PLUGINS_CSV_EVENTS_H

#include "event_row.h"

/*
 * Writes the rows of event->record: none for definitions of strings and stacks, which other rows show in full, several
 * for one that holds several things. Its definitions hold what the record refers to, and what it defines. 0, or a
 * negative errno after host->fail().
 */
int event_write(const struct event *event);

#endif
