/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of source files for a page, as a JSON value: "files" of page_code.h. */
#pragma once

#include "text/source_files.h"
#include "name_table.h"
#include "source_texts.h"

/* Locations of readable files, and the texts of a capture. */
struct page_sources {
	struct source_files files;
	struct source_texts texts;
};

/*
 * Appends the files in the order of the table. If not all texts fit, those of device code, which are the first
 * device_count, are included before others, and those with a greater weight before those with less. definitions:
 * defines the string ids of the texts.
 */
void page_source_append(struct text *text, const struct name_table *files, size_t device_count,
			struct page_sources *sources, const struct definitions *definitions);
