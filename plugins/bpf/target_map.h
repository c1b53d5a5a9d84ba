/* SPDX-License-Identifier: Apache-2.0 */
/* User space's side of targets.h: marks the processes to profile. */
#ifndef IAPROF_BPF_TARGET_MAP_H
#define IAPROF_BPF_TARGET_MAP_H

#include <iaprof/host.h>

/* Marks target's processes in a map of TARGET_WORDS words. Returns 0, or a negative errno after host->fail(). */
int target_map_set(const struct iaprof_host *host, int map, const struct iaprof_target *target);

#endif
