/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listings of device functions that have samples, with all instructions, for the output stream (CODE_LISTING records).
 * A function is listed when its first sample is located, because its image may be unloaded, and only once even if the
 * image is loaded repeatedly. Owned by the collector thread.
 */
#pragma once

#include <stdint.h>
#include "base/keyed_array.h"
#include "bus/result_stream.h"
#include "symbolizer/device/remote_code.h"

/* Limit per run; a GPU kernel has about 500 to 20,000 instructions. */
#define LISTINGS_FUNCTIONS_MAX 8192
#define LISTINGS_INSTRUCTIONS_MAX ((uint64_t)1 << 19)
/* Limit per function: the collector is blocked while it writes a listing. */
#define LISTING_INSTRUCTIONS_MAX 32768

/* Limit on producers per instruction; further ones are omitted. */
#define LISTING_PRODUCERS_MAX 32

struct listed_function {
	struct {
		uint64_t code;    /* identifies the image */
		uint64_t address; /* image address of the function */
	} key;
};

/* Initialise with {0} and the first. */
struct code_listings {
	struct result_stream *results;
	KEYED_ARRAY(struct listed_function) items; /* id = position + 1 */
	uint64_t instructions;
	uint64_t functions_left_out; /* locations in functions beyond the limit */
	uint64_t bytes_left_out;     /* in listed functions; includes bytes that no decoder supports */
};

void code_listings_free(struct code_listings *listings);

/*
 * Returns the id of the listing of the function at an image address, and sends the listing if it is new; 0: there is
 * none. code identifies the image.
 */
uint32_t code_listings_send(struct code_listings *listings, uint64_t key_of_code, struct remote_code *code,
			    uint64_t address);
