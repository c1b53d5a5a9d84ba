/* SPDX-License-Identifier: Apache-2.0 */
/* The side-band ring buffers of all online CPUs, including CPUs that come online later. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "base/error.h"
#include "process/sideband_ring.h"

struct sideband_cpus {
	ARRAY(uint32_t) numbers;
};

struct sideband_rings {
	ARRAY(struct sideband_ring) rings;
	struct sideband_cpus online; /* at the last check */
	char online_text[4096];      /* contents of /sys/devices/system/cpu/online: "0-3,6" */
	size_t online_size;
	size_t ring_size;
	uint64_t started; /* time of the start, 0 before */
	int epoll;        /* readable when a ring buffer has new events */
};

/* Opens a ring buffer for each online CPU. Returns 0 or a negative errno; must be closed in either case. */
int sideband_rings_open(struct sideband_rings *rings, size_t ring_size, struct error *error);
/* Accepts a zeroed struct. */
void sideband_rings_close(struct sideband_rings *rings);
/* Stops recording on all CPUs, also on those that come online, until the next start. */
void sideband_rings_stop(struct sideband_rings *rings);
int sideband_rings_start(struct sideband_rings *rings, uint64_t now, struct error *error);
/*
 * Opens and starts a ring buffer for each CPU that has come online since the last check, and stores their number in
 * *came. A CPU that went offline and online between two checks is not noticed. Unread contents of its previous ring
 * buffer are dropped: drain first.
 */
int sideband_rings_follow(struct sideband_rings *rings, uint64_t now, size_t *came, struct error *error);
/* Removes events of offline CPUs, whose descriptors would stay readable. */
void sideband_rings_remove_hangups(struct sideband_rings *rings);
