/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct and everything that it points to as bytes, for the process of an isolated plugin, which maps them anywhere.
 * Pointers are offsets, which are listed. The process trusts them, as they are iaprof's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/string_table.h"

/* A pointer in a struct. */
struct packing_pointer {
	enum { PACKING_END, PACKING_TEXT, PACKING_ITEMS } kind;
	uint16_t at; /* its offset */
	/* Of items, how many there are: count, and the member at count_at, or all up to a NULL if there is neither. */
	uint16_t count, count_at, count_size;
	uint16_t counted_in; /* offset of a pointer to the struct that has this member; 0: this one */
	uint16_t stride_at;  /* offset of the size of an item, a size_t; 0: stride */
	size_t stride;
	const struct packing_pointer *in_an_item; /* NULL: none */
};

struct packing_layout {
	size_t size; /* of the struct */
	const struct packing_pointer *pointers;
};
extern const struct packing_layout packing_of_profile, packing_of_target, packing_of_mapped_file,
	packing_of_unwind_table, packing_of_unwind_process;

/* Has bytes, or a descriptor of a file in memory if they exceed a message. */
struct packed {
	char *bytes;
	int descriptor; /* -1: none */
	size_t size;
};
#define PACKED_NONE ((struct packed){ .descriptor = -1 })
/* Returns 0 or -ENOMEM. */
int packed_make(struct packed *packed, const struct packing_layout *layout, const void *original);
void packed_free(struct packed *packed);

struct unpacked {
	void *memory;
	size_t size;
	void *copy; /* of the struct */
};
/*
 * Unpacks a file, or size bytes if descriptor is -1. texts: has the texts, which then outlive the copy; NULL: they are
 * part of it. Returns 0 or -ENOMEM.
 */
int unpacked_make(struct unpacked *unpacked, const void *bytes, size_t size, int descriptor,
		  struct string_table *texts);
void unpacked_free(struct unpacked *unpacked);
