/* SPDX-License-Identifier: Apache-2.0 */
/* The sections and functions of a code object, by image address (code_object.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"
#include "symbolizer/range_table.h"

/* An attribute of a function, from the decoder: a number, or a boolean as 0 and 1. */
struct kernel_attribute {
	const char *name; /* as named by the compiler */
	int64_t value;
};

#define KERNEL_ATTRIBUTE_COUNT_MAX 64

/* A function of the image: a kernel, or one that kernels call. Strings are valid for the lifetime of the object. */
struct code_function {
	const char *name;  /* as in the file */
	const char *shown; /* display name: demangled, or as defined by the decoder */
	uint64_t address;  /* image address */
	uint64_t size;     /* without the padding after it */
	uint32_t section;
	bool is_kernel;
	bool is_described; /* only while the image is read: from the decoder, not from a symbol */
	const struct kernel_attribute *attributes;
	size_t attribute_count;
	/* For a function outside of kernels' sections: positions of all kernels that can reach it; 0: not known. */
	const uint32_t *callers;
	size_t caller_count; /* at most CODE_CALLERS_MAX */
};

/* Limit on kernels listed for a function; beyond it, none is. */
#define CODE_CALLERS_MAX 64

#define CODE_NONE UINT32_MAX

/* A section with code, which is loaded as a unit. */
struct code_section {
	const char *name;
	uint64_t address; /* image address */
	uint64_t size;
	uint64_t file_offset;    /* file offset of its bytes, all of which are in the file */
	uint32_t kernel;         /* position of the kernel that the whole section belongs to, or CODE_NONE */
	const char *kernel_name; /* name of that kernel, from the decoder; NULL if none */
};

/* Finds an attribute of a function; returns false if it has none with this name. */
bool code_function_attribute(const struct code_function *function, const char *name, int64_t *value);

/* Initialise with {0}, then set the two arrays, which the owner keeps. */
struct code_table {
	const struct code_section *sections;
	size_t section_count;
	const struct code_function *functions; /* sorted by address */
	size_t function_count;
	struct range_table ranges; /* functions; value: position */
	struct hash_index by_name; /* functions by name; value: position */
};

/* Builds the indexes for lookups. Returns false if out of memory. */
bool code_table_index(struct code_table *table);
void code_table_free(struct code_table *table);

/* Returns the first function with this symbol name, or NULL. */
const struct code_function *code_table_function(const struct code_table *table, const char *name);

struct code_location {
	const struct code_function *function; /* innermost function with a symbol */
	const struct code_function *kernel;   /* kernel of the section, or the function itself; NULL if unknown */
	uint64_t offset;                      /* from the start of the kernel, or of the function without one */
};

/* Finds the function at an address. Returns false if there is none, or for the padding after one. */
bool code_table_find(const struct code_table *table, uint64_t address, struct code_location *location);
/* Returns the unit of decoding for an address: the kernel as a whole, or a function that kernels call. */
const struct code_function *code_location_whole(const struct code_location *location, uint64_t address);
