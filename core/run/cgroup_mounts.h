/* SPDX-License-Identifier: Apache-2.0 */
/* The mounted cgroup hierarchies. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

struct cgroup_mount {
	char *folder;
	dev_t device;
	uint32_t hierarchy; /* 0: cgroup v2; else the hierarchy's id in /proc/self/cgroup */
};

struct cgroup_mounts {
	ARRAY(struct cgroup_mount); /* v2 first */
};

/* Reads the mounts of iaprof's mount namespace. Returns 0 or a negative errno; free it in either case. */
int cgroup_mounts_read(struct cgroup_mounts *mounts);
void cgroup_mounts_free(struct cgroup_mounts *mounts);
