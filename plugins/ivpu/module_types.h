/* SPDX-License-Identifier: Apache-2.0 */
/* What the BTF of a module of the Linux kernel knows of its functions, which trampolines are made from. */
#ifndef IAPROF_PLUGINS_IVPU_MODULE_TYPES_H
#define IAPROF_PLUGINS_IVPU_MODULE_TYPES_H

#include <stdint.h>
#include "function_list.h"

/* A descriptor of a module's BTF, the caller's to close, or a negative errno: -ENOENT without such a module. */
int module_types_open(const char *module);

/*
 * ids, as many as the list has functions: the number of each in its module's BTF; 0: it has none, or another function
 * has its name. Returns how many have one, or a negative errno.
 */
int module_types_find(const char *module, const struct function_list *list, uint32_t *ids);

#endif
