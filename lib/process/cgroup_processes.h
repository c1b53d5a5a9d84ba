/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the processes of a cgroup, of version 1 or 2. */
#pragma once

#include "process/descendants.h"

/*
 * Appends the processes of the cgroup with this folder, and of the cgroups below it. Returns 0 or a negative errno; a
 * cgroup that was removed has no processes.
 */
int cgroup_processes_add(const char *folder, struct process_list *processes);
