/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that deliver profiles in the format of pprof: Pyroscope's push, or the bare profile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "stacks/profile_samples.h"
#include "text/text.h"

struct request_label {
	const char *name, *value; /* of the user: not yet cleaned */
};

struct request_labels {
	ARRAY(struct request_label);
};

/*
 * Appends a request of push.v1.PusherService (Connect, JSON) with a series for each value type that has samples, and
 * sets *count to their number. Returns false when out of memory.
 */
bool request_append_push(struct text *text, const struct iaprof_profile *profile,
			 const struct profile_samples_options *options, const struct request_labels *labels,
			 uint32_t *count);
/* Appends the profile with all value types, compressed. *count: 1, or 0 if it has no samples. */
bool request_append_plain(struct text *text, const struct iaprof_profile *profile,
			  const struct profile_samples_options *options, uint32_t *count);
