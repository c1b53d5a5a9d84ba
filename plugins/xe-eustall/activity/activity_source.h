/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses between the scheduler's events and usage statistics as the source of GPU activity. Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "busy_history.h"

/* The two sources are compared over this window. */
#define ACTIVITY_SOURCE_WINDOW UINT64_C(1000000000) /* ns */

/*
 * Returns whether the scheduler of a Linux kernel release ("6.18.2-amd64") reports the end of all jobs. Before, jobs of
 * a long-running VM, as compute runtimes use, are reported as ended when they start (run_job() of xe_guc_submit.c).
 */
bool activity_source_reports_job_ends(const char *release);

/*
 * Returns the kind of a device's records, enum iaprof_activity_kind: only IAPROF_ACTIVITY_SCHEDULER implies that no
 * other process was busy. doubts: live clients of the device whose statistics contradicted the scheduler; unread:
 * clients whose statistics were not read a second time, and which may have jobs from before the run that never end
 * (direct submission).
 */
uint32_t activity_source_kind(bool reports_job_ends, size_t doubts, size_t unread);

/*
 * Returns whether a process's statistics, one of the sums of a window, show much activity that the scheduler did not
 * report.
 */
bool activity_source_contradicts(const struct busy_piece *window, size_t count, const struct busy_piece *statistics);

/*
 * Keeps one sum per device and process of an interval, and sets its kind. kinds: of the devices, from
 * activity_source_kind(). window: the sums of the last ACTIVITY_SOURCE_WINDOW. Returns the number of sums kept.
 */
size_t activity_source_choose(struct busy_piece *sums, size_t count, const uint32_t *kinds,
			      const struct busy_piece *window, size_t window_count);
