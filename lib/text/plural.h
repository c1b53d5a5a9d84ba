/* SPDX-License-Identifier: Apache-2.0 */
/* English number agreement in messages. */
#pragma once

#include <stdint.h>

/* Returns the ending of a regular noun: "%" PRIu64 " sample%s". */
static inline const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}
