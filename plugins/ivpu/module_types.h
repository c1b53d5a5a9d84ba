/* SPDX-License-Identifier: Apache-2.0 */
/* The BTF of a Linux kernel module: ids of its functions, which trampolines require, and offsets in its structs. */
#pragma once

#include <stdint.h>
#include "function_list.h"

/*
 * Returns a descriptor of a module's BTF, which the caller closes, or a negative errno: -ENOENT without such a module.
 */
int module_types_open(const char *module);

/*
 * Sets ids, one per function of the list, to its number in the module's BTF, or 0 if it has none or its name is not
 * unique. Returns the number of functions with an id, or a negative errno.
 */
int module_types_find(const char *module, const struct function_list *list, uint32_t *ids);

struct module_member {
	const char *structure, *member;
};

/* Sets the offsets of members, in bytes. Returns 0 or a negative errno: -ENOENT if one is missing. */
int module_types_find_members(const char *module, const struct module_member *members, uint32_t count,
			      uint32_t *offsets);
