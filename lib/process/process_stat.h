/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of /proc/PID/stat: proc_pid_stat(5). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns the fields after the name, the first of which is field 3; NULL if there are none. The caller frees *text. */
char *process_stat_fields(uint32_t pid, char **text);
/*
 * Finds the effective user of a process, which owns /proc/PID even if the process is not dumpable: far cheaper than its
 * status. Returns false if it is unknown.
 */
bool process_user(uint32_t pid, uint32_t *user);
/* Returns the CPU time of the children that a process has waited for, ns. */
uint64_t process_ended_children_time(uint32_t pid);
