/* SPDX-License-Identifier: Apache-2.0 */
/* See mapped_file_queue.h. */
#include "process/mapped_file_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int mapped_file_queue_init(struct mapped_file_queue *queue, uint32_t limit)
{
	*queue = (struct mapped_file_queue){ .limit = limit, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_mutex_init(&queue->lock, NULL);
	return queue->wake < 0 ? -errno : 0;
}

void mapped_file_queue_free(struct mapped_file_queue *queue)
{
	for (struct queued_file *file; (file = mapped_file_queue_take(queue));)
		free(file);
	if (queue->wake >= 0)
		close(queue->wake);
	pthread_mutex_destroy(&queue->lock);
}

void mapped_file_queue_add(struct mapped_file_queue *queue, const struct iaprof_mapped_file *file)
{
	size_t size = strlen(file->path) + 1;
	struct queued_file *queued = malloc(sizeof *queued + size);

	if (queued) {
		*queued = (struct queued_file){ .process = file->pid, .start = file->start, .length = file->length };
		memcpy(queued->path, file->path, size);
	}
	pthread_mutex_lock(&queue->lock);
	if (queued && queue->count < queue->limit) {
		*(queue->last ? &queue->last->next : &queue->first) = queued;
		queue->last = queued;
		queue->count++;
		queued = NULL;
	} else {
		queue->dropped++;
	}
	pthread_mutex_unlock(&queue->lock);
	free(queued);
	eventfd_write(queue->wake, 1);
}

struct queued_file *mapped_file_queue_take(struct mapped_file_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	struct queued_file *file = queue->first;
	if (file) {
		queue->first = file->next;
		if (!queue->first)
			queue->last = NULL;
		queue->count--;
	}
	pthread_mutex_unlock(&queue->lock);
	return file;
}

uint64_t mapped_file_queue_dropped(struct mapped_file_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	uint64_t dropped = queue->dropped;
	queue->dropped = 0;
	pthread_mutex_unlock(&queue->lock);
	return dropped;
}
