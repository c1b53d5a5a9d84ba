/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that a program copied from its file to anonymous memory, for huge pages: node --use-largepages, PHP's
 * opcache.huge_code_pages, ClickHouse, iodlr. The process table attributes such memory to the file by its place
 * (IAPROF_MAPPING_COPIED). A child of the worker compares a page of it before it is believed.
 */
#pragma once

#include "symbolizer/budget.h"
#include "symbolizer/mapped_file.h"
#include "symbolizer/worker_pool.h"

/* Helpers of the calling thread. */
struct copied_text_helpers {
	struct broker *broker;
	struct worker_pool *pool;
	struct budget *budget;
};

/*
 * Compares the memory of a mapping with its file. *shift: what to add to file offsets of the mapping. Returns 0, or a
 * negative errno: -ENODATA if it is no copy, -ESRCH if the process has ended.
 */
int copied_text_compare(const struct copied_text_helpers *helpers, const struct mapped_file_request *request,
			int64_t *shift);
