/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of bytes in shared memory: see record_ring.h. */
#include "run/isolation/record_ring.h"

#include <errno.h>
#include <string.h>

bool record_ring_write(struct record_ring *ring, const void *records, size_t size, bool *wake)
{
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_acquire);
	if (written - read + size > RECORD_RING_SIZE)
		return false;
	size_t position = written % RECORD_RING_SIZE, end = RECORD_RING_SIZE - position;
	size_t first = size < end ? size : end;
	memcpy(ring->bytes + position, records, first);
	memcpy(ring->bytes, (const char *)records + first, size - first);
	/* Sequentially consistent with record_ring_sleep(): one of both sees what the other has stored. */
	atomic_store(&ring->written, written + size);
	*wake = atomic_load(&ring->reader_sleeps) && atomic_exchange(&ring->reader_sleeps, 0);
	return true;
}

ptrdiff_t record_ring_peek(struct record_ring *ring, uint64_t position, void *bytes, size_t capacity,
			   uint64_t *available)
{
	*available = atomic_load_explicit(&ring->written, memory_order_acquire) - position;
	if (*available > RECORD_RING_SIZE)
		return -EBADMSG;
	size_t size = *available < capacity ? (size_t)*available : capacity;
	size_t begin = position % RECORD_RING_SIZE, end = RECORD_RING_SIZE - begin;
	size_t first = size < end ? size : end;
	memcpy(bytes, ring->bytes + begin, first);
	memcpy((char *)bytes + first, ring->bytes, size - first);
	return (ptrdiff_t)size;
}

void record_ring_consume(struct record_ring *ring, uint64_t position)
{
	atomic_store_explicit(&ring->read, position, memory_order_release);
}

bool record_ring_sleep(struct record_ring *ring, uint64_t position)
{
	atomic_store(&ring->reader_sleeps, 1);
	return atomic_load(&ring->written) == position;
}
