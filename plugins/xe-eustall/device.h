/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of the xe driver: their DRM nodes and the driver's answers to queries. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "query.h"
#include "row_layout.h"

/* As many render nodes as Linux has minor numbers for (DRM_MINOR_RENDER, 128 to 191). */
#define DEVICES_MAX 64u

struct device {
	int node;           /* the render node, open */
	char address[32];   /* "0000:03:00.0"; the node's name if it is not a PCI device */
	char name[64];      /* "Intel Arc B580" */
	uint16_t device_id; /* PCI */
	const struct row_layout *layout;
	struct query_gts gts;
	struct query_eu_stall eu_stall;
};

struct devices {
	size_t count;
	struct device *items; /* NULL: none yet */
};

/*
 * Opens all GPUs that support EU stall sampling, or the one that wanted names by PCI address or node. Other GPUs are
 * skipped with a message at level. Fails if no GPU is left, or if the wanted one is not supported. Returns 0, or a
 * negative errno after host->fail(); then nothing is open.
 */
int devices_open(struct devices *devices, const struct iaprof_host *host, const char *wanted, int level);
void devices_close(struct devices *devices);

/*
 * Returns whether the device was unplugged. Only the node indicates this: drm_ioctl() checks it first (Linux 6.15
 * to 7.2), unlike the stream's file operations.
 */
bool device_is_gone(const struct device *device);

/*
 * Writes "Intel Arc B580 GT 0", with " at 0000:03:00.0" if several GPUs have the same name, because metadata keys are
 * unique. The core does the same for the names of DEVICE records, which therefore have no address.
 */
void device_label(const struct devices *devices, const struct device *device, uint32_t gt, char *text, size_t size);

/* Checks whether this process may open streams. Returns 0, or a negative errno after host->fail(). */
int device_rights_check(const struct iaprof_host *host);
/* The message for a process that may not open streams. */
#define DEVICE_RIGHTS_MISSING                                                                                          \
	"permission denied for EU stall sampling "                                                                     \
	"(set dev.xe.observation_paranoid=0 or grant CAP_PERFMON)"
