/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a page: a profile as its script reads it (page/data.js). A length of 4 bytes, least significant first, so
 * many bytes of JSON, and numbers in LEB128 (7 bits a byte, least significant first, the highest bit: more follow):
 *
 *   count of frames, and of each: kind, flags, line, pid; its name, module and file are in the JSON
 *   count of nodes, and of each, a parent before its children:
 *     how many levels above the node before it its parent is: 0, its child; the first node is a root
 *     frame, a bit for each value type of which something ends there, and those values
 *     of a difference, after each value the one of the earlier run; the JSON's "difference" has the rest of that run
 *   when values were added: page_times.h
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_DATA_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_DATA_H

#include "common/text.h"
#include "npu_events.h"
#include "page_code.h"
#include "page_times.h"
#include "stack_tree.h"

/* More value types than this are not in a page: numbers in JavaScript have that many bits. */
#define PAGE_VALUE_TYPES_MAX 32u

/* What the reader of a page sees first, and what is in it beside the profile. */
struct page_choices {
	uint32_t value_type; /* VALUE_TYPE_NONE: there is none */
	const char *title;   /* NULL: none */
	struct page_heatmap heatmap;
	const struct npu_events *npu;
	struct page_code *code; /* of devices */
};

/* Appends the data. text->failed: out of memory. */
void page_data_append(struct text *text, const struct stack_tree *tree, const struct page_choices *choices);

/* Appends metadata as pairs in JSON. */
void page_data_append_metadata(struct text *text, const char *const *metadata);

#endif
