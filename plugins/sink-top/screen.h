/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the screen with ECMA-48 sequences. Each line is positioned and written completely, which overwrites the output
 * of other programs.
 */
#pragma once

#include "display_width.h"
#include "model.h"
#include "view.h"

/* Enters and leaves the alternate screen, without cursor and line wrap. */
#define SCREEN_ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
/* Terminals without an alternate screen are cleared. */
#define SCREEN_RESTORE "\033[0m\033[?7h\033[2J\033[H\033[?25h\033[?1049l"

struct screen {
	struct charset charset;
	bool colour;
	bool recorded; /* the data is recorded */
	bool complete; /* the recording has been read */
	unsigned rows, columns;
};

/* Appends the screen and clamps view->first and first_max. */
void screen_append(struct text *text, const struct screen *screen, struct view *view, const struct model *model);
/* Returns the number of visible rows of a table. */
size_t screen_page(const struct screen *screen, const struct model *model);
