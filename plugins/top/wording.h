/* SPDX-License-Identifier: Apache-2.0 */
/* The model in words: what both the screen and plain text say. Names in these texts are not yet safe to show. */
#ifndef IAPROF_PLUGINS_TOP_WORDING_H
#define IAPROF_PLUGINS_TOP_WORDING_H

#include "common/text.h"
#include "model.h"
#include "view.h"

extern const char *const table_names[TABLE_COUNT + 1]; /* "kernels"; ends with NULL */
extern const char *const table_headings[TABLE_COUNT];  /* of what a row is of */
bool table_has_total(enum model_table table);          /* self and total differ */

/* "35 s, every 1.0 s; iaprof itself: 0.42 % of a CPU". recorded: it all happened before. */
void wording_append_time(struct text *text, const struct model *model, bool recorded);
/* "cpu 1.98 s/s, 198 samples/s; ...", of one value type first. */
void wording_append_rates(struct text *text, const struct model *model, uint32_t first);
/* "nothing", or "12, 345 since the start: cpu-stack: stack map full 300, ..." */
void wording_append_losses(struct text *text, const struct model *model);
bool wording_has_losses(const struct model *model);
/* "cpu, last 1.0 s, by self" */
void wording_append_view(struct text *text, const struct model *model, const struct view *view, enum model_table table,
			 uint32_t type);
/* Stands before the heading when rows are not brief, with blanks behind it. */
const char *table_first_heading(enum model_table table);
/* What a row is of; gives up beyond limit bytes. brief: without the program of a kernel. */
void wording_append_row(struct text *text, const struct model *model, enum model_table table, const struct row *row,
			size_t limit, bool brief);

#endif
