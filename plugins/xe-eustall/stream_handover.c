/* SPDX-License-Identifier: Apache-2.0 */
/* See stream_handover.h. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "stream_handover.h"

#define GTS_MAX 64u

struct item {
	bool is_claimed, is_put;
	struct handed_stream stream; /* until it is put, only its GT is valid */
};

struct stream_handover {
	pthread_mutex_t lock;
	unsigned references;
	bool has_ended;
	uint64_t since;
	size_t count;
	struct item items[GTS_MAX];
};

struct stream_handover *stream_handover_new(void)
{
	struct stream_handover *handover = calloc(1, sizeof *handover);

	if (!handover)
		return NULL;
	pthread_mutex_init(&handover->lock, NULL);
	handover->references = 1;
	handover->since = UINT64_MAX;
	return handover;
}

static struct item *item_find(struct stream_handover *handover, const char *address, uint32_t gt)
{
	for (size_t i = 0; i < handover->count; i++)
		if (handover->items[i].stream.gt == gt && !strcmp(handover->items[i].stream.address, address))
			return &handover->items[i];
	return NULL;
}

int stream_handover_add(struct stream_handover *handover, const char *address, uint32_t gt)
{
	if (handover->count == GTS_MAX)
		return -E2BIG;
	struct handed_stream *stream = &handover->items[handover->count++].stream;
	snprintf(stream->address, sizeof stream->address, "%s", address);
	stream->gt = gt;
	return 0;
}

struct stream_handover *stream_handover_attach(struct stream_handover *handover)
{
	pthread_mutex_lock(&handover->lock);
	handover->references++;
	pthread_mutex_unlock(&handover->lock);
	return handover;
}

bool stream_handover_claim(struct stream_handover *handover, const char *address, uint32_t gt)
{
	pthread_mutex_lock(&handover->lock);
	struct item *item = item_find(handover, address, gt);
	if (item)
		item->is_claimed = true;
	pthread_mutex_unlock(&handover->lock);
	return item;
}

void stream_handover_begin(struct stream_handover *handover, uint64_t since)
{
	pthread_mutex_lock(&handover->lock);
	handover->since = since;
	pthread_mutex_unlock(&handover->lock);
}

uint64_t stream_handover_since(struct stream_handover *handover)
{
	pthread_mutex_lock(&handover->lock);
	uint64_t since = handover->since;
	pthread_mutex_unlock(&handover->lock);
	return since;
}

bool stream_handover_put(struct stream_handover *handover, const struct handed_stream *stream)
{
	pthread_mutex_lock(&handover->lock);
	struct item *item = item_find(handover, stream->address, stream->gt);
	bool is_wanted = item && item->is_claimed && !item->is_put;
	if (is_wanted) {
		item->stream = *stream;
		item->is_put = true;
	}
	pthread_mutex_unlock(&handover->lock);
	return is_wanted;
}

void stream_handover_end(struct stream_handover *handover)
{
	pthread_mutex_lock(&handover->lock);
	handover->has_ended = true;
	pthread_mutex_unlock(&handover->lock);
}

bool stream_handover_has_ended(struct stream_handover *handover)
{
	pthread_mutex_lock(&handover->lock);
	bool has_ended = handover->has_ended;
	pthread_mutex_unlock(&handover->lock);
	return has_ended;
}

bool stream_handover_take(struct stream_handover *handover, const char *address, uint32_t gt,
			  struct handed_stream *stream)
{
	pthread_mutex_lock(&handover->lock);
	struct item *item = item_find(handover, address, gt);
	bool is_there = item && item->is_put;
	if (is_there) {
		*stream = item->stream;
		item->is_put = item->is_claimed = false;
	}
	pthread_mutex_unlock(&handover->lock);
	return is_there;
}

/* Called with the lock, which it releases. */
static void release(struct stream_handover *handover)
{
	bool is_last = !--handover->references;

	pthread_mutex_unlock(&handover->lock);
	if (!is_last)
		return;
	pthread_mutex_destroy(&handover->lock);
	free(handover);
}

void stream_handover_detach(struct stream_handover *handover)
{
	if (!handover)
		return;
	pthread_mutex_lock(&handover->lock);
	handover->since = UINT64_MAX;
	for (size_t i = 0; i < handover->count; i++) {
		struct item *item = &handover->items[i];
		if (item->is_put && item->stream.stream >= 0)
			close(item->stream.stream);
		item->is_put = item->is_claimed = false;
	}
	release(handover);
}

void stream_handover_free(struct stream_handover *handover)
{
	if (!handover)
		return;
	pthread_mutex_lock(&handover->lock);
	handover->has_ended = true;
	release(handover);
}
