/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a profile as the data of a page, which page/data.js decodes: the length of the JSON (4 bytes, little-endian),
 * the JSON, and numbers in LEB128 (7 bits per byte, least significant first, the highest bit: more follow):
 *
 *   number of frames, and for each: kind, flags, line, pid, what it is in the answer; its name, module, file and
 *     what it does are in the JSON
 *   number of nodes, and for each, a parent before its children:
 *     the thread and device of a stack, if there are several, and its span are below its leaf (stack_origins.h)
 *     levels from the previous node up to its parent: 0 for a child of the previous node; the first node is a root
 *     frame, a bit mask of the value types with values at this node, and those values
 *     in a difference, each value is followed by that of the earlier run; the JSON's "difference" has its other data
 *   times of values: page_times.h
 */
#pragma once

#include "text/text.h"
#include "page_code.h"
#include "page_times.h"
#include "stack_tree.h"

/* Maximum number of value types in a page: the number of bits in JavaScript's bit masks. */
#define PAGE_VALUE_TYPES_MAX 32u

/* Initial settings of a page, and its contents besides the profile. */
struct page_choices {
	uint32_t value_type; /* VALUE_TYPE_NONE: none */
	const char *title;   /* NULL: none */
	bool lines;          /* CPU functions are split by source line, and inlined functions are shown */
	const char *threads; /* one of stack_text_threads_choices: whether threads are shown as frames */
	struct page_heatmap heatmap;
	struct page_code *code; /* device code */
};

/* Appends the data. Sets text->failed if out of memory. */
void page_data_append(struct text *text, const struct stack_tree *tree, const struct page_choices *choices);

/* Appends metadata as JSON pairs. */
void page_data_append_metadata(struct text *text, const char *const *metadata);
