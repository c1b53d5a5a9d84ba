/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event bus: a bounded queue of record blocks between the sources (any threads) and the collector (one thread).
 * A batch is checked and copied once, into a block; from there on blocks are passed along by reference.
 *
 * When the queue is full, a batch is refused and its records are counted for the loss report, so that a slow collector
 * never stalls a source; a lossless source waits instead. Definitions are never refused: they are bounded by what is
 * distinct.
 */
#ifndef IAPROF_CORE_BUS_BUS_H
#define IAPROF_CORE_BUS_BUS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/error.h"

/* Records laid end to end. Immutable once taken from the bus; freed with its last reference. */
struct block {
	atomic_uint references;
	uint32_t count;     /* records */
	size_t size;        /* bytes used */
	size_t capacity;    /* bytes */
	struct block *next; /* the owner's */
	_Alignas(16) char records[];
};

struct block *block_new(size_t capacity);
struct block *block_reference(struct block *block);
void block_release(struct block *block);
/* A reference to the block, or to a copy without the room that it does not use, when that is most of it. */
struct block *block_compact(struct block *block);
static inline struct iaprof_batch block_batch(const struct block *block)
{
	return (struct iaprof_batch){ .records = block->records, .size = block->size, .count = block->count };
}

struct bus;

/* The most bytes that wait, beyond which batches are refused. */
#define BUS_CAPACITY_DEFAULT ((size_t)16 << 20)
/* Of a replay, which waits for room: what a capture makes of waiting records is not known before they are taken. */
#define BUS_CAPACITY_REPLAY ((size_t)2 << 20)

struct bus *bus_new(size_t capacity);
void bus_free(struct bus *bus);
/* Before the first record. */
void bus_set_capacity(struct bus *bus, size_t capacity);

enum bus_flag {
	BUS_WAIT = 1u << 0,        /* wait for room instead of refusing */
	BUS_ALWAYS = 1u << 1,      /* take it whether there is room or not: definitions, loss, process events */
	BUS_KEEP_SOURCE = 1u << 2, /* leave header.source as it is; allow the core's own record types */
	BUS_RESERVE = 1u << 3,     /* for what others mean nothing without: there is as much room again */
};

/*
 * Puts a batch on the bus with header.source set to source. Returns 0; -EINVAL with error set for a malformed record
 * (nothing is taken); -ENOSPC when full; -ENOMEM. Any thread.
 */
int bus_emit(struct bus *bus, uint16_t source, const struct iaprof_batch *batch, unsigned flags, struct error *error);

/*
 * Puts one of the core's own records on the bus, whether there is room or not; its header is as it shall be, source
 * included. A NULL bus takes nothing. Returns as bus_emit(). Any thread.
 */
int bus_send(struct bus *bus, const struct iaprof_record *record);

/* Waits up to timeout_ns (UINT64_MAX: no limit) for blocks and takes all of them, as a list; NULL: none. */
struct block *bus_take(struct bus *bus, uint64_t timeout_ns);

/* Gives up a reference to a block that was taken, keeping its memory for later batches when it was the last one. */
void bus_recycle(struct bus *bus, struct block *block);

/* No source sends any more: from here on bus_take() returns NULL when the queue is empty, and nobody waits for room. */
void bus_close(struct bus *bus);

#endif
