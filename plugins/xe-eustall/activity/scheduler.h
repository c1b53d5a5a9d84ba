/* SPDX-License-Identifier: Apache-2.0 */
/* Busy times of processes on devices, from the tracepoints of the Linux kernel's DRM scheduler, through BPF. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>

struct scheduler;

/*
 * Loads the programs. record_jobs: scheduler_read_jobs() will be called. Returns NULL with the reason as text in
 * *reason, valid until the next call on this thread.
 */
struct scheduler *scheduler_new(const struct iaprof_host *host, bool record_jobs, const char **reason);

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

struct scheduler_job;
/* Reports a job that has ended, or with ended 0, one whose end is not reported. Returns 0 or a negative errno. */
typedef int scheduler_job_callback(void *context, const struct scheduler_job *job);

/* Calls back for each job that ended since the last call. Returns 0, or the callback's result. */
int scheduler_read_jobs(struct scheduler *scheduler, scheduler_job_callback *callback, void *context);
/* Stops recording jobs, and calls back for those that are running, with ended 0. Returns as scheduler_read_jobs(). */
int scheduler_read_running_jobs(struct scheduler *scheduler, scheduler_job_callback *callback, void *context);
/* Stops recording the jobs of a device, because not all of them are known. */
void scheduler_ignore_jobs(struct scheduler *scheduler, uint32_t device);

/*
 * Returns a time before which the driver has made all rows of all streams readable: its last poll of each that has
 * ended began then or later. 0 if that is not known: polls cannot be traced, or some stream was not polled twice.
 */
uint64_t scheduler_polled(const struct scheduler *scheduler, uint32_t streams);
/* Forgets the polls of all streams, because one was enabled or replaced. */
void scheduler_forget_polls(struct scheduler *scheduler);

struct scheduler_totals;
/* Returns the totals since the start. */
void scheduler_totals_read(const struct scheduler *scheduler, struct scheduler_totals *totals);

/* NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);
