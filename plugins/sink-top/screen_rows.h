/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the rows of a table and their heading, with as many columns as the window has room for. */
#pragma once

#include "screen.h"

void screen_rows_append_heading(struct text *text, const struct screen *screen, unsigned row, const struct view *view,
				const struct model *model, uint32_t type);
void screen_rows_append(struct text *text, const struct screen *screen, unsigned screen_row, const struct view *view,
			const struct model *model, const struct view_row *row);
