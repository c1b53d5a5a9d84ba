/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is on the screen, as bytes for the terminal (ECMA-48): each line is placed and written whole, so that whatever
 * something else wrote there is gone after the next turn.
 */
#ifndef IAPROF_PLUGINS_TOP_PICTURE_H
#define IAPROF_PLUGINS_TOP_PICTURE_H

#include "columns.h"
#include "model.h"
#include "view.h"

/* The alternate screen without a cursor and without line breaks, and the way back. */
#define PICTURE_ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
/* A terminal without an alternate screen is left empty. */
#define PICTURE_LEAVE "\033[0m\033[?7h\033[2J\033[H\033[?25h\033[?1049l"

struct picture {
	struct charset charset;
	bool colour;
	bool recorded; /* it all happened before */
	bool complete; /* and all of it is here */
	unsigned rows, columns;
};

/* Appends the picture. view->first and first_max are put right. */
void picture_append(struct text *text, const struct picture *picture, struct view *view, const struct model *model);
/* How many rows of a table are seen at once. */
size_t picture_page(const struct picture *picture);

#endif
