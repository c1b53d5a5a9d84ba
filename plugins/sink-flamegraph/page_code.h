/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device functions with samples, for the page's code view (page/code_data.js), as a JSON value:
 *
 *   { "before": in a difference, stalls of the earlier run: [function, offset, instruction, file or -1, line, reason,
 *       value type, value]; everything else is of the later run,
 *     "reasons": names of stall reasons,
 *     "elsewhere": [value type, value] of stalls in functions without known instructions,
 *     "leftOut": number of instruction records that did not fit,
 *     "functions": [{ "name", "symbol", "kernel", "size" and "leftOut" in bytes, "frames": its name in stacks,
 *       "attributes": [name, number],
 *       "instructions": [offset, size, name, disassembly, waits, file or -1, line, flags (enum page_code_flag),
 *         [offset, reason (enum iaprof_wait), token of each producer]],
 *       "stalls": [position of the instruction, reason, value type, value] }],
 *     "files": [{ "name", "why": reason for a missing text, or "lines": [columns of indentation, text] }] }
 */
#pragma once

#include "code_listings.h"
#include <iaprof/profile.h>

#include "records/definitions.h"
#include "text/text.h"
#include "page_launches.h"
#include "page_source.h"

enum page_code_flag {
	PAGE_CODE_INCOMPLETE = 1, /* may have further producers */
	PAGE_CODE_UNLISTED = 2    /* known only from samples */
};

struct page_code {
	struct code_listings listings;
	struct definitions definitions; /* strings, kernels, functions */
	struct page_launches launches;
	struct page_sources sources;
};

/* Stores the parts of a record that the page needs. Returns 0 or -ENOMEM. */
int page_code_take(struct page_code *code, const struct iaprof_record *record);
/* Appends the value; null if there is no device code. Sets text->failed if out of memory. */
void page_code_append(struct text *text, struct page_code *code, const struct iaprof_profile *profile);
void page_code_free(struct page_code *code);
