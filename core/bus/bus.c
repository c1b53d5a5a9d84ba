/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded queue of record blocks: see bus.h. */
#include "bus/bus.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bus/record_check.h"

/*
 * Small enough for a block to stay in the second-level cache between producer and consumer, and large enough that
 * blocks are rarely allocated.
 */
#define BLOCK_CAPACITY ((size_t)128 << 10)
#define SPARE_BLOCKS_MAX 8
/* Sources whose queued bytes are counted: as many as a run can have, and the core. Further ones share counts. */
#define COUNTED_SOURCES 1024

struct bus {
	pthread_mutex_t lock;
	pthread_cond_t not_empty, not_full;
	struct block *first, *last; /* the last one is still being filled */
	struct block *spare;        /* empty blocks, so that a steady run allocates nothing */
	unsigned spare_count;
	size_t size, capacity;
	size_t queued[COUNTED_SOURCES]; /* bytes, by source number */
	bool has_sent[COUNTED_SOURCES]; /* since the bus was made */
	size_t source_count;            /* that have sent records, without the core */
	bool closed;
};

struct block *block_new(size_t capacity)
{
	struct block *block = malloc(sizeof *block + capacity);
	if (!block)
		return NULL;
	atomic_init(&block->references, 1);
	block->count = 0;
	block->size = 0;
	block->capacity = capacity;
	block->next = NULL;
	return block;
}

struct block *block_reference(struct block *block)
{
	atomic_fetch_add_explicit(&block->references, 1, memory_order_relaxed);
	return block;
}

void block_release(struct block *block)
{
	if (block && atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) == 1)
		free(block);
}

struct block *block_compact(struct block *block)
{
	struct block *copy = block->size < block->capacity / 2 ? block_new(block->size) : NULL;
	if (!copy)
		return block_reference(block);
	memcpy(copy->records, block->records, block->size);
	copy->size = block->size;
	copy->count = block->count;
	return copy;
}

struct bus *bus_new(size_t capacity)
{
	struct bus *bus = calloc(1, sizeof *bus);
	if (!bus)
		return NULL;
	bus->capacity = capacity;
	pthread_mutex_init(&bus->lock, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&bus->not_empty, &attributes);
	pthread_cond_init(&bus->not_full, &attributes);
	pthread_condattr_destroy(&attributes);
	return bus;
}

void bus_set_capacity(struct bus *bus, size_t capacity)
{
	pthread_mutex_lock(&bus->lock);
	bus->capacity = capacity;
	pthread_mutex_unlock(&bus->lock);
}

void bus_free(struct bus *bus)
{
	if (!bus)
		return;
	for (struct block *block = bus->first, *next; block; block = next) {
		next = block->next;
		block_release(block);
	}
	for (struct block *block = bus->spare, *next; block; block = next) {
		next = block->next;
		block_release(block);
	}
	pthread_cond_destroy(&bus->not_empty);
	pthread_cond_destroy(&bus->not_full);
	pthread_mutex_destroy(&bus->lock);
	free(bus);
}

/* Returns the block to append size bytes to. Called with the lock held. */
static struct block *block_for(struct bus *bus, size_t size)
{
	if (bus->last && bus->last->capacity - bus->last->size >= size)
		return bus->last;
	struct block *block;
	if (bus->spare && size <= BLOCK_CAPACITY) {
		block = bus->spare;
		bus->spare = block->next;
		bus->spare_count--;
		block->next = NULL;
	} else {
		block = block_new(size > BLOCK_CAPACITY ? size : BLOCK_CAPACITY);
		if (!block)
			return NULL;
	}
	if (bus->last)
		bus->last->next = block;
	else
		bus->first = block;
	bus->last = block;
	return block;
}

/* Bytes that are copied at a time, so that they are still in the first-level cache when their source is set. */
#define COPY_SIZE 1024u

/*
 * Sets the source of records, from the one at offset on, as far as their headers are complete before end. Returns the
 * offset of the next one.
 */
static size_t set_source(char *records, size_t offset, size_t end, uint16_t source)
{
	while (offset + sizeof(struct iaprof_record) <= end) {
		struct iaprof_record *record = (struct iaprof_record *)(records + offset);
		record->source = source;
		offset += record->size;
	}
	return offset;
}

/*
 * Appends the records that the gate accepts to a block. Returns their number of bytes. source NULL: the records' own.
 */
static size_t append_taken(struct block *block, struct record_gate *gate, const struct iaprof_batch *batch,
			   const uint16_t *source, uint64_t now)
{
	size_t before = block->size;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		if (!record_gate_takes(gate, record, now))
			continue;
		memcpy(block->records + block->size, record, record->size);
		block->size += record->size;
		block->count++;
	}
	if (source)
		set_source(block->records, before, block->size, *source);
	return block->size - before;
}

static size_t append(struct block *block, const struct iaprof_batch *batch, const uint16_t *source)
{
	const char *from = batch->records;
	char *to = block->records + block->size;
	size_t next = 0, step = source ? COPY_SIZE : batch->size;
	for (size_t copied = 0, size; copied < batch->size; copied += size) {
		size = batch->size - copied < step ? batch->size - copied : step;
		memcpy(to + copied, from + copied, size);
		if (source)
			next = set_source(to, next, copied + size, *source);
	}
	block->size += batch->size;
	block->count += batch->count;
	return batch->size;
}

/*
 * Returns whether the queue has room for a batch. A source that has queued no more than its share of the capacity
 * always has: a source that floods the queue costs others nothing. The shares of all sources together are the capacity,
 * so the queue has at most twice its capacity. Called with the lock held.
 */
static bool has_room(const struct bus *bus, uint16_t source, size_t size, unsigned flags)
{
	size_t capacity = flags & BUS_RESERVE ? bus->capacity * 2 : bus->capacity;
	size_t share = capacity / (bus->source_count ? bus->source_count : 1);
	return bus->size + size <= capacity || bus->queued[source % COUNTED_SOURCES] + size <= share;
}

static void count_queued(struct bus *bus, uint16_t source, size_t size)
{
	size_t position = source % COUNTED_SOURCES;
	bus->size += size;
	bus->queued[position] += size;
	bus->source_count += position && !bus->has_sent[position];
	bus->has_sent[position] = true;
}

int bus_emit(struct bus *bus, uint16_t source, const struct iaprof_batch *batch, unsigned flags, struct error *error)
{
	return bus_emit_through(bus, NULL, source, batch, flags, error);
}

int bus_emit_through(struct bus *bus, struct record_gate *gate, uint16_t source, const struct iaprof_batch *batch,
		     unsigned flags, struct error *error)
{
	if (!batch->size && !batch->count)
		return 0;
	const uint16_t *set = flags & BUS_KEEP_SOURCE ? NULL : &source;
	int result = record_check_batch(batch, flags & BUS_KEEP_SOURCE, error);
	if (result)
		return result;

	uint64_t now = gate ? clock_monotonic() : 0;
	pthread_mutex_lock(&bus->lock);
	while ((flags & BUS_WAIT) && bus->size && bus->size + batch->size > bus->capacity && !bus->closed)
		pthread_cond_wait(&bus->not_full, &bus->lock);
	struct block *block = NULL;
	bool was_empty = !bus->first;
	if (!(flags & (BUS_ALWAYS | BUS_WAIT)) && !has_room(bus, source, batch->size, flags))
		result = -ENOSPC;
	else if (!(block = block_for(bus, batch->size)))
		result = -ENOMEM;
	if (block)
		count_queued(bus, source,
			     gate ? append_taken(block, gate, batch, set, now) : append(block, batch, set));
	pthread_mutex_unlock(&bus->lock);
	/* After that, or else the collector would wake to wait for the lock. */
	if (was_empty && block)
		pthread_cond_signal(&bus->not_empty);
	return result;
}

void bus_start_gate(struct bus *bus, struct record_gate *gate)
{
	pthread_mutex_lock(&bus->lock);
	record_gate_start(gate, clock_monotonic());
	pthread_mutex_unlock(&bus->lock);
}

struct record_gate bus_take_counts(struct bus *bus, struct record_gate *gate)
{
	pthread_mutex_lock(&bus->lock);
	struct record_gate counted = { .begin = gate->begin };
	memcpy(counted.counts, gate->counts, sizeof counted.counts);
	gate->begin = 0;
	memset(gate->counts, 0, sizeof gate->counts);
	pthread_mutex_unlock(&bus->lock);
	return counted;
}

int bus_send(struct bus *bus, const struct iaprof_record *record)
{
	struct iaprof_batch batch = { .records = record, .size = record->size, .count = 1 };
	return bus ? bus_emit(bus, record->source, &batch, BUS_ALWAYS | BUS_KEEP_SOURCE, NULL) : 0;
}

struct block *bus_take(struct bus *bus, uint64_t timeout_ns)
{
	struct timespec until = { 0 };
	if (timeout_ns != UINT64_MAX) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += (time_t)(timeout_ns / 1000000000);
		until.tv_nsec += (long)(timeout_ns % 1000000000);
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
	}
	pthread_mutex_lock(&bus->lock);
	while (!bus->first && !bus->closed)
		if (timeout_ns == UINT64_MAX)
			pthread_cond_wait(&bus->not_empty, &bus->lock);
		else if (pthread_cond_timedwait(&bus->not_empty, &bus->lock, &until))
			break;
	struct block *blocks = bus->first;
	bus->first = bus->last = NULL;
	bus->size = 0;
	memset(bus->queued, 0, sizeof bus->queued);
	pthread_cond_broadcast(&bus->not_full);
	pthread_mutex_unlock(&bus->lock);
	return blocks;
}

void bus_recycle(struct bus *bus, struct block *block)
{
	/* Only the holder of the last reference sees 1, so nobody else can be using the block then. */
	if (block && block->capacity == BLOCK_CAPACITY &&
	    atomic_load_explicit(&block->references, memory_order_acquire) == 1) {
		pthread_mutex_lock(&bus->lock);
		if (bus->spare_count < SPARE_BLOCKS_MAX) {
			block->count = 0;
			block->size = 0;
			block->next = bus->spare;
			bus->spare = block;
			bus->spare_count++;
			block = NULL;
		}
		pthread_mutex_unlock(&bus->lock);
	}
	block_release(block);
}

void bus_close(struct bus *bus)
{
	pthread_mutex_lock(&bus->lock);
	bus->closed = true;
	pthread_cond_broadcast(&bus->not_empty);
	pthread_cond_broadcast(&bus->not_full);
	pthread_mutex_unlock(&bus->lock);
}
