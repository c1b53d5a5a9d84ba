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

/*
 * Appends the encoded request, and sets *count to the number of its profiles. links: samples of different spans are
 * separate, and refer to them. Returns false when out of memory.
 */
bool message_append(struct text *text, const struct iaprof_profile *profile, struct resources *resources, bool lines,
		    bool links, uint32_t *count);
