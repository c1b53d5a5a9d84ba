/* SPDX-License-Identifier: Apache-2.0 */
/* Places in device code as frames: see places.h. */
#include "correlator/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum place_kind { PLACE_IN_IMAGE = 1, PLACE_IN_KERNEL = 2, PLACE_UNKNOWN = 3 };

/* Addresses of unknown code that are told apart: hardware, or a program, must not fill the memory with them. */
#define UNKNOWN_MAX 16384

/* More producers of one instruction are not looked for; the decoder says how many there are. */
#define PRODUCERS_MAX 32

void places_free(struct places *places)
{
	places_clear(places);
}

void places_clear(struct places *places)
{
	array_free(&places->items);
	array_free(&places->frame_ids);
	hash_index_free(&places->index);
	places->unknown = 0;
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct place_key *key = &((const struct places *)context)->items.items[position].key;
	return hash_bytes(key, sizeof *key);
}

static uint32_t find(const struct places *places, const struct place_key *key)
{
	for (struct hash_probe probe = hash_index_probe(&places->index, hash_bytes(key, sizeof *key));
	     hash_index_next(&places->index, &probe);)
		if (!memcmp(&places->items.items[probe.position].key, key, sizeof *key))
			return probe.position;
	return PLACE_NONE;
}

static bool push_frame(struct places *places, uint32_t *count, const struct iaprof_frame *frame)
{
	uint32_t id = frame_table_add(places->frames, frame);
	if (id == FRAME_NONE || !array_push(&places->frame_ids, id))
		return false;
	++*count;
	return true;
}

/* Puts a place in whose frames were pushed. */
static uint32_t add(struct places *places, const struct place *place, bool complete)
{
	uint32_t position = (uint32_t)places->items.count;
	if (complete && array_push(&places->items, *place)) {
		if (hash_index_add(&places->index, hash_bytes(&place->key, sizeof place->key), position, rehash,
				   places))
			return position;
		places->items.count--;
	}
	places->frame_ids.count = place->first;
	return PLACE_NONE;
}

static bool add_number(struct places *places, struct place *place, uint64_t number, uint32_t listing)
{
	char text[24];
	snprintf(text, sizeof text, "0x%" PRIx64, number);
	place->offset = frame_table_add(places->frames, &(struct iaprof_frame){ .name = text,
										.kind = IAPROF_FRAME_DEVICE_OFFSET,
										.offset = number,
										.address = listing });
	return place->offset != FRAME_NONE;
}

/* A frame for one instruction that another one may wait for. */
static bool push_producer(struct places *places, struct place *place, struct remote_code *code, uint64_t address)
{
	struct code_place found;
	if (!remote_code_find(code, address, &found))
		return true;
	const struct debug_frame *innermost = &found.functions[found.function_count - 1];
	return push_frame(
		places, &place->producers,
		&(struct iaprof_frame){ .name = found.instruction.mnemonic ? found.instruction.mnemonic : "[unknown]",
					.file = innermost->file,
					.line = innermost->line,
					.kind = IAPROF_FRAME_DEVICE_INSTRUCTION,
					.flags = IAPROF_FRAME_PRODUCER,
					.offset = found.location.offset });
}

static bool push_note(struct places *places, struct place *place, const char *name)
{
	return push_frame(places, &place->producers,
			  &(struct iaprof_frame){ .name = name,
						  .kind = IAPROF_FRAME_DEVICE_INSTRUCTION,
						  .flags = IAPROF_FRAME_PRODUCER | IAPROF_FRAME_UNKNOWN });
}

/* Never less than there is: what has no frame of its own is said. */
static bool push_producers(struct places *places, struct place *place, struct remote_code *code, uint64_t address)
{
	struct iaprof_producer producers[PRODUCERS_MAX];
	uint32_t flags;
	size_t count = remote_code_producers(code, address, producers, PRODUCERS_MAX, &flags);
	bool complete = true;
	for (size_t i = 0; complete && i < count && i < PLACE_PRODUCERS_MAX; i++)
		complete = push_producer(places, place, code, producers[i].offset);
	if (complete && (count > PLACE_PRODUCERS_MAX || (flags & IAPROF_PRODUCERS_INCOMPLETE)))
		complete = push_note(places, place, count ? "[others]" : "[unknown]");
	return complete;
}

static uint32_t add_of_image(struct places *places, const struct place_key *key, struct remote_code *code)
{
	struct code_place found;
	struct code_frame frames[CODE_FRAMES_MAX];
	if (!remote_code_find(code, key->address, &found))
		return PLACE_NONE;
	const struct code_function *function = found.location.kernel ? found.location.kernel : found.location.function;
	const struct debug_frame *innermost = &found.functions[found.function_count - 1];
	struct place place = { .key = *key,
			       .first = (uint32_t)places->frame_ids.count,
			       .function = intern_text_id(places->intern, function->name),
			       .is_kernel = function->is_kernel,
			       .function_offset = key->address - function->address };
	bool complete = true;
	size_t count = code_place_frames(&found, key->address, frames);
	for (size_t i = 0; complete && i < count; i++) {
		bool is_instruction = frames[i].kind == IAPROF_FRAME_DEVICE_INSTRUCTION;
		complete = push_frame(places, &place.count,
				      &(struct iaprof_frame){ .name = frames[i].name,
							      .file = is_instruction ? innermost->file : frames[i].file,
							      .line = is_instruction ? innermost->line : frames[i].line,
							      .kind = frames[i].kind,
							      .flags = frames[i].flags });
	}
	if (complete && places->producers)
		complete = push_producers(places, &place, code, key->address);
	uint32_t listing =
		complete && places->listings ? listings_tell(places->listings, key->code, code, key->address) : 0;
	return add(places, &place, complete && add_number(places, &place, found.location.offset, listing));
}

static uint32_t add_of_kernel(struct places *places, const struct place_key *key, const char *kernel)
{
	struct place place = { .key = *key,
			       .first = (uint32_t)places->frame_ids.count,
			       .function = intern_text_id(places->intern, kernel),
			       .is_kernel = true,
			       .function_offset = key->address };
	bool complete = push_frame(places, &place.count,
				   &(struct iaprof_frame){ .name = *kernel ? kernel : "[unknown]",
							   .kind = IAPROF_FRAME_DEVICE_FUNCTION,
							   .flags = *kernel ? 0 : IAPROF_FRAME_UNKNOWN });
	return add(places, &place, complete && add_number(places, &place, key->address, 0));
}

uint32_t places_of_code(struct places *places, const struct device_code_found *found)
{
	struct place_key key = { .address = found->address, .kind = found->code ? PLACE_IN_IMAGE : PLACE_IN_KERNEL };
	key.code = found->code ? remote_code_key(found->code) : intern_text_id(places->intern, found->kernel);
	uint32_t position = find(places, &key);
	if (position != PLACE_NONE)
		return position;
	return found->code ? add_of_image(places, &key, found->code) : add_of_kernel(places, &key, found->kernel);
}

uint32_t places_of_unknown(struct places *places, uint64_t device, uint64_t address, uint32_t label)
{
	struct place_key key = { .code = device, .address = address, .kind = PLACE_UNKNOWN, .label = label };
	uint32_t position = find(places, &key);
	if (position == PLACE_NONE && places->unknown >= UNKNOWN_MAX) {
		key.address = UINT64_MAX;
		key.code = 0;
		position = find(places, &key);
	}
	if (position != PLACE_NONE)
		return position;
	struct place place = { .key = key, .first = (uint32_t)places->frame_ids.count, .offset = FRAME_NONE };
	bool complete = push_frame(
		places, &place.count,
		&(struct iaprof_frame){ .name = label ? intern_text(places->intern, label) : "[unknown device code]",
					.kind = IAPROF_FRAME_DEVICE_FUNCTION,
					.flags = IAPROF_FRAME_UNKNOWN });
	if (complete && key.address != UINT64_MAX) {
		complete = add_number(places, &place, address, 0);
		places->unknown++;
	}
	return add(places, &place, complete);
}
