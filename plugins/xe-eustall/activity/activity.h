/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits DEVICE_ACTIVITY records: which processes used the sampled devices, from the DRM scheduler's tracepoints or,
 * where they are not available, from the usage statistics of DRM clients; and JOB records, from the tracepoints. Calls
 * are made on one thread at a time, and none blocks on another process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>

struct activity;

/*
 * Called in prepare(). Loads a BPF program if possible. Missing tracepoints or privileges are not an error: usage
 * statistics are used instead, or nothing, with one warning. record_jobs: also emit JOB records, for the first GT of
 * a PCI device. Returns NULL when out of memory. Freed with activity_free(). host is borrowed.
 */
struct activity *activity_new(const struct iaprof_host *host, bool record_jobs);

/*
 * Adds a GT that is sampled; called before activity_start(). pci_address: "0000:03:00.0"; neither scheduler nor
 * statistics distinguish the GTs of a PCI device. device: id of its DEVICE record. Returns 0, -EINVAL for an invalid
 * address, -E2BIG above 64 GTs.
 */
int activity_add_device(struct activity *activity, const char *pci_address, uint32_t device);

/* Starts tracking. Returns 0, or a negative errno after host->fail(). */
int activity_start(struct activity *activity);

/*
 * Emits a DEVICE_ACTIVITY record for each GT and process that was busy between begin and end (CLOCK_MONOTONIC ns; end
 * must not be in the future). To be called before the STALL_SAMPLE records of the interval are emitted: activity more
 * than two seconds before the newest call is forgotten. Returns the number of busy processes, or a negative errno after
 * host->fail(). With two or more processes, shorter intervals improve the attribution.
 */
int activity_emit(struct activity *activity, uint64_t begin, uint64_t end);

/*
 * Records the activity up to now for an interval without samples, so that it does not count for a later interval.
 * Returns 0, or a negative errno after host->fail().
 */
int activity_record_idle(struct activity *activity);

/* See scheduler_polled(); 0 also without the scheduler's tracepoints. */
uint64_t activity_polled(const struct activity *activity, uint32_t streams);
void activity_forget_polls(struct activity *activity);

/* Emits the last jobs, and those that are running. Returns 0, or a negative errno after host->fail(). */
int activity_stop(struct activity *activity);

/*
 * Returns the busy time of a PCI device since the start, in ns, according to the usage statistics read by the last call
 * of the two functions above. 0 for a device that was not added.
 */
uint64_t activity_used(const struct activity *activity, const char *pci_address);

/* Detaches the programs and stops the statistics thread, waiting at most two seconds. NULL is allowed. */
void activity_free(struct activity *activity);
