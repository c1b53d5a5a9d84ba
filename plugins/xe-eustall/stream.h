/* SPDX-License-Identifier: Apache-2.0 */
/* A GT's stream of EU stall rows: a file of the xe driver. A GT has one in the whole system. */
#ifndef IAPROF_XE_EUSTALL_STREAM_H
#define IAPROF_XE_EUSTALL_STREAM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Opens a stream on a GT of the device behind a DRM node, not enabled: a sample every so many GPU cycles; poll() tells
 * when wait_rows are there. Returns the descriptor, which does not block and is not inherited, or a negative errno:
 * -EBUSY when somebody has the GT's stream, -EACCES, -ENODEV.
 */
int stream_open(int node, uint32_t gt, uint32_t cycles, uint32_t wait_rows);

/*
 * Rows that are not read yet are lost by both. 0, or a negative errno. They do not
 * tell that the device is gone: see device_is_gone().
 */
int stream_enable(int stream);
int stream_disable(int stream);

/*
 * Who may have a stream of the device behind a DRM node, "process 123 (intel_monitor)" or "one of process 123 (a),
 * process 456 (b)": a stream does not tell whose device it is of, but who has one mostly has the node open, too. With
 * node -1: all who have streams, with commas. Says so when nobody can be found. Looks through /proc.
 */
void stream_owner_describe(int node, char *text, size_t size);

/*
 * How old the driver's write pointers may be when they are read: it takes them over every 5 ms (POLL_PERIOD_MS in
 * xe_eu_stall.c, Linux 7.0), rounded up to its clock's ticks, and its timer may be late by one. Nanoseconds.
 */
uint64_t stream_latch_age(void);

#endif
