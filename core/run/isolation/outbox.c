/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of structs: see outbox.h. */
#include "run/isolation/outbox.h"

#include "run/isolation/message.h"

/* Limits on what waits, apart from the last struct. */
#define SIZE_MAX_WAITING ((size_t)256 << 20)
#define COUNT_MAX_WAITING 8192

bool outbox_add(struct outbox *outbox, uint32_t kind, const struct packing_layout *layout, const void *original)
{
	struct outbox_item item = { .kind = kind, .packed = PACKED_NONE };
	bool is_full = outbox->size >= SIZE_MAX_WAITING || outbox->items.count - outbox->first >= COUNT_MAX_WAITING;
	if (is_full || packed_make(&item.packed, layout, original) || !array_push(&outbox->items, item)) {
		packed_free(&item.packed);
		outbox->lost++;
		return false;
	}
	outbox->size += item.packed.size;
	return true;
}

bool outbox_send(struct outbox *outbox, int socket)
{
	for (; outbox->first < outbox->items.count; outbox->first++) {
		struct outbox_item *item = &outbox->items.items[outbox->first];
		struct packed *packed = &item->packed;
		int result;
		if (packed->descriptor >= 0)
			result = message_send_file(socket, item->kind, packed->descriptor, CHANNEL_NOW);
		else
			result = message_send(socket, item->kind, 0, 0, packed->bytes, packed->size, CHANNEL_NOW);
		if (result)
			return false;
		outbox->size -= packed->size;
		packed_free(packed);
	}
	outbox->items.count = outbox->first = 0;
	return true;
}

void outbox_free(struct outbox *outbox)
{
	for (; outbox->first < outbox->items.count; outbox->first++)
		packed_free(&outbox->items.items[outbox->first].packed);
	array_free(&outbox->items);
}
