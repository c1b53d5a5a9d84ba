/* SPDX-License-Identifier: Apache-2.0 */
/* A GT's stream of EU stall rows, a file of the xe driver. There is one per GT in the whole system. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Opens a disabled stream on a GT of a DRM node's device, with a sampling period in GPU cycles; poll() reports
 * wait_rows. Returns a non-blocking descriptor with close-on-exec, or a negative errno: -EBUSY if the GT's stream is in
 * use, -EACCES, -ENODEV.
 */
int stream_open(int node, uint32_t gt, uint32_t cycles, uint32_t wait_rows);

/*
 * Both functions lose unread rows. They return 0 or a negative errno, and do not detect a removed device: see
 * device_is_gone().
 */
int stream_enable(int stream);
int stream_disable(int stream);

/*
 * Writes which processes may use a stream of a DRM node's device: "process 123 (intel_monitor)", or "one of process 123
 * (a), process 456 (b)". A stream does not reveal its device, but its owner usually has the node open, too. With node
 * -1: all processes with streams, separated by commas. Searches /proc.
 */
void stream_owner_describe(int node, char *text, size_t size);

/*
 * Returns the maximum age of the driver's write pointers in ns: it latches them every 5 ms (POLL_PERIOD_MS in
 * xe_eu_stall.c, Linux 7.0), rounded up to its clock's ticks, and its timer may be late by one tick.
 */
uint64_t stream_latch_age(void);
