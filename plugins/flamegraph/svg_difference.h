/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture shows of the earlier run of a difference: colours, and a line for each frame. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_SVG_DIFFERENCE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_SVG_DIFFERENCE_H

#include "common/text.h"
#include "stack_tree.h"

/* Initialise with {0}, which is no difference; svg_difference_free(). */
struct svg_difference {
	uint64_t *before;      /* by node, with what it called; NULL: no difference */
	uint64_t all;          /* of the programs */
	const uint64_t *after; /* by node */
	double factor;         /* of earlier values */
	double largest;        /* change of a node */
};

/* after: what each node has, with what it called. Nothing for a tree that is no difference. False: out of memory. */
bool svg_difference_make(struct svg_difference *difference, const struct stack_tree *tree, uint32_t value_type,
			 const uint64_t *after);
void svg_difference_free(struct svg_difference *difference);

/* Appends the colour of a node as a value of CSS, the page's (page/difference.js). */
void svg_difference_append_fill(const struct svg_difference *difference, uint32_t node, struct text *text);
/* Appends "before 12 (times 2), difference +3" of a node, without its unit. */
void svg_difference_append_values(const struct svg_difference *difference, uint64_t before, uint64_t after,
				  struct text *text);
/* Appends what the earlier run lost; nothing when that is nothing. */
void svg_difference_append_lost(const struct iaprof_profile *profile, struct text *text);

#endif
