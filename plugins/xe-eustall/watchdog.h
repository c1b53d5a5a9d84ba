/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices streams that are dead: up to Linux 7.0 the driver does not begin to sample again after it reset the GPU, and
 * says nothing. A GPU that was busy for some seconds, by the statistics of its clients, and gave no row, is one.
 */
#ifndef IAPROF_XE_EUSTALL_WATCHDOG_H
#define IAPROF_XE_EUSTALL_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watched {
	const char *address; /* PCI address */
	uint64_t rows;       /* of all its GTs, when it was looked last */
	bool silent;         /* no row came since */
	uint64_t used;       /* ns that processes used it until now, by their statistics */
	uint64_t looked;     /* the same when it was looked at last */
	unsigned looks;      /* that found it busy, one after the other, without a row */
	unsigned patience;   /* so many mean that it is dead; more after each restart that did not help */
};

struct watchdog {
	size_t count;
	struct watched *devices;
	uint64_t next; /* when to look again */
	uint64_t look; /* when it was looked last */
	uint64_t period;
};

/* For count devices, whose addresses the caller fills in. 0 or a negative errno. */
int watchdog_init(struct watchdog *watchdog, size_t count);
void watchdog_free(struct watchdog *watchdog);

/*
 * Once a second: rows that device number index gave so far, and how long it was used, for each device; then
 * watchdog_look(), and whether a device's streams are dead. True once: they have to be started again.
 */
void watchdog_rows(struct watchdog *watchdog, size_t index, uint64_t rows, uint64_t used);
void watchdog_look(struct watchdog *watchdog, uint64_t now);
bool watchdog_is_dead(struct watchdog *watchdog, size_t index);

#endif
