// SPDX-License-Identifier: GPL-2.0-only
/* Presets: one representative of every generation, with its number of Xe-cores and tiles. */
#include <linux/string.h>
#include "platform.h"
#include "row_layout.h"

struct preset {
	struct platform platform;
	u8 tiles;
	u8 cores;
};

const char platform_names[] = "pvc, lnl, bmg, ptl, cri, dg2, mtl";

/*
 * PCI ids are those of include/drm/intel/pciids.h (Linux 7.2), versions those of the graphics_ip_map in xe_pci.c. PVC
 * and DG2 have no GMD_ID registers. Groups have 8 Xe-cores on PVC and 4 later (dss_per_group() in xe_gt_mcr.c).
 */
static const struct preset presets[] = {
	{ { .name = "pvc",
	    .device_id = 0x0bd5,
	    .revision = 0x2f,
	    .pvc = true,
	    .discrete = true,
	    .graphics_version = 1260,
	    .media_version = 1260,
	    .cores_per_group = 8 },
	  .tiles = 2,
	  .cores = 64 },
	{ { .name = "lnl",
	    .device_id = 0x64a0,
	    .revision = 4,
	    .graphics_version = 2004,
	    .media_version = 2000,
	    .reports_version = true,
	    .graphics_revision = 4,
	    .cores_per_group = 4 },
	  .tiles = 1,
	  .cores = 8 },
	{ { .name = "bmg",
	    .device_id = 0xe20b,
	    .discrete = true,
	    .graphics_version = 2001,
	    .media_version = 1301,
	    .reports_version = true,
	    .graphics_revision = 4,
	    .cores_per_group = 4 },
	  .tiles = 1,
	  .cores = 20 },
	{ { .name = "ptl",
	    .device_id = 0xb080,
	    .graphics_version = 3000,
	    .media_version = 3000,
	    .reports_version = true,
	    .graphics_revision = 4,
	    .cores_per_group = 4 },
	  .tiles = 1,
	  .cores = 12 },
	{ { .name = "cri",
	    .device_id = 0x674c,
	    .discrete = true,
	    .graphics_version = 3511,
	    .media_version = 3503,
	    .reports_version = true,
	    .cores_per_group = 4 },
	  .tiles = 1,
	  .cores = 32 },
	{ { .name = "dg2",
	    .device_id = 0x56a0,
	    .revision = 8,
	    .discrete = true,
	    .graphics_version = 1255,
	    .media_version = 1255,
	    .cores_per_group = 4 },
	  .tiles = 1,
	  .cores = 32 },
	{ { .name = "mtl",
	    .device_id = 0x7d55,
	    .revision = 8,
	    .graphics_version = 1270,
	    .media_version = 1300,
	    .reports_version = true,
	    .graphics_revision = 4,
	    .cores_per_group = 4 },
	  .tiles = 1,
	  .cores = 8 },
};

bool platform_preset(struct platform *platform, const char *name)
{
	const struct preset *preset = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(presets); i++)
		if (!strcmp(presets[i].platform.name, name))
			preset = &presets[i];
	if (!preset)
		return false;
	*platform = preset->platform;
	platform->reference_clock = 19200000;
	platform->kernel = XE_KERNEL(7, 2);
	for (u8 tile = 0; tile < preset->tiles; tile++) {
		/* Two numbers a tile where the media GT stands alone (media version 13 and later), else one. */
		bool standalone_media = platform->media_version >= 1300;
		struct xe_gt_config *gt = &platform->gt[standalone_media ? 2 * tile : tile];

		gt->present = true;
		gt->tile = tile;
		bitmap_set(gt->compute, 0, preset->cores);
		if (!platform->pvc)
			bitmap_set(gt->geometry, 0, preset->cores);
		if (standalone_media) {
			gt[1].present = true;
			gt[1].media = true;
			gt[1].tile = tile;
		}
	}
	return true;
}

const struct row_layout *platform_row_layout(const struct platform *platform)
{
	if (platform->pvc)
		return &row_layout_pvc;
	if (platform->graphics_version >= 3500)
		return &row_layout_xe3p;
	if (platform->graphics_version >= 2000)
		return &row_layout_xe2;
	return NULL;
}

void gt_config_cores(const struct xe_gt_config *gt, unsigned long *cores)
{
	bitmap_or(cores, gt->geometry, gt->compute, XE_MAX_CORES);
}
