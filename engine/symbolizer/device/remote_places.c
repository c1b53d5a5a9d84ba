/* SPDX-License-Identifier: Apache-2.0 */
/* See remote_places.h. */
#include "symbolizer/device/remote_places.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "child/channel.h"
#include "symbolizer/device/code_place.h"

void remote_places_free(struct remote_places *places)
{
	array_free(&places->items);
	array_free(&places->frames);
	array_free(&places->producers);
	hash_index_free(&places->by_address);
}

const struct remote_place *remote_places_find(const struct remote_places *places, uint64_t address)
{
	hash_index_each (probe, &places->by_address, hash_u64(address))
		if (places->items.items[probe.position].address == address)
			return &places->items.items[probe.position];
	return NULL;
}

bool remote_places_are_plausible(const struct worker_places *head, uint64_t rest)
{
	return head->place_count && head->place_count <= WORKER_PLACES_MAX &&
	       head->frame_count <= WORKER_PLACES_MAX * CODE_INLINE_DEPTH_MAX &&
	       head->producer_count <= WORKER_PLACES_MAX * WORKER_PRODUCERS_MAX &&
	       head->text_count <= head->text_size &&
	       rest == head->place_count * sizeof(struct worker_place) +
			       head->frame_count * sizeof(struct worker_frame) +
			       head->producer_count * sizeof(struct iaprof_producer) + (uint64_t)head->text_size;
}

/* Returns whether the places are sorted, begin at the requested address, and match the other parts of the message. */
static bool are_consistent(const struct worker_places *head, const struct worker_place *places,
			   const struct worker_frame *frames, const struct remote_texts *texts, uint64_t address)
{
	uint64_t frame_count = 0, producer_count = 0;
	for (uint32_t i = 0; i < head->place_count; i++) {
		const struct worker_place *place = &places[i];
		frame_count += place->frame_count;
		producer_count += place->producer_count;
		if ((i ? place->address <= places[i - 1].address : place->address != address) || !place->frame_count ||
		    place->frame_count > CODE_INLINE_DEPTH_MAX || place->producer_count > place->producers_total ||
		    !remote_texts_have(texts, place->mnemonic) || !remote_texts_have(texts, place->waits) ||
		    !remote_texts_have(texts, place->text) || (place->mnemonic != 0) != (place->size != 0) ||
		    (place->mnemonic && place->is_undecodable))
			return false;
	}
	for (uint32_t i = 0; i < head->frame_count; i++)
		if (!remote_texts_have(texts, frames[i].name) || !remote_texts_have(texts, frames[i].file))
			return false;
	return frame_count == head->frame_count && producer_count == head->producer_count;
}

static bool keep_place(struct remote_places *places, const struct worker_place *sent, const struct worker_frame *frames,
		       const char *producers, const struct remote_texts *texts)
{
	struct remote_place place = { .address = sent->address,
				      .first_frame = (uint32_t)places->frames.count,
				      .frame_count = sent->frame_count,
				      .size = sent->size,
				      .group = sent->group,
				      .is_undecodable = sent->is_undecodable,
				      .mnemonic = remote_texts_get(texts, sent->mnemonic),
				      .waits = remote_texts_get(texts, sent->waits),
				      .text = remote_texts_get(texts, sent->text),
				      .first_producer = (uint32_t)places->producers.count,
				      .producer_count = sent->producer_count,
				      .producers_total = sent->producers_total,
				      .producers_flags = sent->producers_flags };
	bool kept = true;
	for (uint32_t i = 0; kept && i < sent->frame_count; i++) {
		struct debug_frame frame = { .name = remote_texts_get(texts, frames[i].name),
					     .file = remote_texts_get(texts, frames[i].file),
					     .line = frames[i].line };
		kept = array_push(&places->frames, frame);
	}
	for (uint32_t i = 0; kept && i < sent->producer_count; i++) {
		struct iaprof_producer producer; /* the message does not align it */
		memcpy(&producer, producers + i * sizeof producer, sizeof producer);
		kept = array_push(&places->producers, producer);
	}
	return kept && hash_index_push(&places->by_address, hash_u64(place.address), &places->items, place);
}

int remote_places_read(struct remote_places *places, const struct remote_reader *reader,
		       const struct worker_places *head, uint64_t rest, uint64_t address)
{
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP(remote_texts_free) struct remote_texts texts = { 0 };
	int result = channel_read_new(reader->socket, rest, &bytes, &reader->deadline);
	if (result)
		return result;
	const struct worker_place *place = (const void *)bytes, *end = place + head->place_count;
	const struct worker_frame *frames = (const void *)end;
	const char *producers = (const char *)(frames + head->frame_count);
	result = remote_texts_keep(&texts, places->strings, bytes + rest - head->text_size, head->text_size,
				   head->text_count);
	if (!result && !are_consistent(head, place, frames, &texts, address))
		result = -EBADMSG;
	for (; !result && place < end; place++) {
		if (!remote_places_find(places, place->address) &&
		    !keep_place(places, place, frames, producers, &texts))
			result = -ENOMEM;
		frames += place->frame_count;
		producers += place->producer_count * sizeof(struct iaprof_producer);
	}
	return result;
}
