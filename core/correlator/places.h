/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in device code as frames: source file, functions, instruction, offset, and what the instruction may wait for.
 * Each is looked up once, however often its image is loaded. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_PLACES_H
#define IAPROF_CORE_CORRELATOR_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "base/hash.h"
#include "bus/intern.h"
#include "correlator/listings.h"
#include "profile/device_code.h"
#include "profile/frame_table.h"

#define PLACE_NONE UINT32_MAX

/* What the instruction at a place may wait for: at most so many have frames of their own. */
#define PLACE_PRODUCERS_MAX 4

/* No padding: its key is compared as bytes. */
struct place_key {
	uint64_t code;    /* tells the image, or the kernel without one, or the device from others */
	uint64_t address; /* in it */
	uint32_t kind;
	uint32_t label; /* string id */
};

struct place {
	struct place_key key;
	uint32_t first, count;    /* frames: source file, functions, instruction */
	uint32_t producers;       /* frames behind those, of what the instruction may wait for */
	uint32_t offset;          /* frame; FRAME_NONE none */
	uint32_t function;        /* string id of the kernel's or function's name, as in the symbol table */
	bool is_kernel;           /* function is one that is launched */
	uint64_t function_offset; /* bytes from its start */
};

/* Initialise with {0} and the first four. */
struct places {
	struct intern *intern;
	struct frame_table *frames;
	struct listings *listings; /* NULL: nobody wants them */
	bool producers;            /* frames for what instructions wait for are wanted */
	ARRAY(struct place) items;
	ARRAY(uint32_t) frame_ids;
	struct hash_index index;
	uint32_t unknown; /* places of unknown code */
};

void places_free(struct places *places);
/* Forgets all; numbers of places mean nothing any more. */
void places_clear(struct places *places);

/* Where device_code_find() found code. PLACE_NONE: the address is in no function, or out of memory. */
uint32_t places_of_code(struct places *places, const struct device_code_found *found);
/*
 * Code that nobody knows. device: tells devices apart; label: string id of what it is, 0: nobody can say. PLACE_NONE:
 * out of memory. When there are very many, addresses are left out.
 */
uint32_t places_of_unknown(struct places *places, uint64_t device, uint64_t address, uint32_t label);

#endif
