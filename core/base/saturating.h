/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that stay at the largest value instead of wrapping. */
#ifndef IAPROF_CORE_BASE_SATURATING_H
#define IAPROF_CORE_BASE_SATURATING_H

#include <stdint.h>

static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
