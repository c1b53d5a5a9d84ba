/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as text, one block per interval, like top -b. */
#pragma once

#include "text/text.h"
#include "model.h"
#include "view.h"

/*
 * Appends a block: each table that has values in the interval, or only the selected one, with at most count rows each.
 */
void batch_append(struct text *text, const struct model *model, const struct view *view, uint64_t count, bool recorded);
