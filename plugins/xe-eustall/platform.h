/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU it is: its name, and the layout of its rows. */
#ifndef IAPROF_XE_EUSTALL_PLATFORM_H
#define IAPROF_XE_EUSTALL_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include "row_layout.h"

/*
 * By the PCI device id, as PVC does not tell its version, and by the version of the GT's graphics hardware. Rows are 64
 * bytes in every layout: their size says nothing. NULL for a GPU without EU stalls.
 */
const struct row_layout *platform_row_layout(uint16_t device_id, uint16_t version_major);

/* "Intel Arc B580", or "Intel GPU e20b" where Intel's name for the id is not known. */
void platform_name(uint16_t device_id, char *name, size_t size);

/* Which GPUs have EU stalls, for messages. */
#define PLATFORMS_WITH_EU_STALLS                                                                                       \
	"Data Center GPU Max, Lunar Lake, Arc B (Battlemage), Panther Lake and newer ones have it, but not as an "     \
	"SR-IOV virtual function"

#endif
