/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of each GPU kernel without an address by the id that its source gave it, for samples that name a kernel and
 * an offset. It outlives its code object and its process, because samples arrive late. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "bus/source_id.h"
#include "correlator/device_images.h"
#include "correlator/loaded_code.h"

/* Limit on kernels; the same as that of kernels.h. */
#define KERNEL_CODE_MAX 262144
/* Least number of kernels from which those of unloaded code objects are removed. */
#define KERNEL_CODE_CROWDED_MIN 4096

struct kernel_code {
	struct source_id key; /* id 0: a free position */
	uint32_t pid;
	uint32_t code_object;                 /* id, 0 if none was loaded */
	uint64_t loaded;                      /* time */
	uint64_t ended;                       /* time from which it was not loaded; UINT64_MAX: it is */
	struct device_image *image;           /* NULL: it has no image that contains it; else this holds a reference */
	const struct code_function *function; /* in the image; NULL if there is none */
	const char *name;                     /* as in the symbol table; interned */
};

/* Initialise with {0}. */
struct kernel_code_table {
	KEYED_ARRAY(struct kernel_code) items;
	ARRAY(uint32_t) free;
	size_t crowded_at; /* number of kernels from which unloaded ones are searched for; 0: minimum */
};

void kernel_code_free(struct kernel_code_table *table);
/* Adds a kernel unless its id is known. Returns false if there are too many or when out of memory. */
bool kernel_code_add(struct kernel_code_table *table, const struct kernel_code *kernel);
/* Returns whether the table has grown so much that kernel_code_forget() is worth its cost. */
bool kernel_code_is_crowded(const struct kernel_code_table *table);
/* Notes now which kernels have lost their code object, and removes those that ended before a time. */
void kernel_code_forget(struct kernel_code_table *table, const struct loaded_code_table *loaded, uint64_t before,
			uint64_t now);
/* Returns NULL if it is not known. Valid until the next one is added. */
const struct kernel_code *kernel_code_find(const struct kernel_code_table *table, uint16_t source, uint32_t id);
/* Notes that a program ended, and removes kernels of those that ended before a time. */
void kernel_code_end_process(struct kernel_code_table *table, uint32_t pid, uint64_t time, uint64_t forget_before);
