/* SPDX-License-Identifier: Apache-2.0 */
/* See platform.h. */
#include <stdbool.h>
#include <stdio.h>
#include "platform.h"

/* INTEL_PVC_IDS in include/drm/intel/pciids.h (Linux 7.0). */
static bool is_pvc(uint16_t device_id)
{
	return device_id == 0x0b69 || device_id == 0x0b6e || (device_id >= 0x0bd4 && device_id <= 0x0bdb) ||
	       device_id == 0x0be0 || device_id == 0x0be1 || device_id == 0x0be5;
}

const struct row_layout *platform_row_layout(uint16_t device_id, uint16_t version_major)
{
	if (is_pvc(device_id))
		return &row_layout_pvc;
	/* Xe2, Xe3 and Xe3p. A version between or after them may have another layout, which looks plausible. */
	switch (version_major) {
	case 20:
	case 30:
		return &row_layout_xe2;
	case 35:
		return &row_layout_xe3p;
	default:
		return NULL;
	}
}

void platform_name(uint16_t device_id, char *name, size_t size)
{
	/* Names used by Intel's compute runtime. */
	static const struct {
		uint16_t device_id;
		const char *name;
	} names[] = {
		{ 0x0bd5, "Data Center GPU Max 1550" },
		{ 0x0bd6, "Data Center GPU Max 1550" },
		{ 0x0bd7, "Data Center GPU Max 1350" },
		{ 0x0bd8, "Data Center GPU Max 1350" },
		{ 0x0bd9, "Data Center GPU Max 1100" },
		{ 0x0bda, "Data Center GPU Max 1100" },
		{ 0x0bdb, "Data Center GPU Max 1100" },
		{ 0xe20b, "Arc B580" },
		{ 0xe20c, "Arc B570" },
		{ 0xe211, "Arc Pro B60" },
		{ 0xe212, "Arc Pro B50" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].device_id == device_id) {
			snprintf(name, size, "Intel %s", names[i].name);
			return;
		}
	snprintf(name, size, "Intel GPU %04x", device_id);
}
