/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text shared by the screen and batch mode. Names in them are not yet sanitized. */
#pragma once

#include "text/text.h"
#include "model.h"
#include "view.h"

extern const char *const table_choices[TABLE_COUNT + 2]; /* "auto" and the names; NULL-terminated */
extern const char *const *const table_names;             /* "kernels" */
bool table_has_total(enum model_table table);            /* whether self and total can differ */

/* Returns the heading of the name column; type: that of a table of devices. */
const char *table_heading(const struct model *model, enum model_table table, uint32_t type);

/* Appends "35 s, every 1.0 s; iaprof itself: 0.42 % of a CPU". recorded: the data was recorded earlier. */
void view_text_append_time(struct text *text, const struct model *model, bool recorded);
/* Appends "CPU time 1.98 s/s, 198 samples/s; ...", the given value type first. */
void view_text_append_rates(struct text *text, const struct model *model, uint32_t first);
/* Appends "nothing", or "12, 345 since the start: cpu-stack: stack map full 300, ...". */
void view_text_append_losses(struct text *text, const struct model *model);
bool view_text_has_losses(const struct model *model);
/* Appends "CPU time, last 1.0 s, by self". */
void view_text_append_view(struct text *text, const struct model *model, const struct view *view,
			   enum model_table table, uint32_t type);
/* Returns the heading of the program column of view_text_append_row(), padded. */
const char *table_first_heading(enum model_table table);
/* Appends the name of a row, up to about limit bytes. */
void view_text_append_name(struct text *text, const struct model *model, enum model_table table, const struct row *row,
			   size_t limit);
/* The same with the program of a kernel before it. */
void view_text_append_row(struct text *text, const struct model *model, enum model_table table, const struct row *row,
			  size_t limit);
/* Appends "1500          frequency [MHz], NPU" or "problem   hang, process 7: ...". */
void view_text_append_item(struct text *text, const struct model_item *item);
