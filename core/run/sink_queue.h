/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread per sink with a bounded queue of record blocks and profiles, so that a slow sink blocks neither the sources
 * nor the other sinks. A sink that keeps up on the whole is waited for in a burst that is larger than its queue, but
 * not for long. When the queue is full, only records that others depend on are kept from a block (definitions,
 * processes, mappings); the rest becomes LOST records, for this sink only. A new profile replaces the oldest interval
 * profiles in a full queue. In a run that is interrupted, what waits for a slow sink is dropped, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bus/bus.h"
#include "bus/snapshot.h"
#include "run/instance.h"

struct sink_queue;

/* Capacity in bytes for blocks, and the same again for profiles. */
#define SINK_QUEUE_CAPACITY ((size_t)24 << 20)
/* Capacity in a replay, which waits for the sink. */
#define SINK_QUEUE_CAPACITY_REPLAY ((size_t)2 << 20)

/* Patience factor for a sink that is computing: the page of a large profile is computed before it is written. */
#define SINK_QUEUE_COMPUTING 10

/* Part of the time of an interrupted run after which what waits for a sink is dropped: its finish() has the rest. A
   sink that computes has more, as below. */
#define SINK_QUEUE_DROP_PART 4

/* Data dropped for lack of room or time, or still queued behind a callback that did not return. */
struct sink_queue_dropped {
	uint64_t records, profiles;
	const char *callback; /* callback that did not return: the sink must not be freed; NULL if none */
};

/* Starts the thread. lossless: blocks and profiles wait for room instead of being dropped. Returns NULL on failure. */
struct sink_queue *sink_queue_new(struct instance *sink, size_t capacity, bool lossless, struct error *error);

/*
 * Has the queue fill up without calling the sink (true), or calls it again (false): for a sink that is started later
 * than its run. Before anything is pushed, and before the queue is finished.
 */
void sink_queue_hold(struct sink_queue *queue, bool hold);

/* Each takes its own reference. No effect once the sink has failed. */
void sink_queue_push_block(struct sink_queue *queue, struct block *block);
void sink_queue_push_profile(struct sink_queue *queue, struct snapshot *snapshot);

/* Ends the input. Called for all queues before any of them is finished, so that no sink waits for a slower one. */
void sink_queue_close(struct sink_queue *queue);

/* Waits for the sink for a short time. Returns whether it has finished or was given up on. */
bool sink_queue_wait(struct sink_queue *queue);
/*
 * Gives up on a closed queue if its sink has neither returned from a callback, nor written, nor computed for patience
 * ns, or has only computed for SINK_QUEUE_COMPUTING times as long. is_interrupted: the run is to end, and patience is
 * the time in which the sink must finish, to which its computing is added; after a part of that, records and profiles
 * of intervals that wait are dropped. An isolated sink is only given up on in an interrupted run, and its process
 * ended.
 */
void sink_queue_check(struct sink_queue *queue, uint64_t patience, bool is_interrupted);

/*
 * Lets the sink process the queue, calls its finish(), joins the thread and frees the queue. Returns 0, or the sink's
 * failure, which is in instance->error. A queue that was given up on is left alone: -ETIMEDOUT.
 */
int sink_queue_finish(struct sink_queue *queue, struct sink_queue_dropped *dropped);
/* Joins the thread and frees the queue without calling the sink again; its output must be discarded. */
void sink_queue_abandon(struct sink_queue *queue);
