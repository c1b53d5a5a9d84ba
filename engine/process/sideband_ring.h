/* SPDX-License-Identifier: Apache-2.0 */
/* The perf event of one CPU for side-band records, and its ring buffer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

#include "base/error.h"

struct sideband_ring {
	int descriptor;
	uint32_t cpu;
	struct perf_event_mmap_page *page; /* control page, followed by the data */
	const unsigned char *data;
	size_t size;            /* size of the data, a power of two */
	uint64_t tail;          /* position up to which it was read */
	uint64_t last_time;     /* time of the last record that was read */
	uint64_t counted_early; /* lost records that were counted before their LOST record was read */
	uint64_t lost;          /* all lost records counted so far */
	bool counts_lost;       /* read() returns the number of lost records (since Linux 6.0) */
};

/*
 * Opens the event, disabled. Returns 0, -ENODEV if the CPU is offline (no error set), or another negative errno with
 * error set.
 */
int sideband_ring_open(struct sideband_ring *ring, uint32_t cpu, size_t size, struct error *error);
void sideband_ring_close(struct sideband_ring *ring);

/* Returns the position after the last record; everything before it can be read. */
static inline uint64_t sideband_ring_head(const struct sideband_ring *ring)
{
	/* Pairs with the release in Linux's perf_output_put_handle(). */
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* Returns size bytes at position: in place, or copied to scratch if they wrap around. */
const void *sideband_ring_bytes(const struct sideband_ring *ring, uint64_t position, size_t size, void *scratch);

/* Lets Linux overwrite everything before position. */
static inline void sideband_ring_consume(struct sideband_ring *ring, uint64_t position)
{
	ring->tail = position;
	/* Release: all reads happen before. */
	__atomic_store_n(&ring->page->data_tail, position, __ATOMIC_RELEASE);
}

/*
 * After the ring buffer was full, returns the number of lost records without a LOST record so far: Linux writes it only
 * once there is room and another event occurs.
 */
uint64_t sideband_ring_lost_silently(struct sideband_ring *ring);
/* Returns how many of the records that a LOST record counts were not counted yet. */
uint64_t sideband_ring_lost_stated(struct sideband_ring *ring, uint64_t count);
