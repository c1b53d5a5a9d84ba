/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs whose driver is xe: their DRM nodes, and what the driver's queries say of them. */
#ifndef IAPROF_XE_EUSTALL_DEVICE_H
#define IAPROF_XE_EUSTALL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "query.h"
#include "row_layout.h"

/* More render nodes than Linux has minor numbers for (DRM_MINOR_RENDER, 128 to 191). */
#define DEVICES_MAX 64u

struct device {
	int node;         /* the render node, open */
	char address[32]; /* "0000:03:00.0"; the node's name where it is no PCI device */
	char name[64];    /* "Intel Arc B580" */
	const struct row_layout *layout;
	struct query_gts gts;
	struct query_eu_stall eu_stall;
};

struct devices {
	size_t count;
	struct device *items; /* NULL: none yet */
};

/*
 * Opens the GPUs that have EU stalls, all or the one that wanted names by its PCI address or the path of a node. Those
 * that have none are left out, with a line at level; it is an error when none is left, or when the wanted one has none.
 * Returns 0, or a negative errno after host->fail(); then nothing is open.
 */
int devices_open(struct devices *devices, const struct iaprof_host *host, const char *wanted, int level);
void devices_close(struct devices *devices);

/*
 * Whether the device was pulled out. Only the node tells: drm_ioctl() asks that before anything else (Linux 6.15 to
 * 7.2), and the file of a stream never does.
 */
bool device_is_gone(const struct device *device);

/*
 * "Intel Arc B580 GT 0", with " at 0000:03:00.0" where there are several of that name: metadata has one value for each
 * key. As the core does with the names of DEVICE records, which therefore have no address.
 */
void device_label(const struct devices *devices, const struct device *device, uint32_t gt, char *text, size_t size);

/* Whether this process may open streams. Returns 0, or a negative errno after host->fail(). */
int device_rights_check(const struct iaprof_host *host);
/* What is missing when it may not, and what to do. */
#define DEVICE_RIGHTS_MISSING                                                                                          \
	"only privileged processes may sample EU stalls: it needs CAP_PERFMON, or the sysctl "                         \
	"dev.xe.observation_paranoid=0: run as root"

#endif
