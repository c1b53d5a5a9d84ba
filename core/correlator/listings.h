/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of devices that have samples, told to the bus with all of their instructions (CODE_LISTING records): when
 * the first sample of one is placed, for its image may go. Each is told once, however often its image is loaded.
 * Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_LISTINGS_H
#define IAPROF_CORE_CORRELATOR_LISTINGS_H

#include <stdint.h>
#include "base/array.h"
#include "base/hash.h"
#include "bus/bus.h"
#include "bus/intern.h"
#include "symbolizer/device/remote_code.h"

/* Of a run; a kernel has some 500 to 20,000 instructions. */
#define LISTINGS_FUNCTIONS_MAX 8192
#define LISTINGS_INSTRUCTIONS_MAX ((uint64_t)1 << 19)
/* Of one function: the collector does nothing else meanwhile. */
#define LISTING_INSTRUCTIONS_MAX 32768

/* What instructions wait for: more producers of one are not told. */
#define LISTING_PRODUCERS_MAX 32

/* No padding: it is compared as bytes. */
struct listing_key {
	uint64_t code;    /* tells the image from others */
	uint64_t address; /* of the function in it */
};

/* Initialise with {0} and the first two. */
struct listings {
	struct intern *intern;
	struct bus *bus;
	ARRAY(struct listing_key) items; /* the id of one is its position, plus 1 */
	struct hash_index index;
	uint64_t instructions;
	uint64_t functions_left_out; /* places in functions for which there was no room */
	uint64_t bytes_left_out;     /* of functions that were told; also what no decoder knows */
};

void listings_free(struct listings *listings);

/*
 * The id of the listing of the function at one of the image's own addresses, which is told now if it was not; 0: there
 * is none. code: tells the image from others.
 */
uint32_t listings_tell(struct listings *listings, uint64_t key_of_code, struct remote_code *code, uint64_t address);

#endif
