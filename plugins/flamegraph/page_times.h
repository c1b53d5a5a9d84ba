/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When values of a page's profile were added (page/times.js). In the JSON, "times", when the profile knows any:
 *
 *   begin, end   of the run, in ns from the origin, at which slots are counted from 0
 *   width        of the slots of stacks, in ns
 *   total_width  of the slots of all stacks together
 *   column, row  how the heatmap is divided at first, in ns
 *   added_up     of each value type: the longest time over which it was added up before it was told, in ns
 *
 * and behind the nodes, in LEB128:
 *
 *   count of sums of all stacks, and of each: value type, slot, value; from the second on the slot is told by how much
 *   it is later when the value type is the one before
 *   count of sums of stacks, and of each: how many nodes after the one before, value type, slot (as above, when the
 *   node is the one before, too), value
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_TIMES_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"
#include "stack_tree.h"

/* How a heatmap is divided, in ns. */
struct page_heatmap {
	uint64_t column;
	uint64_t row; /* 0: there is no heatmap */
};

/* Whether there is something to append. */
bool page_times_known(const struct iaprof_profile *profile);
/* The value of "times". text->failed: out of memory. */
void page_times_append_header(struct text *text, const struct iaprof_profile *profile,
			      const struct page_heatmap *heatmap);
void page_times_append_sums(struct text *text, const struct stack_tree *tree);

#endif
