/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies a GPU: its name and the layout of its rows. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "row_layout.h"

/*
 * Identifies a GPU by its PCI device id, because PVC reports no version, or by the version of the GT's graphics IP.
 * Rows have 64 bytes in every layout. Returns NULL for a GPU without EU stall sampling, and for a version whose layout
 * is not known.
 */
const struct row_layout *platform_row_layout(uint16_t device_id, uint16_t version_major);

/* Writes "Intel Arc B580", or "Intel GPU e20b" for an unknown id. */
void platform_name(uint16_t device_id, char *name, size_t size);

/* GPUs with EU stall sampling, for messages. */
#define PLATFORMS_WITH_EU_STALLS                                                                                       \
	"supported on Data Center GPU Max, Lunar Lake, Arc B (Battlemage), Panther Lake and newer, but not on an "     \
	"SR-IOV virtual function"
