/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup of --cgroup and --container. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Initialise with {0}. */
struct target_cgroup {
	char *folder;       /* NULL: none */
	uint64_t id;        /* its inode number */
	uint32_t hierarchy; /* 0: cgroup v2; else the hierarchy's id in /proc/self/cgroup */
};

/* Finds a cgroup by its folder, or by its path in a mounted hierarchy, v2 first. Returns 0 or a negative errno. */
int target_cgroup_find(struct target_cgroup *cgroup, const char *path, struct error *error);
/* Finds the cgroup of a container by its id or name, or a unique prefix of it. Returns 0 or a negative errno. */
int target_cgroup_find_container(struct target_cgroup *cgroup, const char *id, struct error *error);
void target_cgroup_free(struct target_cgroup *cgroup);
