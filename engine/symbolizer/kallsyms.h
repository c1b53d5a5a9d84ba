/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the Linux kernel and its modules, from /proc/kallsyms. */
#pragma once

#include "base/error.h"
#include "symbolizer/symbol_table.h"

struct kallsyms_module {
	char name[64]; /* "[kernel]", "[nf_tables]", "[bpf]"; MODULE_NAME_LEN is 56 with 64-bit pointers */
};

/* Initialise with {0}. */
struct kallsyms {
	struct symbol_table symbols;
	struct range_table module_ranges; /* value: position in modules */
	ARRAY(struct kallsyms_module) modules;
};

/*
 * Reads a file in the format of /proc/kallsyms. Returns 0, or a negative errno with error set: -EPERM if Linux hides
 * addresses (kernel.kptr_restrict), -EINVAL if the file has another format.
 */
int kallsyms_read(struct kallsyms *kallsyms, const char *path, struct error *error);
void kallsyms_free(struct kallsyms *kallsyms);

/* Returns the function at address, its start and module, or NULL. */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address, uint64_t *start, const char **module);
