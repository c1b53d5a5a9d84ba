/* SPDX-License-Identifier: Apache-2.0 */
/* A sink's thread and its queue: see sink_queue.h. */
#include "run/sink_queue.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A block or a profile that waits; exactly one of them is set. */
struct item {
	struct item *next;
	struct block *block;
	struct snapshot *snapshot;
};

struct sink_queue {
	struct instance *sink;
	size_t capacity;
	bool lossless;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct item *first, **last;
	size_t size;      /* bytes of blocks that wait */
	uint64_t dropped; /* records */
	bool ending;      /* no more items come */
	int result;       /* of the first callback that failed */
};

static void free_item(struct item *item)
{
	block_release(item->block);
	snapshot_release(item->snapshot);
	free(item);
}

static int consume(struct instance *sink, const struct item *item)
{
	if (item->snapshot)
		return instance_profile(sink, &item->snapshot->profile);
	struct iaprof_batch batch = block_batch(item->block);
	return instance_records(sink, &batch);
}

static void *run(void *argument)
{
	struct sink_queue *queue = argument;
	pthread_mutex_lock(&queue->lock);
	for (;;) {
		while (!queue->first && !queue->ending)
			pthread_cond_wait(&queue->changed, &queue->lock);
		struct item *item = queue->first;
		if (!item)
			break;
		queue->first = item->next;
		if (!queue->first)
			queue->last = &queue->first;
		if (item->block)
			queue->size -= item->block->size;
		bool failed = queue->result;
		pthread_cond_broadcast(&queue->changed);
		pthread_mutex_unlock(&queue->lock);
		int result = failed ? 0 : consume(queue->sink, item);
		free_item(item);
		if (result)
			queue->sink->services->ended(queue->sink->services->context, queue->sink);
		pthread_mutex_lock(&queue->lock);
		if (result)
			queue->result = result;
	}
	int result = queue->result;
	pthread_mutex_unlock(&queue->lock);
	if (!result)
		result = instance_finish(queue->sink, NULL);
	queue->result = result;
	return NULL;
}

struct sink_queue *sink_queue_new(struct instance *sink, size_t capacity, bool lossless, struct error *error)
{
	struct sink_queue *queue = calloc(1, sizeof *queue);
	if (!queue) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	queue->sink = sink;
	queue->capacity = capacity;
	queue->lossless = lossless;
	queue->last = &queue->first;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
	/* Signals are for the loop's thread. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int result = pthread_create(&queue->thread, NULL, run, queue);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result) {
		error_set(error, result, "sink %s: start its thread: %s", sink->name, strerror(result));
		free(queue);
		return NULL;
	}
	return queue;
}

/* Appends an item. The lock is held. */
static bool append(struct sink_queue *queue, struct block *block, struct snapshot *snapshot)
{
	struct item *item = calloc(1, sizeof *item);
	if (!item)
		return false;
	item->block = block ? block_reference(block) : NULL;
	item->snapshot = snapshot ? snapshot_reference(snapshot) : NULL;
	*queue->last = item;
	queue->last = &item->next;
	queue->size += block ? block->size : 0;
	pthread_cond_broadcast(&queue->changed);
	return true;
}

void sink_queue_push_block(struct sink_queue *queue, struct block *block)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->lossless && queue->size && queue->size + block->size > queue->capacity && !queue->result)
		pthread_cond_wait(&queue->changed, &queue->lock);
	if (!queue->result &&
	    ((!queue->lossless && queue->size + block->size > queue->capacity) || !append(queue, block, NULL)))
		queue->dropped += block->count;
	pthread_mutex_unlock(&queue->lock);
}

void sink_queue_push_profile(struct sink_queue *queue, struct snapshot *snapshot)
{
	pthread_mutex_lock(&queue->lock);
	if (!queue->result && !append(queue, NULL, snapshot))
		queue->dropped++;
	pthread_mutex_unlock(&queue->lock);
}

/* After a result that is a failure the thread throws away what waits. */
static void close_queue(struct sink_queue *queue, int result)
{
	pthread_mutex_lock(&queue->lock);
	queue->ending = true;
	if (result)
		queue->result = result;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

void sink_queue_close(struct sink_queue *queue)
{
	if (queue)
		close_queue(queue, 0);
}

static void free_queue(struct sink_queue *queue)
{
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

int sink_queue_finish(struct sink_queue *queue, uint64_t *dropped)
{
	if (!queue)
		return 0;
	close_queue(queue, 0);
	pthread_join(queue->thread, NULL);
	int result = queue->result;
	*dropped = queue->dropped;
	free_queue(queue);
	return result;
}

void sink_queue_abandon(struct sink_queue *queue)
{
	if (!queue)
		return;
	close_queue(queue, -ECANCELED);
	pthread_join(queue->thread, NULL);
	free_queue(queue);
}
