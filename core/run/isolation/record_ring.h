/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of records in memory that iaprof shares with the process of an isolated source (shared_memory.h). The reader
 * trusts nothing in it: it keeps its own position, and copies records before it checks them.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of records; a power of two. What does not fit waits in the queue of the plugin's process (bus.h). */
#define RECORD_RING_SIZE ((size_t)4 << 20)
/* Largest number of bytes that are published at once; the largest record fits. */
#define RECORD_RING_CHUNK_MAX ((size_t)128 << 10)

struct record_ring {
	_Alignas(64) atomic_uint_least64_t written; /* bytes since the beginning; of the writer */
	_Alignas(64) atomic_uint_least64_t read;    /* the same, of the reader */
	atomic_uint reader_sleeps;                  /* 1: the writer must wake the reader */
	_Alignas(64) char bytes[RECORD_RING_SIZE];
};

/*
 * Writer: copies size bytes of whole records, at most RECORD_RING_CHUNK_MAX. Returns false if there is no room. *wake:
 * the reader must be woken.
 */
bool record_ring_write(struct record_ring *ring, const void *records, size_t size, bool *wake);

/*
 * Reader: copies up to capacity bytes that follow position to bytes, and sets *available to the number of bytes that
 * the writer has published. Returns the number of bytes copied; -EBADMSG if the writer's position is impossible.
 */
ptrdiff_t record_ring_peek(struct record_ring *ring, uint64_t position, void *bytes, size_t capacity,
			   uint64_t *available);
/* Reader: makes the room before position available. */
void record_ring_consume(struct record_ring *ring, uint64_t position);
/* Reader: asks to be woken. Returns false if there are records already. */
bool record_ring_sleep(struct record_ring *ring, uint64_t position);
