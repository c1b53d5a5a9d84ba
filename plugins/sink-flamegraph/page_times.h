/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of the values of a page's profile (page/times.js). In the JSON, "times", if the profile has times:
 *
 *   begin, end   of the run, in ns from the origin, at which slots are counted from 0
 *   width        of the slots of stacks, in ns
 *   total_width  of the slots of all stacks together
 *   column, row  initial time per column and per row of the heatmap, in ns
 *   added_up     for each value type: the longest time over which the source aggregated it, in ns
 *
 * and after the nodes, in LEB128:
 *
 *   number of sums of all stacks, and for each: value type, slot, value; the slot is relative to that of the previous
 *   sum if both have the same value type
 *   number of sums of stacks, and for each: difference to the previous node, value type, slot (relative as above, if
 *   the node is the same, too), value
 *
 * A difference has them of the later run; if the JSON has "beforeTimes", those of the earlier run follow.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "text/text.h"
#include "stack_tree.h"

/* Time per column and row of a heatmap, in ns. */
struct page_heatmap {
	uint64_t column;
	uint64_t row; /* 0: no heatmap */
};

/* A run whose times are shown. */
struct page_times {
	const struct iaprof_profile *profile;
	const uint32_t *stacks; /* of a difference: index of each stack in the tree's profile; NULL: the same index */
};

/* Returns the run of a profile, or the later one of a difference; before: the earlier one, NULL profile if none. */
struct page_times page_times_of(const struct iaprof_profile *profile, bool before);
/* Returns whether the run has times. */
bool page_times_known(const struct page_times *times);
/* Append the value of "times", and the sums. Set text->failed if out of memory. */
void page_times_append_header(struct text *text, const struct page_times *times, const struct stack_tree *tree,
			      const struct page_heatmap *heatmap);
void page_times_append_sums(struct text *text, const struct page_times *times, const struct stack_tree *tree);
