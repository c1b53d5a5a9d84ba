/* SPDX-License-Identifier: Apache-2.0 */
/* What the user looks at: a table, a value type, an order; changed by keys. */
#ifndef IAPROF_PLUGINS_TOP_VIEW_H
#define IAPROF_PLUGINS_TOP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "keys.h"
#include "model.h"

#define VIEW_TYPE_NONE UINT32_MAX

struct view {
	enum model_table table;
	bool table_chosen;           /* by the user; else the best there is */
	uint32_t types[TABLE_COUNT]; /* 1 + the value type that the user chose for each table; 0: the best one */
	bool of_run;                 /* sums since the start, not of the last interval */
	bool by_total;
	bool paused;
	bool help;
	size_t first;     /* row that is shown at the top */
	size_t first_max; /* of the picture that was drawn last */
};

enum view_action { VIEW_NOTHING, VIEW_DRAW, VIEW_QUIT, VIEW_SUSPEND, VIEW_PAUSE };

/* Takes a key. page: rows that are shown at once. VIEW_PAUSE: paused has changed. */
enum view_action view_key(struct view *view, const struct model *model, enum key key, size_t page);
/* The table, and its value type, that there is something in; VIEW_TYPE_NONE: there is nothing yet. */
uint32_t view_choose(struct view *view, const struct model *model);
uint32_t view_type_of(const struct view *view, const struct model *model, enum model_table table);

/* Positions of the rows with values, the largest first, to be freed; NULL: out of memory. */
uint32_t *view_sort(const struct view *view, const struct model *model, enum model_table table, uint32_t type,
		    size_t *count);

#endif
