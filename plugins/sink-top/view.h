/* SPDX-License-Identifier: Apache-2.0 */
/* State of the view: table, value type and sort order, changed by keys. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "keys.h"
#include "model.h"

#define VIEW_TYPE_NONE UINT32_MAX
#define VIEW_FILTER_SIZE 64u

enum view_sort { SORT_SELF, SORT_TOTAL, SORT_PID, SORT_PROGRAM, SORT_MODULE, SORT_NAME, SORT_COUNT };

struct view {
	enum model_table table;
	bool table_chosen;           /* by the user; otherwise selected automatically */
	uint32_t types[TABLE_COUNT]; /* 1 + the value type selected for each table; 0: automatic */
	bool of_run;                 /* sums since the start, not of the last interval */
	enum view_sort sort;
	bool reversed;
	bool by_process; /* a row for each process, in all tables */
	bool paused;
	bool help;
	size_t help_first; /* first visible line of the help */
	bool typing;       /* keys go to the filter */
	char filter[VIEW_FILTER_SIZE];
	char filter_before[VIEW_FILTER_SIZE]; /* restored by Escape */
	size_t first;                         /* first visible row */
	size_t first_max;                     /* maximum of first on the last screen */
};

enum view_action { VIEW_NOTHING, VIEW_DRAW, VIEW_QUIT, VIEW_SUSPEND, VIEW_PAUSE };

/* Handles a key. page: number of visible rows. VIEW_PAUSE: paused has changed. */
enum view_action view_key(struct view *view, const struct model *model, enum key key, size_t page);
/* Selects a table with data and returns its value type; VIEW_TYPE_NONE: no data yet. */
uint32_t view_choose(struct view *view, const struct model *model);
/* Returns the items of a table of items, and their number; NULL for tables of sums. */
const struct model_item *view_items(const struct model *model, enum model_table table, size_t *count);
bool view_has(const struct view *view, const struct model *model, enum model_table table);
uint32_t view_type_of(const struct view *view, const struct model *model, enum model_table table);

/* A row as it is shown: the sum of those of a table that differ only in the process. */
struct view_row {
	const struct row *row; /* one of them */
	struct sums sums;
	bool has_programs, has_pids; /* it has several */
};

/* Returns the sort order that applies to a table: tables without total are sorted by self. */
enum view_sort view_sort_of(const struct view *view, enum model_table table);
/* Returns the rows that the filter accepts, in order, to be freed; NULL: out of memory. */
struct view_row *view_rows(const struct view *view, const struct model *model, enum model_table table, uint32_t type,
			   size_t *count);
/* Returns whether the filter accepts an item. */
bool view_accepts_item(const struct view *view, const struct model_item *item);
