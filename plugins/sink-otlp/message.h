/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as a request of OTLP profiles: a resource for each container and service, with a profile for each value
 * type. The program, process, thread, device and stall reason are attributes of samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "resources.h"
#include "text/text.h"

struct message_options {
	bool lines;    /* source lines and inlined functions */
	bool links;    /* samples of different spans are separate, and refer to them */
	uint64_t size; /* limit of a request, in bytes */
};

/* Takes over the text, an encoded request with count profiles. Returns false when out of memory. */
typedef bool message_send(void *context, struct text *message, uint32_t count);

/*
 * Hands over a profile as a request, or as several if it is larger than the limit: each has a part of the values, and
 * only one with a single value is larger. Returns false when out of memory.
 */
bool message_make(const struct iaprof_profile *profile, struct resources *resources,
		  const struct message_options *options, message_send *send, void *context);
