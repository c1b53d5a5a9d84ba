/* SPDX-License-Identifier: Apache-2.0 */
/* The side-band rings of all CPUs that are online, and of those that come online later. */
#ifndef IAPROF_CORE_PROCESS_SIDEBAND_RINGS_H
#define IAPROF_CORE_PROCESS_SIDEBAND_RINGS_H

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
	struct sideband_cpus online; /* at the last look */
	char online_text[4096];      /* what the kernel said then: "0-3,6" */
	size_t online_size;
	size_t ring_size;
	uint64_t started; /* when events began to flow, 0 before */
	int epoll;        /* readable when a ring is half full */
};

/* Opens a ring for each CPU that is online. Returns 0, or a negative errno; either way it is to be closed. */
int sideband_rings_open(struct sideband_rings *rings, size_t ring_size, struct error *error);
/* NULL-safe for a struct of zeros. */
void sideband_rings_close(struct sideband_rings *rings);
int sideband_rings_start(struct sideband_rings *rings, uint64_t now, struct error *error);
/*
 * Opens and starts a ring for each CPU that came online since the last look; *came is their number. A CPU that was away
 * and is back between two looks is not noticed. What an old ring of such a CPU still held is dropped: drain before.
 */
int sideband_rings_follow(struct sideband_rings *rings, uint64_t now, size_t *came, struct error *error);
/* A CPU that goes offline takes its event away, which would then be readable for ever. */
void sideband_rings_remove_hangups(struct sideband_rings *rings);

#endif
