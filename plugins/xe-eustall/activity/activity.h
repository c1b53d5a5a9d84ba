/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who was busy on a device: DEVICE_ACTIVITY records for the processes of the devices that are sampled, from the DRM
 * scheduler's tracepoints, or from the usage statistics of DRM clients where there are none. All calls are made on one
 * thread at a time; none waits for another process.
 */
#ifndef IAPROF_XE_EUSTALL_ACTIVITY_H
#define IAPROF_XE_EUSTALL_ACTIVITY_H

#include <stdint.h>
#include <iaprof/host.h>

struct activity;

/*
 * In prepare(). Loads a BPF program if that is possible here. Never fails for want of tracepoints or rights: then there
 * are usage statistics, or nothing, and one line says so. NULL when out of memory. Freed with activity_free(). host has
 * to live as long.
 */
struct activity *activity_new(const struct iaprof_host *host);

/*
 * A GT whose samples are wanted; before activity_start(). pci_address: "0000:03:00.0": neither scheduler nor statistics
 * tell one GT of a PCI device from another. device: id of its DEVICE record. Returns 0, -EINVAL for an address that is
 * none, -E2BIG above 64 GTs.
 */
int activity_add_device(struct activity *activity, const char *pci_address, uint32_t device);

/* From here on activity is noted. Returns 0, or a negative errno after host->fail(). */
int activity_start(struct activity *activity);

/*
 * Emits a DEVICE_ACTIVITY record for each GT and process that was busy between begin and end (CLOCK_MONOTONIC ns; end
 * is not later than now). Call it before the STALL_SAMPLE records of that interval are emitted: what happened longer
 * than two seconds before the newest call is forgotten. Returns how many different processes were busy: with two or
 * more, shorter intervals tell better who was; or a negative errno after host->fail().
 */
int activity_emit(struct activity *activity, uint64_t begin, uint64_t end);

/*
 * Notes what happened until now, for an interval without samples: so a later one does not get its share of it. Returns
 * 0, or a negative errno after host->fail().
 */
int activity_look(struct activity *activity);

/*
 * For how long processes used a PCI device since the start, in ns, as far as the last call of the two above knew by
 * usage statistics. 0 for a device that was not added.
 */
uint64_t activity_used(const struct activity *activity, const char *pci_address);

/* Takes the probes away, and ends the thread that reads statistics, for which it waits two seconds at most. NULL is
 * nothing to free. */
void activity_free(struct activity *activity);

#endif
