/* SPDX-License-Identifier: Apache-2.0 */
/* The device addresses that an image of device code is bound to. Pure; any thread. */
#pragma once

#include "elf/elf_reader.h"

/* Device addresses have 48 or 57 bits. The runtime sign-extends them; this removes the extension. */
static inline uint64_t canonical_form_remove(uint64_t address)
{
	if (address >> 48 == 0xffff)
		return address & ((UINT64_C(1) << 48) - 1);
	return address & ((UINT64_C(1) << 57) - 1);
}

/* The address range of an image's code. */
struct code_range {
	uint32_t machine; /* ELF machine number */
	uint64_t address; /* the lowest address; both are 0 if the image is not bound to addresses */
	uint64_t size;    /* bytes up to the end of the highest section */
};

/* Returns false if the image is not an ELF file. */
bool code_range_find(const struct elf_reader *bytes, struct code_range *range);
