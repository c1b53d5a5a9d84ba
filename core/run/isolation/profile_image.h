/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as a file in memory, for the process of an isolated sink, which maps it anywhere. Pointers are offsets in
 * the image and are listed in it. Strings are in files of their own: each file has those that earlier profiles did not
 * have, because strings are valid until finish() returns. The process trusts both files, as they are iaprof's.
 */
#pragma once

#include <stdint.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "base/string_table.h"

/* Strings sent so far. Initialise with {0}. */
struct profile_strings {
	struct string_table known;
	ARRAY(uint64_t) offsets; /* by id - 1: in all files of strings together */
	uint64_t size;           /* of all files of strings */
};
void profile_strings_free(struct profile_strings *strings);

/*
 * Writes a profile. Sets *image and *new_strings to descriptors of files that the caller closes; *new_strings is -1 if
 * there are no new strings. Returns 0 or a negative errno.
 */
int profile_image_write(struct profile_strings *strings, const struct iaprof_profile *profile, int *image,
			int *new_strings);

/* A part of all files of strings together. */
struct mapped_strings_file {
	uint64_t begin, size;
	const char *bytes;
};

/* Files of strings, mapped by the process of the sink until it ends. Initialise with {0}. */
struct mapped_strings {
	ARRAY(struct mapped_strings_file) files; /* in the order of begin */
};
/* Adds a file; the descriptor remains the caller's. Returns 0 or a negative errno. */
int mapped_strings_add(struct mapped_strings *strings, int descriptor);

struct mapped_profile {
	void *memory;
	size_t size;
	const struct iaprof_profile *profile;
};
/* Maps an image; the descriptor remains the caller's. Returns 0 or a negative errno. */
int mapped_profile_open(struct mapped_profile *mapped, const struct mapped_strings *strings, int descriptor);
void mapped_profile_close(struct mapped_profile *mapped);
