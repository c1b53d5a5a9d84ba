/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event bus: a bounded queue of record blocks between the sources (any threads) and the collector (one thread). A
 * batch is validated and copied once, into a block; blocks are then passed on by reference. When the queue is full, a
 * batch is rejected and its records are counted as lost, so that a slow collector never stalls a source; a lossless
 * source waits instead. Each source has a share of the queue that others cannot fill. Definitions are never rejected:
 * their number is bounded by the number of distinct strings and stacks.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/error.h"
#include "bus/record_gate.h"

/* A contiguous array of records. Immutable once taken from the bus; freed with its last reference. */
struct block {
	atomic_uint references;
	uint32_t count;     /* records */
	size_t size;        /* bytes used */
	size_t capacity;    /* bytes */
	struct block *next; /* for the owner of the block */
	_Alignas(16) char records[];
};

struct block *block_new(size_t capacity);
struct block *block_reference(struct block *block);
void block_release(struct block *block);
/* Returns a reference to the block, or to a trimmed copy if most of its capacity is unused. */
struct block *block_compact(struct block *block);
static inline struct iaprof_batch block_batch(const struct block *block)
{
	return (struct iaprof_batch){ .records = block->records, .size = block->size, .count = block->count };
}

struct bus;

/* Capacity of the queue in bytes, beyond which batches are rejected. */
#define BUS_CAPACITY_DEFAULT ((size_t)16 << 20)
/* Capacity in a replay, which waits for room: the effect of queued records is not known before they are processed. */
#define BUS_CAPACITY_REPLAY ((size_t)2 << 20)

struct bus *bus_new(size_t capacity);
void bus_free(struct bus *bus);
/* Must be called before the first record. */
void bus_set_capacity(struct bus *bus, size_t capacity);

enum bus_flag {
	BUS_WAIT = 1u << 0,        /* wait for room instead of rejecting the batch */
	BUS_ALWAYS = 1u << 1,      /* accept even when full: definitions, loss, process events */
	BUS_KEEP_SOURCE = 1u << 2, /* keep header.source; allow the core's own record types */
	BUS_RESERVE = 1u << 3,     /* for records that others depend on: doubles the capacity */
};

/*
 * Puts a batch on the bus with header.source set to source. Returns 0; -EINVAL with error set for a malformed record
 * (the whole batch is rejected); -ENOSPC when full; -ENOMEM. Any thread.
 */
int bus_emit(struct bus *bus, uint16_t source, const struct iaprof_batch *batch, unsigned flags, struct error *error);
/* The same without the records that the gate of the source refuses. */
int bus_emit_through(struct bus *bus, struct record_gate *gate, uint16_t source, const struct iaprof_batch *batch,
		     unsigned flags, struct error *error);
/* Marks the start of the source that a gate is for: see record_gate_start(). Any thread. */
void bus_start_gate(struct bus *bus, struct record_gate *gate);
/* Returns what a gate has counted since the last call, as begin and counts. Any thread. */
struct record_gate bus_take_counts(struct bus *bus, struct record_gate *gate);

/*
 * Puts one of the core's own records on the bus, even when it is full; the caller fills in the whole header, source
 * included. Does nothing if bus is NULL. Returns the same as bus_emit(). Any thread.
 */
int bus_send(struct bus *bus, const struct iaprof_record *record);

/* Waits up to timeout_ns (UINT64_MAX: no limit) for blocks and removes all of them, as a list; NULL: none. */
struct block *bus_take(struct bus *bus, uint64_t timeout_ns);

/* Releases a reference to a block taken from the bus; memory of the last reference is kept for later batches. */
void bus_recycle(struct bus *bus, struct block *block);

/*
 * Marks the end of all sources: from here on bus_take() returns NULL when the queue is empty, and no call waits for
 * room.
 */
void bus_close(struct bus *bus);
