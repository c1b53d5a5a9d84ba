/* SPDX-License-Identifier: Apache-2.0 */
/* See svg_difference.h. */
#include "svg_difference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static double change_of(const struct svg_difference *difference, uint32_t node)
{
	return (double)difference->after[node] - difference->factor * (double)difference->before[node];
}

bool svg_difference_make(struct svg_difference *difference, const struct stack_tree *tree, uint32_t value_type,
			 const uint64_t *after)
{
	size_t types = tree->profile->value_type_count;
	if (!tree->before || value_type >= types)
		return true;
	difference->before = calloc(tree->node_count + 1, sizeof *difference->before);
	if (!difference->before)
		return false;
	difference->after = after;
	difference->factor = iaprof_profile_value_type(tree->profile, value_type)->before_factor;
	/* A parent comes before its children. */
	for (size_t i = tree->node_count; i-- > 0;) {
		uint32_t parent = tree->nodes[i].parent;
		difference->before[i] += tree->before[i * types + value_type];
		*(parent == STACK_TREE_NONE ? &difference->all : &difference->before[parent]) += difference->before[i];
		double change = fabs(change_of(difference, (uint32_t)i));
		if (change > difference->largest)
			difference->largest = change;
	}
	return true;
}

void svg_difference_free(struct svg_difference *difference)
{
	free(difference->before);
}

void svg_difference_append_fill(const struct svg_difference *difference, uint32_t node, struct text *text)
{
	double share = difference->largest > 0 ? change_of(difference, node) / difference->largest : 0;
	if (fabs(share) < 0.001)
		text_append_string(text, "hsl(0,0%,92%)");
	else
		text_append_format(text, "hsl(%s,%.0f%%)", share > 0 ? "24,95%" : "214,85%", 86 - 40 * fabs(share));
}

void svg_difference_append_values(const struct svg_difference *difference, uint64_t before, uint64_t after,
				  struct text *text)
{
	text_append_format(text, "before %" PRIu64, before);
	if (difference->factor == 1)
		text_append_format(text, ", difference %s%" PRIu64, after < before ? "-" : "+",
				   after < before ? before - after : after - before);
	else
		text_append_format(text, " (times %.6g), difference %+.3f", difference->factor,
				   (double)after - difference->factor * (double)before);
}

void svg_difference_append_lost(const struct iaprof_profile *profile, struct text *text)
{
	uint64_t lost = 0;
	for (uint32_t i = 0; profile->flags & IAPROF_PROFILE_DIFFERENCE && i < profile->lost_count; i++)
		lost += iaprof_profile_lost(profile, i)->before_count;
	if (lost)
		text_append_format(text, ", %" PRIu64 " lost before", lost);
}
