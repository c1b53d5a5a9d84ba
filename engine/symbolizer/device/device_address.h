/* SPDX-License-Identifier: Apache-2.0 */
/* Converts device addresses to a form in which they can be compared. */
#pragma once

#include <stdint.h>

/* Removes the sign extension of canonical addresses of 48 or 57 bits. Other addresses stay unchanged. */
static inline uint64_t device_address_plain(uint64_t address)
{
	if (address >> 47 == UINT64_MAX >> 47)
		return address & (UINT64_MAX >> (64 - 48));
	if (address >> 56 == UINT64_MAX >> 56)
		return address & (UINT64_MAX >> (64 - 57));
	return address;
}
