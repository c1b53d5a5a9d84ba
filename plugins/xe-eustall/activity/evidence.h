/* SPDX-License-Identifier: Apache-2.0 */
/* Which evidence of who was busy is believed, the scheduler's or that of usage statistics: pure functions. */
#ifndef IAPROF_XE_EUSTALL_EVIDENCE_H
#define IAPROF_XE_EUSTALL_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "busy_history.h"

/* The two are held against each other over so long. */
#define EVIDENCE_WINDOW UINT64_C(1000000000) /* ns */

/*
 * Whether the scheduler of a Linux kernel of this release ("6.18.2-amd64") tells when all jobs end. To older ones those
 * of a long-running VM, as compute runtimes make, are over when they begin (run_job() of xe_guc_submit.c).
 */
bool evidence_kernel_tells(const char *release);

/*
 * What the records of a device are, enum iaprof_activity_kind: only IAPROF_ACTIVITY_SCHEDULER says that nobody else was
 * busy. doubts: clients of the device that live and whose statistics contradicted the scheduler; unread: those that
 * were found, and not read a second time yet: they may have jobs from before the run, which do not end (direct
 * submission).
 */
uint32_t evidence_kind(bool kernel_tells, size_t doubts, size_t unread);

/* Whether the statistics of a process, one of the sums of a window, tell of much that the scheduler does not know. */
bool evidence_contradicts(const struct busy_piece *window, size_t count, const struct busy_piece *statistics);

/*
 * Leaves of the sums of an interval one for each device and process, with the kind that it counts as. kinds: those of
 * the devices, from evidence_kind(). window: the sums of the last EVIDENCE_WINDOW. Returns how many are left.
 */
size_t evidence_choose(struct busy_piece *sums, size_t count, const uint32_t *kinds, const struct busy_piece *window,
		       size_t window_count);

#endif
