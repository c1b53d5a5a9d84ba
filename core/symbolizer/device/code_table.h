/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections and functions of a code object, and which of them an address is in. Addresses are the image's own
 * (code_object.h).
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_TABLE_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"
#include "symbolizer/device/ze_info.h"
#include "symbolizer/range_table.h"

/* A function of the image's symbol table: a kernel, or one that kernels call. Strings live as long as the object. */
struct code_function {
	const char *name;  /* as in the file */
	const char *shown; /* demangled; that of a SYCL kernel without "typeinfo name for" */
	uint64_t address;  /* the image's */
	uint64_t size;     /* without the padding behind it */
	uint32_t section;
	bool is_kernel;
	const struct kernel_attribute *attributes;
	size_t attribute_count;
};

#define CODE_NONE UINT32_MAX

/* A section with code: what is loaded in one piece. */
struct code_section {
	const char *name;
	uint64_t address; /* the image's */
	uint64_t size;
	uint64_t file_offset; /* of its bytes in the image: all of them are there */
	uint32_t kernel;      /* position of the kernel that the section is of; CODE_NONE when it is of none */
};

/* A function's attribute; false when the compiler did not give it. */
bool code_function_attribute(const struct code_function *function, const char *name, int64_t *value);

/* Initialise with {0}, then set the two arrays, which stay their owner's. */
struct code_table {
	const struct code_section *sections;
	size_t section_count;
	const struct code_function *functions; /* by address */
	size_t function_count;
	struct range_table ranges; /* of functions; value: position */
	struct hash_index by_name; /* of functions; position */
};

/* Makes what the look-ups need. False when out of memory. */
bool code_table_index(struct code_table *table);
void code_table_free(struct code_table *table);

/* The function with a name of the symbol table; NULL when there is none. Of several the first. */
const struct code_function *code_table_function(const struct code_table *table, const char *name);

struct code_location {
	const struct code_function *function; /* the innermost one that has a symbol */
	const struct code_function *kernel;   /* of the section; NULL: code that several kernels may call */
	uint64_t offset;                      /* from the start of the kernel, or of the function without one */
};

/* False: the address is in no function, or in the padding behind one. */
bool code_table_find(const struct code_table *table, uint64_t address, struct code_location *location);
/* The function that is decoded for an address: the kernel as a whole, or one that kernels call. */
const struct code_function *code_location_whole(const struct code_location *location, uint64_t address);

#endif
