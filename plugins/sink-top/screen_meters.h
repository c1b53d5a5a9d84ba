/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the utilization of CPUs and devices: a bar and the history, a line for each, or one line if there are few. */
#pragma once

#include "screen.h"

/* Returns the number of lines. */
unsigned screen_meters_lines(const struct screen *screen, const struct model *model);
void screen_meters_append(struct text *text, const struct screen *screen, unsigned row, const struct view *view,
			  const struct model *model);
