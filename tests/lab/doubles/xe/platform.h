/* SPDX-License-Identifier: GPL-2.0-only */
/* Platforms: which GPU the double is, and which kernel's driver it behaves like. */
#pragma once

#include <linux/bitmap.h>
#include <linux/types.h>

struct row_layout;

#define XE_MAX_GT 4
/* XE_MAX_DSS_FUSE_BITS in xe_gt_types.h, Linux 6.14: three registers of 32 bits. */
#define XE_MAX_CORES 96

#define XE_KERNEL(major, minor) ((major)*1000u + (minor))

struct xe_gt_config {
	bool present;
	bool media;
	u8 tile;
	DECLARE_BITMAP(geometry, XE_MAX_CORES);
	DECLARE_BITMAP(compute, XE_MAX_CORES);
};

struct platform {
	const char *name;
	u16 device_id;
	u8 revision;
	bool pvc;
	bool discrete;
	u16 graphics_version; /* x 100: 2001 is 20.01 */
	u16 media_version;
	bool reports_version; /* has GMD_ID registers: ip_ver_* are not 0 */
	u8 graphics_revision;
	u8 cores_per_group; /* for steering: Xe-core = group x this + instance */
	u32 reference_clock;
	u32 kernel; /* XE_KERNEL() of the kernel whose driver is played */
	struct xe_gt_config gt[XE_MAX_GT];
};

/* Fills *platform with a preset, NULL-safe for unknown names: returns false. */
bool platform_preset(struct platform *platform, const char *name);
/* The names of the presets, for an error message. */
extern const char platform_names[];
/* NULL where the platform has no EU stall sampling. */
const struct row_layout *platform_row_layout(const struct platform *platform);
/* Xe-cores that geometry or compute may use. */
void gt_config_cores(const struct xe_gt_config *gt, unsigned long *cores);
