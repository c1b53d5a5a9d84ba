/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of messages: see outbox.h. */
#include "run/isolation/outbox.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/isolation/message.h"

/* Limits on what waits. */
#define SIZE_MAX_WAITING ((size_t)256 << 20)
#define COUNT_MAX_WAITING 8192

static char *new_file(size_t size, int *descriptor)
{
	*descriptor = memfd_create("iaprof", MFD_CLOEXEC);
	void *memory = MAP_FAILED;
	if (*descriptor >= 0 && !ftruncate(*descriptor, (off_t)size))
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
	if (memory != MAP_FAILED)
		return memory;
	if (*descriptor >= 0)
		close(*descriptor);
	return NULL;
}

/* Releases the memory; the file remains. */
static void release(struct outbox_item *item)
{
	if (item->bytes && item->descriptor >= 0)
		munmap(item->bytes, item->size);
	else
		free(item->bytes);
	item->bytes = NULL;
}

static void free_item(struct outbox_item *item)
{
	release(item);
	if (item->descriptor >= 0)
		close(item->descriptor);
}

char *outbox_add(struct outbox *outbox, uint32_t kind, size_t size)
{
	struct outbox_item item = { .kind = kind, .descriptor = -1, .size = size };
	if (outbox->size + size > SIZE_MAX_WAITING || outbox->items.count - outbox->first >= COUNT_MAX_WAITING) {
		outbox->lost++;
		return NULL;
	}
	item.bytes = size > MESSAGE_BYTES_MAX ? new_file(size, &item.descriptor) : malloc(size);
	if (!item.bytes || !array_push(&outbox->items, item)) {
		free_item(&item);
		outbox->lost++;
		return NULL;
	}
	outbox->size += size;
	return item.bytes;
}

bool outbox_send(struct outbox *outbox, int socket)
{
	for (; outbox->first < outbox->items.count; outbox->first++) {
		struct outbox_item *item = &outbox->items.items[outbox->first];
		int result;
		if (item->descriptor >= 0)
			result = message_send_file(socket, item->kind, item->descriptor, CHANNEL_NOW);
		else
			result = message_send(socket, item->kind, 0, 0, item->bytes, item->size, CHANNEL_NOW);
		if (result)
			return false;
		outbox->size -= item->size;
		free_item(item);
	}
	outbox->items.count = outbox->first = 0;
	return true;
}

void outbox_free(struct outbox *outbox)
{
	for (; outbox->first < outbox->items.count; outbox->first++)
		free_item(&outbox->items.items[outbox->first]);
	array_free(&outbox->items);
}
