/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations in device code as frames: source file, functions, instruction, offset, and producers of the instruction.
 * Each is resolved once, even if its image is loaded repeatedly. Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "bus/intern.h"
#include "correlator/code_listings.h"
#include "correlator/device_code.h"
#include "symbolizer/frame_table.h"

#define LOCATION_NONE POSITION_NONE

/* Limit on producers per instruction that get frames. */
#define LOCATION_PRODUCERS_MAX 4

/* No padding: its key is compared as bytes. */
struct located_code {
	uint64_t code;    /* identifies the image, a kernel without image, or the device */
	uint64_t address; /* address in the image, kernel or device */
	uint32_t kind;
	uint32_t label; /* string id */
};

struct resolved_location {
	struct located_code key;
	uint32_t first, count;               /* frames: source file, functions, instruction */
	uint32_t producers;                  /* number of producer frames after those */
	uint32_t offset;                     /* frame; FRAME_NONE if none */
	uint32_t function;                   /* string id of the kernel's or function's name, as in the symbol table */
	bool is_kernel;                      /* function can be launched */
	bool is_undecodable;                 /* no instruction begins here: nothing can have run */
	uint64_t function_offset;            /* bytes from its start */
	uint32_t first_caller, caller_count; /* names of the kernels that can reach the function; none: not known */
};

/* Initialise with {0} and the first four. */
struct code_locations {
	struct intern *intern;
	struct frame_table *frames;
	struct code_listings *listings; /* NULL: not requested */
	KEYED_ARRAY(struct resolved_location) items;
	ARRAY(uint32_t) frame_ids;
	ARRAY(uint32_t) callers; /* string ids */
	uint32_t unknown;        /* locations in unknown code */
};

/* Returns whether a kernel can reach the code at a location, by the kernel's string id. */
bool code_locations_reaches(const struct code_locations *locations, const struct resolved_location *location,
			    uint32_t kernel);
void code_locations_free(struct code_locations *locations);
/* Removes all locations and invalidates their numbers. */
void code_locations_clear(struct code_locations *locations);

/*
 * Returns the location for a result of device_code_find(). LOCATION_NONE: the address is in no function, or out of
 * memory.
 */
uint32_t code_locations_find(struct code_locations *locations, const struct device_code_found *found);
/*
 * Returns the location of unknown code. device identifies the device; label: string id that describes the code, 0: not
 * known. LOCATION_NONE: out of memory. When there are too many locations, addresses are omitted.
 */
uint32_t code_locations_find_unknown(struct code_locations *locations, uint64_t device, uint64_t address,
				     uint32_t label);
