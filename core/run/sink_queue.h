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

/* What found no room. */
struct sink_queue_dropped {
	uint64_t records, profiles;
};

/* Starts the thread. lossless: blocks and profiles wait for room instead of being refused. NULL after a failure. */
struct sink_queue *sink_queue_new(struct instance *sink, size_t capacity, bool lossless, struct error *error);

/* Each takes a reference of its own. Nothing happens once the sink has failed. */
void sink_queue_push_block(struct sink_queue *queue, struct block *block);
void sink_queue_push_profile(struct sink_queue *queue, struct snapshot *snapshot);

/* Nothing more comes. Told to every queue before the first is finished, so that no sink waits for a slower one. */
void sink_queue_close(struct sink_queue *queue);

/*
 * Lets the sink take what waits, calls its finish(), joins the thread and frees the queue. Returns 0, or the sink's
 * failure, which is in instance->error.
 */
int sink_queue_finish(struct sink_queue *queue, struct sink_queue_dropped *dropped);
/* Joins the thread and frees the queue without another call of the sink: what it has written is to be discarded. */
void sink_queue_abandon(struct sink_queue *queue);

#endif
