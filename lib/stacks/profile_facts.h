/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a profile as several sinks write them: build ids of modules, numbers of lost events. */
#pragma once

#include <iaprof/profile.h>

#define LOST_COUNT_SIZE 48u

/* Returns the build id of the module with a path, or NULL if it is unknown or several modules have the path. */
const char *profile_build_id(const struct iaprof_profile *profile, const char *path);

/* Writes "3", "an unknown number" or "3 and an unknown number" to text, and returns it. */
const char *lost_count_text(const struct iaprof_lost *lost, char text[LOST_COUNT_SIZE]);
