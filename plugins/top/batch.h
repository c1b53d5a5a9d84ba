/* SPDX-License-Identifier: Apache-2.0 */
/* The tables as text, one block for each interval, as of top -b. */
#ifndef IAPROF_PLUGINS_TOP_BATCH_H
#define IAPROF_PLUGINS_TOP_BATCH_H

#include "common/text.h"
#include "model.h"
#include "view.h"

/* Appends a block: each table that has something in the interval, or the one chosen, with at most count rows. */
void batch_append(struct text *text, const struct model *model, const struct view *view, uint64_t count, bool recorded);

#endif
