/* SPDX-License-Identifier: Apache-2.0 */
/* The names of frames as numbers. Their texts are the core's, which keeps them until finish() returns. */
#ifndef IAPROF_PLUGINS_TOP_NAMES_H
#define IAPROF_PLUGINS_TOP_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "common/item_index.h"

/* Names that find no room are this one. */
#define NAME_OTHER 0u
#define NAMES_MAX (1u << 20)

struct name {
	const char *text;
	const char *suffix; /* " [k]" and the like, static */
	uint64_t hash;
};

/* What a frame of the profile had been found to be the last time. */
struct known_frame {
	const char *name, *module;
	uint32_t kind, flags;
	uint32_t id;
};

/* Initialise with {0}. */
struct names {
	struct name *items;
	size_t count, capacity;
	struct item_index index;
	struct known_frame *frames; /* by id of a frame */
	size_t frame_count;
};

/* A number for a text that stays until finish() returns; NAME_OTHER when there is no room. */
uint32_t names_find(struct names *names, const char *text, const char *suffix);
/* Before frames of a profile are looked for. False: out of memory. */
bool names_begin(struct names *names, const struct iaprof_profile *profile);
/* The name under which a frame is shown. */
uint32_t names_of_frame(struct names *names, const struct iaprof_profile *profile, uint32_t frame);
void names_free(struct names *names);

#endif
