/* SPDX-License-Identifier: Apache-2.0 */
/* See request_queue.h. */
#include "http/request_queue.h"

#include <stdlib.h>

bool request_queue_add(struct request_queue *queue, struct text *body, uint32_t count, bool spooled)
{
	struct waiting_request *added = malloc(sizeof *added);
	if (!added)
		return false;
	/* What compresses reserves much more than it needs: the limit on waiting bytes is one on memory. */
	text_shrink(body);
	*added = (struct waiting_request){ .body = *body, .count = count, .spooled = spooled };
	*body = (struct text){ 0 };
	struct request_queue one = { .first = added, .last = added, .size = added->body.size };
	request_queue_move(queue, &one);
	return true;
}

void request_queue_remove(struct request_queue *queue, struct waiting_request *before)
{
	struct waiting_request **at = before ? &before->next : &queue->first, *removed = *at;
	*at = removed->next;
	if (queue->last == removed)
		queue->last = before;
	queue->size -= removed->body.size;
	text_free(&removed->body);
	free(removed);
}

void request_queue_move(struct request_queue *to, struct request_queue *from)
{
	if (!from->first)
		return;
	*(to->last ? &to->last->next : &to->first) = from->first;
	to->last = from->last;
	to->size += from->size;
	*from = (struct request_queue){ 0 };
}

uint64_t request_queue_count(const struct request_queue *queue)
{
	uint64_t sum = 0;
	for (const struct waiting_request *request = queue->first; request; request = request->next)
		sum += request->count;
	return sum;
}
