/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes the profile of an interval as a capture: definitions before their use, and the values of the interval. */
#pragma once

#include <stdbool.h>
#include <iaprof/profile.h>

#include "services.h"
#include "text/text.h"

/*
 * Appends the bytes of a capture file. services: names of which become the modules of process frames; NULL: the
 * processes are not those of this machine. spans: stacks have their span. dropped: intervals since the segment
 * before that could not be written, which becomes a loss. Returns 0, or -ENOMEM.
 */
int segment_append(struct text *file, const struct iaprof_profile *profile, struct services *services, bool spans,
		   int level, uint64_t dropped);
