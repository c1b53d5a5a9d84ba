/* SPDX-License-Identifier: Apache-2.0 */
/* Busy times of processes on devices, from the tracepoints of the Linux kernel's DRM scheduler, through BPF. */
#ifndef IAPROF_XE_EUSTALL_SCHEDULER_H
#define IAPROF_XE_EUSTALL_SCHEDULER_H

#include <stdint.h>
#include <iaprof/host.h>

struct scheduler;

/* Loads the programs. Returns NULL with the reason as text in *reason, valid until the next call on this thread. */
struct scheduler *scheduler_new(const struct iaprof_host *host, const char **reason);

/* Adds a device by its PCI address; the callback refers to it by index. Returns 0 or a negative errno. */
int scheduler_add_device(struct scheduler *scheduler, const char *address, uint32_t index);

/* Attaches. Returns 0 or a negative errno. */
int scheduler_start(struct scheduler *scheduler);

/* Reports that a process was busy on a device for busy ns since begin. Returns 0 or a negative errno. */
typedef int scheduler_busy_callback(void *context, uint32_t device, uint32_t pid, uint64_t begin, uint64_t now,
				    uint64_t busy);

/*
 * Calls back for each process that was busy since the last call. Returns 0, the callback's result, or a negative errno.
 */
int scheduler_read(struct scheduler *scheduler, scheduler_busy_callback *callback, void *context);

struct scheduler_totals;
/* Returns the totals since the start. */
void scheduler_totals_read(const struct scheduler *scheduler, struct scheduler_totals *totals);

/* NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);

#endif
