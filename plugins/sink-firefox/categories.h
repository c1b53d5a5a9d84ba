/* SPDX-License-Identifier: Apache-2.0 */
/* Categories of frames: Firefox Profiler colours graphs by them. */
#pragma once

#include <iaprof/profile.h>

#include "base/string_table.h"
#include "text/text.h"

/* Frames of this category have that of their caller. */
#define CATEGORY_OF_CALLER UINT32_MAX

/* Index of the category for frames and threads that have no other one. */
#define CATEGORY_OTHER 0u

uint32_t category_of(const struct iaprof_frame *frame);

/*
 * Appends the list of categories, as in the profile's metadata. That of device code is named by the kind of device, and
 * the classes of kernels are its subcategories behind the first one, by their ids.
 */
void categories_append(struct text *text, const struct iaprof_profile *profile, const struct string_table *classes);
