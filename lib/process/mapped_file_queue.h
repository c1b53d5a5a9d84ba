/* SPDX-License-Identifier: Apache-2.0 */
/* Files that processes mapped, queued by the main thread for a source's own thread, which opens and parses them. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <iaprof/host.h>

struct queued_file {
	struct queued_file *next;
	uint32_t process;
	uint64_t start, length; /* range of the mapping */
	char path[];
};

struct mapped_file_queue {
	pthread_mutex_t lock;
	struct queued_file *first, *last;
	uint32_t count, limit;
	uint64_t dropped;
	int wake; /* eventfd, readable while files are queued */
};

/* limit: the maximum number of files in the queue. Returns 0 or a negative errno. */
int mapped_file_queue_init(struct mapped_file_queue *queue, uint32_t limit);
void mapped_file_queue_free(struct mapped_file_queue *queue);
/* Any thread. A file that does not fit is counted as dropped. */
void mapped_file_queue_add(struct mapped_file_queue *queue, const struct iaprof_mapped_file *file);
/* Returns the oldest file, which the caller frees with free(), or NULL. */
struct queued_file *mapped_file_queue_take(struct mapped_file_queue *queue);
/* Returns the number of files dropped since the last call. */
uint64_t mapped_file_queue_dropped(struct mapped_file_queue *queue);
