/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects dead streams: up to Linux 7.0 the driver does not resume sampling after a GPU reset, without an error. A
 * stream is dead if the GPU was busy for some seconds, according to its clients' statistics, and delivered no row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watched {
	const char *address;    /* PCI address */
	uint64_t rows;          /* rows of all its GTs, at the last check */
	bool silent;            /* no rows since the last check */
	uint64_t used;          /* ns of GPU use by processes, according to statistics */
	uint64_t used_before;   /* the same, at the last check */
	unsigned silent_checks; /* consecutive checks that found it busy without rows */
	unsigned patience;      /* checks until it is considered dead; increases with each restart that did not help */
};

struct device_watchdog {
	size_t count;
	struct watched *devices;
	uint64_t next;    /* time of the next check */
	uint64_t checked; /* time of the last check */
	uint64_t period;
};

/* For count devices, whose addresses the caller sets. Returns 0 or a negative errno. */
int device_watchdog_init(struct device_watchdog *watchdog, size_t count);
void device_watchdog_free(struct device_watchdog *watchdog);

/*
 * Called once per second: first the rows and the busy time of each device so far are set, then device_watchdog_check()
 * is called, then this for each device. Returns true once if the device's streams are dead and must be restarted.
 */
void device_watchdog_rows(struct device_watchdog *watchdog, size_t index, uint64_t rows, uint64_t used);
void device_watchdog_check(struct device_watchdog *watchdog, uint64_t now);
bool device_watchdog_is_dead(struct device_watchdog *watchdog, size_t index);

/*
 * Detects a GT that delivers no rows while another GT of its device does. Up to Linux 7.0 this happens when a GT is
 * reset alone, but also to a GT without work: restarting its stream does not help, so the intervals increase.
 */
struct gt_watchdog {
	uint64_t rows;          /* the GT's rows at the last check */
	unsigned silent_checks; /* checks without a row while another GT had some */
	unsigned patience;      /* checks until it is considered dead; 0 before the first check */
};

/* Initial and maximum patience. A GT may just have no work for a moment. */
#define GT_WATCHDOG_PATIENCE 10u
#define GT_WATCHDOG_PATIENCE_MAX 3600u

/*
 * Called once per second. rows: of the GT so far; others: whether another GT had rows since the last check. Returns
 * true once if the GT's stream must be restarted.
 */
bool gt_watchdog_check(struct gt_watchdog *watchdog, uint64_t rows, bool others);
