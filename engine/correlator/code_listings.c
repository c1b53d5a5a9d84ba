/* SPDX-License-Identifier: Apache-2.0 */
/* Device functions with all of their instructions: see code_listings.h. */
#include "correlator/code_listings.h"

#include <string.h>

#include "base/clock.h"

/*
 * Limit on addresses in a function at which no instruction could be decoded; beyond it, the rest is assumed to be data.
 */
#define UNKNOWN_BYTES_MAX 4096

/* Instructions of a function being read. */
struct listing {
	ARRAY(struct iaprof_listed_instruction) instructions;
	ARRAY(struct iaprof_producer) producers; /* producers of the first instruction, of the second, ... */
	uint64_t bytes;                          /* covered by instructions */
	bool failed;
};

void code_listings_free(struct code_listings *listings)
{
	keyed_array_free(&listings->items);
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
 * Adds the instruction at an address. Returns its size, or 0 if no instruction begins there and ends within the limit.
 * An overlapping function that is longer may still have one there.
 */
static uint32_t add_instruction(struct listing *listing, struct code_listings *listings, struct remote_code *code,
				uint64_t address, uint64_t base, uint64_t limit)
{
	struct code_place location;
	if (!remote_code_find(code, address, &location) || !location.instruction.mnemonic ||
	    location.instruction.size > limit)
		return 0;
	const struct debug_frame *innermost = &location.functions[location.function_count - 1];
	struct result_stream *results = listings->results;
	struct iaprof_listed_instruction instruction = {
		.offset = address - base,
		.size = location.instruction.size,
		.name = result_stream_text(results, location.instruction.mnemonic),
		.text = result_stream_text(results, location.instruction.text),
		.waits = result_stream_text(results, location.instruction.waits),
		.file = result_stream_text(results, innermost->file),
		.line = innermost->line
	};
	add_producers(listing, code, address, base, &instruction);
	listing->failed |= !array_push(&listing->instructions, instruction);
	listing->bytes += location.instruction.size;
	return location.instruction.size;
}

static void read_function(struct listing *listing, struct code_listings *listings, struct remote_code *code,
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

static size_t add_attributes(struct result_stream *results, const struct code_function *function,
			     struct iaprof_attribute *attributes)
{
	size_t count = function->attribute_count < IAPROF_ATTRIBUTE_COUNT_MAX ? function->attribute_count
									      : IAPROF_ATTRIBUTE_COUNT_MAX;
	for (size_t i = 0; i < count; i++)
		attributes[i] =
			(struct iaprof_attribute){ .name = result_stream_text(results, function->attributes[i].name),
						   .value = function->attributes[i].value };
	return count;
}

/* Returns how many instructions, from the first on, fit into a record that already has used bytes. */
static size_t count_fitting(const struct listing *listing, size_t first, size_t used, size_t *producer_count)
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

static void send_records(const struct code_listings *listings, const struct listing *listing,
			 struct iaprof_record_code_listing head, const struct code_function *function)
{
	_Alignas(8) char bytes[IAPROF_RECORD_SIZE_MAX];
	size_t first = 0, first_producer = 0, producer_count;
	do {
		size_t used = sizeof head;
		head.attribute_count =
			first ? 0
			      : (uint32_t)add_attributes(listings->results, function, (void *)(bytes + sizeof head));
		used += head.attribute_count * sizeof(struct iaprof_attribute);
		size_t count = count_fitting(listing, first, used, &producer_count);
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
		result_stream_send(listings->results, (const void *)bytes);
		first += count;
		first_producer += producer_count;
	} while (first < listing->instructions.count);
}

/* Reads and sends a new listing. Returns false when out of memory. */
static bool list_function(struct code_listings *listings, uint32_t id, struct remote_code *code,
			  const struct code_function *function, uint64_t base)
{
	struct listing listing = { 0 };
	read_function(&listing, listings, code, function, base);
	if (!listing.failed) {
		struct iaprof_record_code_listing head = {
			.header = { .type = IAPROF_RECORD_CODE_LISTING, .time = clock_monotonic() },
			.id = id,
			.name = result_stream_text(listings->results, function->name),
			.shown_name = result_stream_text(listings->results, function->shown),
			.flags = function->is_kernel ? IAPROF_CODE_FUNCTION_KERNEL : 0,
			.size = function->size,
			.left_out = function->size - listing.bytes,
		};
		send_records(listings, &listing, head, function);
		listings->instructions += listing.instructions.count;
		listings->bytes_left_out += head.left_out;
	}
	array_free(&listing.instructions);
	array_free(&listing.producers);
	return !listing.failed;
}

uint32_t code_listings_send(struct code_listings *listings, uint64_t key_of_code, struct remote_code *code,
			    uint64_t address)
{
	uint64_t base;
	const struct code_function *function = remote_code_function(code, address, &base);
	if (!function)
		return 0;
	struct listed_function listed = { .key = { .code = key_of_code, .address = function->address } };
	uint32_t position = keyed_array_find(&listings->items, &listed.key);
	if (position != POSITION_NONE)
		return position + 1;
	if (listings->items.count < LISTINGS_FUNCTIONS_MAX) {
		position = keyed_array_add(&listings->items, &listed);
		if (position != POSITION_NONE && list_function(listings, position + 1, code, function, base))
			return position + 1;
		if (position != POSITION_NONE)
			keyed_array_remove(&listings->items, position);
	}
	listings->functions_left_out++;
	return 0;
}
