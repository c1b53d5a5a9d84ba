/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of /proc/PID/maps and /proc/PID/stat (proc(5)), parsed: bytes in, values out. */
#ifndef IAPROF_CORE_PROCESS_PROC_TEXT_H
#define IAPROF_CORE_PROCESS_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_mapping {
	uint64_t start, end, file_offset, inode;
	uint32_t device_major, device_minor;
	bool executable;
	const char *path; /* newlines decoded, in the text that was parsed; not terminated; length 0: anonymous */
	size_t path_length;
};

/*
 * Takes the next line from the text at *text, *size bytes, and moves them behind it; the path is decoded in place.
 * Returns 1; 0 when there is no whole line; -EINVAL for a line that is not one of maps (it is skipped).
 */
int proc_maps_next(char **text, size_t *size, struct proc_mapping *mapping);

struct proc_status {
	const char *name; /* comm, in the text that was parsed; not terminated */
	size_t name_length;
	char state; /* 'R', 'S', 'Z' a zombie, ... */
	uint32_t parent_pid;
	uint32_t flags; /* PF_* of the Linux kernel's include/linux/sched.h */
	uint32_t threads;
};

#define PROC_STATUS_EXITING 0x00000004u       /* PF_EXITING */
#define PROC_STATUS_KERNEL_THREAD 0x00200000u /* PF_KTHREAD */

/* Parses /proc/PID/stat. Returns 0 or -EINVAL. */
int proc_status_parse(const char *text, size_t size, struct proc_status *status);

/*
 * Parses a list of CPUs as in /sys/devices/system/cpu/online, "0-3,8": calls use for each. Returns 0, -EBADMSG for
 * another text, or what use returned when that was not 0.
 */
int proc_cpu_list(const char *text, size_t size, int (*use)(void *context, uint32_t cpu), void *context);

#endif
