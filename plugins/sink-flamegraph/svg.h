/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph as an image for documents: SVG 1.1 without scripts; each frame has its numbers as a title. */
#pragma once

#include "text/text.h"
#include "stack_tree.h"

/* Appends the image of a value type; VALUE_TYPE_NONE: there are no values. Sets text->failed if out of memory. */
void svg_append(struct text *text, const struct stack_tree *tree, uint32_t value_type, const char *title);
