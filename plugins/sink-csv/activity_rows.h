/* SPDX-License-Identifier: Apache-2.0 */
/* rows=calls, jobs, counters, histograms and findings: the activity of a run, one row per item. */
#pragma once

#include <iaprof/activity.h>

#include "csv_row.h"

/* Rows under construction, filled from the first column on. */
struct activity_rows {
	const struct iaprof_activity *activity;
	struct csv_row *row;
	const struct iaprof_host *host;
	struct iaprof_output *output;
	size_t column; /* next column */
	int result;    /* negative errno after host->fail(): nothing more is written */
};

struct activity_table {
	const char *const *columns;
	size_t column_count;
	void (*write)(struct activity_rows *rows);
	size_t dropped; /* offset, in struct iaprof_activity, of the number of items beyond the limit */
};

extern const struct activity_table calls_table, jobs_table, counters_table, histograms_table, findings_table;
