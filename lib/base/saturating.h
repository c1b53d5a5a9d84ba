/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and products that saturate at the maximum instead of wrapping. */
#pragma once

#include <stdint.h>

static inline uint64_t saturating_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t saturating_multiply(uint64_t a, uint64_t b)
{
	uint64_t product;
	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline void saturating_increase(uint64_t *sum, uint64_t more)
{
	*sum = saturating_add(*sum, more);
}
