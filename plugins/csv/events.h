/* SPDX-License-Identifier: Apache-2.0 */
/* rows=events: one row for each record, with one set of columns for all types of record. */
#ifndef IAPROF_PLUGINS_CSV_EVENTS_H
#define IAPROF_PLUGINS_CSV_EVENTS_H

#include "csv_row.h"
#include "definitions.h"

/*
 * Writes the rows of a record: none for definitions of strings and stacks, which other rows show in full, several for
 * one that holds several things. 0, or a negative errno after host->fail().
 */
int event_write(const struct iaprof_record *record, struct definitions *definitions, struct csv_row *row,
		const struct iaprof_host *host, struct iaprof_output *output);

#endif
