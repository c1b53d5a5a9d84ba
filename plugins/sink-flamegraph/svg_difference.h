/* SPDX-License-Identifier: Apache-2.0 */
/* Colours and frame titles of the image of a difference. */
#pragma once

#include "text/text.h"
#include "stack_tree.h"

/* Initialise with {0}, which means no difference. Free with svg_difference_free(). */
struct svg_difference {
	uint64_t *before;      /* the earlier run's totals by node, including callees; NULL: no difference */
	uint64_t all;          /* the earlier run's total of all programs */
	const uint64_t *after; /* the later run's totals by node */
	double factor;         /* scaling factor of earlier values */
	double largest;        /* largest change of a node */
};

/*
 * Computes the totals. after: totals of each node, including callees. Does nothing if the tree is not a difference.
 * Returns false if out of memory.
 */
bool svg_difference_make(struct svg_difference *difference, const struct stack_tree *tree, uint32_t value_type,
			 const uint64_t *after);
void svg_difference_free(struct svg_difference *difference);

/* Appends the colour of a node as a CSS value. */
void svg_difference_append_fill(const struct svg_difference *difference, uint32_t node, struct text *text);
/* Appends "before 12 (times 2), difference +3" for a node, without a unit. */
void svg_difference_append_values(const struct svg_difference *difference, uint64_t before, uint64_t after,
				  struct text *text);
/* Appends the losses of the earlier run, if any. */
void svg_difference_append_lost(const struct iaprof_profile *profile, struct text *text);
