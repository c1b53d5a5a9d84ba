/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the kernel attributes in the section .ze_info of a zebin, in YAML: the numbers in execution_env, such as
 * simd_size, grf_count, spill_size. Level Zero's "zebin" specification lists them.
 */
#pragma once

#include <stdbool.h>
#include <iaprof/image.h>
#include <iaprof/record.h>
#include "base/array.h"
#include "base/string_table.h"

/* One kernel, or one function that kernels call. Strings are in the table passed to ze_info_read(). */
struct ze_info_entry {
	const char *name;
	size_t first, count; /* in attributes */
	bool is_function;
};

/* Initialise with {0}. */
struct ze_info {
	ARRAY(struct ze_info_entry) entries;
	ARRAY(struct iaprof_image_attribute) attributes; /* booleans are 0 or 1; non-numeric values are skipped */
	uint64_t refused; /* entries without a valid name, values that are out of range or too many */
};

/*
 * Parses the text of the section. Returns 0, -EINVAL for YAML that compilers do not write (including aliases, which can
 * expand to anything, excessive nesting or size), or -ENOMEM. Keeps the entries parsed before an error.
 */
int ze_info_read(struct ze_info *info, const char *text, size_t size, struct string_table *strings);
void ze_info_free(struct ze_info *info);
