/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the texts of /proc/PID/maps, /proc/PID/stat (proc(5)) and lists of CPUs. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/process_maps.h"

/*
 * Parses the next line of the text at *text, *size bytes, and advances them past it. Newlines in the path are decoded
 * in place. Returns 1; 0 if there is no complete line; -EINVAL for a line that is not a mapping, which is skipped.
 */
int proc_maps_next(char **text, size_t *size, struct process_mapping *mapping);

struct proc_status {
	const char *name; /* comm, in the parsed text; not NUL-terminated */
	size_t name_length;
	char state; /* 'R', 'S', 'Z' (zombie), ... */
	uint32_t parent_pid;
	uint32_t flags; /* PF_* of Linux, include/linux/sched.h */
	uint32_t threads;
	uint64_t start_ticks; /* time of the fork since boot, in clock ticks (sysconf(_SC_CLK_TCK)) */
};

#define PROC_STATUS_EXITING 0x00000004u       /* PF_EXITING */
#define PROC_STATUS_KERNEL_THREAD 0x00200000u /* PF_KTHREAD */

/* Parses /proc/PID/stat. Returns 0 or -EINVAL. */
int proc_status_parse(const char *text, size_t size, struct proc_status *status);

/*
 * Parses a list of CPUs such as "0-3,8" (/sys/devices/system/cpu/online) and calls use for each. Returns 0, -EBADMSG
 * for any other text, or the first result of use that is not 0.
 */
int proc_cpu_list(const char *text, size_t size, int (*use)(void *context, uint32_t cpu), void *context);
