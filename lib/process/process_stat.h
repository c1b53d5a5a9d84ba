/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of /proc/PID/stat: proc_pid_stat(5). */
#pragma once

#include <stdint.h>

/* Returns the fields after the name, the first of which is field 3; NULL if there are none. The caller frees *text. */
char *process_stat_fields(uint32_t pid, char **text);
/* Returns the CPU time of the children that a process has waited for, ns. */
uint64_t process_ended_children_time(uint32_t pid);
