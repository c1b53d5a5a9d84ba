/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of devices, which are written in several ways, as plain numbers that can be compared. */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_DEVICE_ADDRESS_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_DEVICE_ADDRESS_H

#include <stdint.h>

/*
 * Takes away the canonical form: virtual addresses of 48 or 57 bits whose uppermost bit is repeated in all bits above.
 * What does not look like that stays as it is.
 */
static inline uint64_t device_address_plain(uint64_t address)
{
	if (address >> 47 == UINT64_MAX >> 47)
		return address & (UINT64_MAX >> (64 - 48));
	if (address >> 56 == UINT64_MAX >> 56)
		return address & (UINT64_MAX >> (64 - 57));
	return address;
}

#endif
