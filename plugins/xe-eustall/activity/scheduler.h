/* SPDX-License-Identifier: Apache-2.0 */
/* For how long processes had jobs on devices, from the tracepoints of the Linux kernel's DRM scheduler, through BPF. */
#ifndef IAPROF_XE_EUSTALL_SCHEDULER_H
#define IAPROF_XE_EUSTALL_SCHEDULER_H

#include <stdint.h>
#include <iaprof/host.h>

struct scheduler;

/*
 * Loads the programs. *reason: why there is none, for a line of text; valid until the next call on this thread. NULL
 * also when out of memory.
 */
struct scheduler *scheduler_new(const struct iaprof_host *host, const char **reason);

/* A device to look at, by its PCI address: index is what the callback calls it. Returns 0 or a negative errno. */
int scheduler_add_device(struct scheduler *scheduler, const char *address, uint32_t index);

/* Attaches. Returns 0 or a negative errno. */
int scheduler_start(struct scheduler *scheduler);

/* A process had jobs on a device for busy ns of the time since begin. Returns 0 or a negative errno. */
typedef int scheduler_busy_callback(void *context, uint32_t device, uint32_t pid, uint64_t begin, uint64_t now,
				    uint64_t busy);

/* Calls back for each that was busy since the last call. Returns 0, what the callback returned, or a negative errno. */
int scheduler_read(struct scheduler *scheduler, scheduler_busy_callback *callback, void *context);

struct scheduler_totals;
/* The sums since the start. */
void scheduler_totals_read(const struct scheduler *scheduler, struct scheduler_totals *totals);

/* NULL is nothing to free. */
void scheduler_free(struct scheduler *scheduler);

#endif
