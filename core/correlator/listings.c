/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of devices with all of their instructions: see listings.h. */
#include "correlator/listings.h"

#include <string.h>

#include "base/clock.h"

/* Nothing that is decoded begins at so many addresses of a function: it is no code, and not looked at any longer. */
#define UNKNOWN_BYTES_MAX 4096

/* A function's instructions as they are read. */
struct listing {
	ARRAY(struct iaprof_listed_instruction) instructions;
	ARRAY(struct iaprof_producer) producers; /* of the first, the second, ... */
	uint64_t bytes;                          /* that are in an instruction */
	bool failed;
};

void listings_free(struct listings *listings)
{
	array_free(&listings->items);
	hash_index_free(&listings->index);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct listing_key *key = &((const struct listings *)context)->items.items[position];
	return hash_bytes(key, sizeof *key);
}

static void add_producers(struct listing *listing, struct remote_code *code, uint64_t address, uint64_t base,
			  struct iaprof_listed_instruction *instruction)
{
	struct iaprof_producer producers[LISTING_PRODUCERS_MAX];
	size_t count =
		remote_code_producers(code, address, producers, LISTING_PRODUCERS_MAX, &instruction->producers_flags);
	if (count > LISTING_PRODUCERS_MAX) {
		instruction->producers_flags |= IAPROF_PRODUCERS_INCOMPLETE;
		count = LISTING_PRODUCERS_MAX;
	}
	for (size_t i = 0; i < count; i++) {
		producers[i].offset -= base;
		listing->failed |= !array_push(&listing->producers, producers[i]);
	}
	instruction->producer_count = (uint32_t)count;
}

/*
 * The instruction at an address. Returns its size, 0 when none begins there that is within the limit: it may be read as
 * of another function, which overlaps this one and is longer.
 */
static uint32_t add_instruction(struct listing *listing, struct listings *listings, struct remote_code *code,
				uint64_t address, uint64_t base, uint64_t limit)
{
	struct code_place place;
	if (!remote_code_find(code, address, &place) || !place.instruction.mnemonic || place.instruction.size > limit)
		return 0;
	const struct debug_frame *innermost = &place.functions[place.function_count - 1];
	struct intern *intern = listings->intern;
	struct iaprof_listed_instruction instruction = { .offset = address - base,
							 .size = place.instruction.size,
							 .name = intern_text_id(intern, place.instruction.mnemonic),
							 .text = intern_text_id(intern, place.instruction.text),
							 .waits = intern_text_id(intern, place.instruction.waits),
							 .file = intern_text_id(intern, innermost->file),
							 .line = innermost->line };
	add_producers(listing, code, address, base, &instruction);
	listing->failed |= !array_push(&listing->instructions, instruction);
	listing->bytes += place.instruction.size;
	return place.instruction.size;
}

static void read_function(struct listing *listing, struct listings *listings, struct remote_code *code,
			  const struct code_function *function, uint64_t base)
{
	uint64_t unknown = 0;
	for (uint64_t offset = 0; offset < function->size && !listing->failed && unknown < UNKNOWN_BYTES_MAX &&
				  listing->instructions.count < LISTING_INSTRUCTIONS_MAX &&
				  listings->instructions + listing->instructions.count < LISTINGS_INSTRUCTIONS_MAX;) {
		uint32_t size = add_instruction(listing, listings, code, function->address + offset, base,
						function->size - offset);
		unknown += size ? 0 : 1;
		offset += size ? size : 1;
	}
}

static size_t add_attributes(struct intern *intern, const struct code_function *function,
			     struct iaprof_attribute *attributes)
{
	size_t count = function->attribute_count < IAPROF_ATTRIBUTE_COUNT_MAX ? function->attribute_count
									      : IAPROF_ATTRIBUTE_COUNT_MAX;
	for (size_t i = 0; i < count; i++)
		attributes[i] = (struct iaprof_attribute){ .name = intern_text_id(intern, function->attributes[i].name),
							   .value = function->attributes[i].value };
	return count;
}

/* How many instructions from one on fit into a record, behind what it has already; at least one. */
static size_t fitting(const struct listing *listing, size_t first, size_t used, size_t *producer_count)
{
	size_t count = 0;
	*producer_count = 0;
	for (; first + count < listing->instructions.count; count++) {
		uint32_t producers = listing->instructions.items[first + count].producer_count;
		size_t size = sizeof listing->instructions.items[0] + producers * sizeof listing->producers.items[0];
		if (used + size > IAPROF_RECORD_SIZE_MAX)
			break;
		used += size;
		*producer_count += producers;
	}
	return count;
}

static void send(const struct listings *listings, const struct listing *listing, struct iaprof_record_code_listing head,
		 const struct code_function *function)
{
	_Alignas(8) char bytes[IAPROF_RECORD_SIZE_MAX];
	size_t first = 0, first_producer = 0, producer_count;
	do {
		size_t used = sizeof head;
		head.attribute_count =
			first ? 0 : (uint32_t)add_attributes(listings->intern, function, (void *)(bytes + sizeof head));
		used += head.attribute_count * sizeof(struct iaprof_attribute);
		size_t count = fitting(listing, first, used, &producer_count);
		head.instruction_count = (uint32_t)count;
		head.producer_count = (uint32_t)producer_count;
		if (count)
			memcpy(bytes + used, listing->instructions.items + first,
			       count * sizeof listing->instructions.items[0]);
		used += count * sizeof listing->instructions.items[0];
		if (producer_count)
			memcpy(bytes + used, listing->producers.items + first_producer,
			       producer_count * sizeof listing->producers.items[0]);
		head.header.size = (uint32_t)(used + producer_count * sizeof listing->producers.items[0]);
		memcpy(bytes, &head, sizeof head);
		bus_send(listings->bus, (const void *)bytes);
		first += count;
		first_producer += producer_count;
	} while (first < listing->instructions.count);
}

/* Reads and sends one that is new; false when out of memory. */
static bool tell(struct listings *listings, uint32_t id, struct remote_code *code, const struct code_function *function,
		 uint64_t base)
{
	struct listing listing = { 0 };
	read_function(&listing, listings, code, function, base);
	if (!listing.failed) {
		struct iaprof_record_code_listing head = {
			.header = { .type = IAPROF_RECORD_CODE_LISTING, .time = clock_monotonic() },
			.id = id,
			.name = intern_text_id(listings->intern, function->name),
			.shown_name = intern_text_id(listings->intern, function->shown),
			.flags = function->is_kernel ? IAPROF_CODE_FUNCTION_KERNEL : 0,
			.size = function->size,
			.left_out = function->size - listing.bytes,
		};
		send(listings, &listing, head, function);
		listings->instructions += listing.instructions.count;
		listings->bytes_left_out += head.left_out;
	}
	array_free(&listing.instructions);
	array_free(&listing.producers);
	return !listing.failed;
}

uint32_t listings_tell(struct listings *listings, uint64_t key_of_code, struct remote_code *code, uint64_t address)
{
	uint64_t base;
	const struct code_function *function = remote_code_function(code, address, &base);
	if (!function)
		return 0;
	struct listing_key key = { .code = key_of_code, .address = function->address };
	uint64_t hash = hash_bytes(&key, sizeof key);
	for (struct hash_probe probe = hash_index_probe(&listings->index, hash);
	     hash_index_next(&listings->index, &probe);)
		if (!memcmp(&listings->items.items[probe.position], &key, sizeof key))
			return probe.position + 1;
	uint32_t position = (uint32_t)listings->items.count;
	if (position < LISTINGS_FUNCTIONS_MAX && array_push(&listings->items, key)) {
		if (hash_index_add(&listings->index, hash, position, rehash, listings)) {
			if (tell(listings, position + 1, code, function, base))
				return position + 1;
			hash_index_remove(&listings->index, hash, position);
		}
		listings->items.count--;
	}
	listings->functions_left_out++;
	return 0;
}
