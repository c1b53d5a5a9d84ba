/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink's own thread with a bounded queue of record blocks and profiles before it, so that a slow sink holds up
 * neither the sources nor the other sinks. Of a block that finds no room only what gives other records their meaning is
 * kept (definitions, processes, mappings); the rest becomes LOST records, for this sink alone. Of profiles the newest
 * are kept: one that finds no room takes that of the oldest profiles of intervals.
 */
#ifndef IAPROF_CORE_RUN_SINK_QUEUE_H
#define IAPROF_CORE_RUN_SINK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "bus/bus.h"
#include "plugin/instance.h"
#include "profile/snapshot.h"

struct sink_queue;

/* The most bytes of blocks that wait before a sink, and as many of profiles. */
#define SINK_QUEUE_CAPACITY ((size_t)24 << 20)
/* Of a replay, which waits for the sink. */
#define SINK_QUEUE_CAPACITY_REPLAY ((size_t)2 << 20)

/* A page of a large profile is computed before it is written. */
#define SINK_QUEUE_COMPUTING 10

/* What found no room, or still waits for a callback that did not return. */
struct sink_queue_dropped {
	uint64_t records, profiles;
	const char *callback; /* that did not return: the sink must not be freed; NULL none */
};

/* Starts the thread. lossless: blocks and profiles wait for room instead of being refused. NULL after a failure. */
struct sink_queue *sink_queue_new(struct instance *sink, size_t capacity, bool lossless, struct error *error);

/* Each takes a reference of its own. Nothing happens once the sink has failed. */
void sink_queue_push_block(struct sink_queue *queue, struct block *block);
void sink_queue_push_profile(struct sink_queue *queue, struct snapshot *snapshot);

/* Nothing more comes. Told to every queue before the first is finished, so that no sink waits for a slower one. */
void sink_queue_close(struct sink_queue *queue);

/* Waits for the sink, a short time at most. Returns whether it is done or was given up. */
bool sink_queue_wait(struct sink_queue *queue);
/*
 * Gives a closed queue up when its sink, for this many ns, has neither returned from a callback nor written nor
 * computed, or has only computed for SINK_QUEUE_COMPUTING times as long.
 */
void sink_queue_check(struct sink_queue *queue, uint64_t patience);

/*
 * Lets the sink take what waits, calls its finish(), joins the thread and frees the queue. Returns 0, or the sink's
 * failure, which is in instance->error. One that was given up is left as it is: -ETIMEDOUT.
 */
int sink_queue_finish(struct sink_queue *queue, struct sink_queue_dropped *dropped);
/* Joins the thread and frees the queue without another call of the sink: what it has written is to be discarded. */
void sink_queue_abandon(struct sink_queue *queue);

#endif
