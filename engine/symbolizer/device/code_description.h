/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the decoder reports about an image (iaprof/image.h), stored until the image's sections and functions are read,
 * which it completes.
 */
#pragma once

#include <iaprof/image.h>
#include "base/string_table.h"
#include "plugin/decoder.h"
#include "symbolizer/device/code_table.h"
#include "symbolizer/elf_file.h"

struct described_function {
	const char *name;
	uint32_t section; /* 0: any section */
	bool is_kernel;
	uint64_t offset, size; /* size 0: unknown */
	size_t attribute;      /* position of the first one in attributes */
	uint32_t attribute_count;
};

struct described_section {
	uint32_t number;
	const char *kernel;
};

struct described_symbol {
	uint32_t number;
	uint32_t section;
};

/* Initialise with {0} and the string table. */
struct code_description {
	struct string_table *strings;
	ARRAY(struct described_function) functions;
	ARRAY(struct described_section) sections;
	ARRAY(struct described_symbol) symbols;
	ARRAY(struct kernel_attribute) attributes;
	uint32_t addresses; /* enum iaprof_image_addresses */
	uint64_t base;
	uint64_t refused;
	bool is_damaged; /* the decoder failed */
};

/* Lets the decoder describe an image of size bytes, which is open as file. Returns 0 or -ENOMEM. */
int code_description_read(struct code_description *description, struct decoder *decoder, const struct elf_file *file,
			  const char *bytes, size_t size);
void code_description_free(struct code_description *description);
