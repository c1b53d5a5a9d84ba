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

/* Takes a request with a number of profiles, and may take the text, too. */
typedef void request_send(void *context, struct text *body, uint32_t count);

/*
 * Makes requests of push.v1.PusherService (Connect, JSON) with a series for each value type that has samples. A series
 * that is larger than Pyroscope takes by default is divided into several profiles, which it adds up, and all of them
 * into as many requests. Returns false when out of memory.
 */
bool request_push(const struct iaprof_profile *profile, const struct profile_samples_options *options,
		  const struct request_labels *labels, request_send *send, void *context);
/* Makes a request that is the profile with all value types, compressed; none if it has no samples. Returns as above. */
bool request_plain(const struct iaprof_profile *profile, const struct profile_samples_options *options,
		   request_send *send, void *context);
