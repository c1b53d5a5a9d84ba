/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of devices that have samples, for the page's view of them (page/code.js), as a value of JSON:
 *
 *   { "reasons": names of stall reasons,
 *     "elsewhere": [value type, value] of what stalled in functions whose instructions are not known,
 *     "leftOut": how many records of instructions found no room,
 *     "functions": [{ "name", "symbol", "kernel", "size" and "leftOut" in bytes, "frames": how stacks name it,
 *       "attributes": [name, number],
 *       "instructions": [offset, size, name, disassembly, waits, file or -1, line, flags (enum page_code_flag),
 *         [offset, why (enum iaprof_wait), token, of each that it can wait for]],
 *       "stalls": [position of the instruction, reason, value type, value] }],
 *     "files": [{ "name", "why": why its text is not here, or "lines": [columns of blanks at its begin, text] }] }
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_CODE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_CODE_H

#include "code_listings.h"
#include <iaprof/profile.h>

#include "common/definitions.h"
#include "common/text.h"
#include "page_source.h"

enum page_code_flag {
	PAGE_CODE_INCOMPLETE = 1, /* it may wait for others as well */
	PAGE_CODE_UNLISTED = 2    /* it is known by its samples alone */
};

struct page_code {
	struct code_listings listings;
	const struct definitions *definitions; /* page_names.h; not read before the page is written */
	struct page_sources sources;
};

/* Keeps what a page needs of a record. 0 or -ENOMEM. */
int page_code_take(struct page_code *code, const struct iaprof_record *record);
/* Appends the value; null when there is nothing to show. text->failed: out of memory. */
void page_code_append(struct text *text, struct page_code *code, const struct iaprof_profile *profile);
void page_code_free(struct page_code *code);

#endif
