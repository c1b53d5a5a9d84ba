/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of source files for a page, as a value of JSON: "files" of page_code.h. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PAGE_SOURCE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PAGE_SOURCE_H

#include "common/source_files.h"
#include "name_table.h"
#include "source_texts.h"

/* Where files may be read from, and the texts that a capture has. */
struct page_sources {
	struct source_files files;
	struct source_texts texts;
};

/*
 * Files in the table's order. Where there is no room for all, those of the greatest weight have their text.
 * definitions: of the strings that name the texts.
 */
void page_source_append(struct text *text, const struct name_table *files, struct page_sources *sources,
			const struct definitions *definitions);

#endif
