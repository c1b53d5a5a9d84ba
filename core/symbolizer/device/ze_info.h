/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a compiler says of each kernel in the section .ze_info of a zebin, in YAML: the numbers under execution_env,
 * such as simd_size, grf_count, spill_size. Level Zero's "zebin" specification lists them.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_ZE_INFO_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_ZE_INFO_H

#include <stdbool.h>
#include "base/array.h"
#include "base/string_table.h"

/* A number, or a boolean as 0 and 1. Whatever is neither is left out. */
struct kernel_attribute {
	const char *name; /* as the compiler writes it */
	int64_t value;
};

#define KERNEL_ATTRIBUTE_COUNT_MAX 64

/* One kernel, or one function that kernels call. Strings are in the table that ze_info_read() was given. */
struct ze_info_entry {
	const char *name;
	size_t first, count; /* in attributes */
	bool is_function;
};

/* Initialise with {0}. */
struct ze_info {
	ARRAY(struct ze_info_entry) entries;
	ARRAY(struct kernel_attribute) attributes;
	uint64_t refused; /* entries without a usable name, values that are out of range or too many */
};

/*
 * Reads the text of the section. Returns 0, -EINVAL when it is not the YAML that compilers write (also: aliases, which
 * could stand for anything, nesting that is too deep, a text that is too large), or -ENOMEM. What was good until there
 * is kept.
 */
int ze_info_read(struct ze_info *info, const char *text, size_t size, struct string_table *strings);
void ze_info_free(struct ze_info *info);

#endif
