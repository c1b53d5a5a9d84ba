/* SPDX-License-Identifier: Apache-2.0 */
/* One CPU's perf event for side-band records, and the ring that it writes them to. */
#ifndef IAPROF_CORE_PROCESS_SIDEBAND_RING_H
#define IAPROF_CORE_PROCESS_SIDEBAND_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

#include "base/error.h"

struct sideband_ring {
	int descriptor;
	uint32_t cpu;
	struct perf_event_mmap_page *page; /* the control page, with the data behind it */
	const unsigned char *data;
	size_t size;            /* of the data, a power of two */
	uint64_t tail;          /* how far it was read */
	uint64_t last_time;     /* of the last record that was read */
	uint64_t counted_early; /* lost records counted before the record that says so */
	uint64_t lost;          /* all lost records counted so far */
	bool counts_lost;       /* the kernel can be asked how many were lost (Linux 6.0) */
};

/*
 * Opens the event, disabled. Returns 0, -ENODEV when the CPU is offline (no error set), or another negative errno with
 * error set.
 */
int sideband_ring_open(struct sideband_ring *ring, uint32_t cpu, size_t size, struct error *error);
void sideband_ring_close(struct sideband_ring *ring);

/* The first position behind what the kernel has written; everything before it can be read. */
static inline uint64_t sideband_ring_head(const struct sideband_ring *ring)
{
	/* Pairs with the release in the kernel's perf_output_put_handle(). */
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/*
 * The bytes from position on, all size of them: where they are, or copied to scratch when they go around the end of the
 * ring.
 */
const void *sideband_ring_bytes(const struct sideband_ring *ring, uint64_t position, size_t size, void *scratch);

/* Lets the kernel overwrite what is before position. */
static inline void sideband_ring_consume(struct sideband_ring *ring, uint64_t position)
{
	ring->tail = position;
	/* What was read was read before. */
	__atomic_store_n(&ring->page->data_tail, position, __ATOMIC_RELEASE);
}

/*
 * Lost records, after a ring that was full, that no record of the ring says yet: it says so only once there is room
 * and something else happens.
 */
uint64_t sideband_ring_lost_silently(struct sideband_ring *ring);
/* How many of the count that a record in the ring states were not counted yet. */
uint64_t sideband_ring_lost_stated(struct sideband_ring *ring, uint64_t count);

#endif
