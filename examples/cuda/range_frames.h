/* SPDX-License-Identifier: Apache-2.0 */
/* Frames for NVTX ranges: a bounded number of names. Owned by the loop's thread. Initialise with {0}. */
#pragma once

#include <stdint.h>
#include <base/keyed_array.h>
#include <iaprof/host.h>

#include "thread_ranges.h"

struct range_frame {
	struct {
		char name[RANGE_NAME_SIZE]; /* padded with zeros */
	} key;
	uint64_t element; /* of a user stack */
};

struct range_frames {
	KEYED_ARRAY(struct range_frame) items;
	uint64_t others; /* the element of all further names */
};

/* Returns the element of a user stack for a frame with a name, of kind IAPROF_FRAME_CALL; 0: none. */
uint64_t call_frame(const struct iaprof_host *host, const char *name);

void range_frames_free(struct range_frames *frames);
/*
 * Writes the elements of a user stack for the ranges that a thread is in, the innermost first, to at most
 * THREAD_RANGES_MAX places. Returns their number.
 */
size_t range_frames_get(struct range_frames *frames, const struct iaprof_host *host, const struct thread_ranges *ranges,
			uint64_t *elements);
