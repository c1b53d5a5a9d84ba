/* SPDX-License-Identifier: Apache-2.0 */
/* English number agreement in messages. */
#ifndef IAPROF_LIB_TEXT_PLURAL_H
#define IAPROF_LIB_TEXT_PLURAL_H

#include <stdint.h>

/* Returns the ending of a regular noun: "%" PRIu64 " sample%s". */
static inline const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
