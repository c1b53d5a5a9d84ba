/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as a file in memory, for the process of an isolated sink, which maps it anywhere. Pointers are offsets in
 * the image and are listed in it. The process trusts the file, as it is iaprof's.
 */
#pragma once

#include <iaprof/profile.h>

#include "base/string_table.h"

/* Writes a profile, and sets *image to the descriptor of a file that the caller closes. Returns 0 or a negative errno.
 */
int profile_image_write(const struct iaprof_profile *profile, int *image);

struct mapped_profile {
	void *memory;
	size_t size;
	const struct iaprof_profile *profile;
};
/*
 * Maps an image; the descriptor remains the caller's. Its texts are added to those of earlier profiles, because they
 * are valid until finish() returns. Returns 0 or a negative errno.
 */
int mapped_profile_open(struct mapped_profile *mapped, struct string_table *texts, int descriptor);
void mapped_profile_close(struct mapped_profile *mapped);
