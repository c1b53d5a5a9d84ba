/* SPDX-License-Identifier: Apache-2.0 */
/* Converts locations in device code to frames: see code_locations.h. */
#include "correlator/code_locations.h"

#include <inttypes.h>
#include <stdio.h>

#include "symbolizer/demangle.h"

enum place_kind { LOCATION_IN_IMAGE = 1, LOCATION_IN_KERNEL = 2, LOCATION_UNKNOWN = 3, LOCATION_WHOLE_KERNEL = 4 };

/* Limit on distinct addresses in unknown code, so that faulty hardware or a program cannot exhaust memory. */
#define UNKNOWN_MAX 16384

/* Limit on producers requested per instruction; the decoder returns their total number. */
#define PRODUCERS_MAX 32

void code_locations_free(struct code_locations *locations)
{
	code_locations_clear(locations);
}

void code_locations_clear(struct code_locations *locations)
{
	keyed_array_free(&locations->items);
	array_free(&locations->frame_ids);
	array_free(&locations->callers);
	locations->unknown = 0;
}

bool code_locations_reaches(const struct code_locations *locations, const struct resolved_location *location,
			    uint32_t kernel)
{
	for (uint32_t i = 0; i < location->caller_count; i++)
		if (locations->callers.items[location->first_caller + i] == kernel)
			return true;
	return !location->caller_count;
}

static bool push_frame(struct code_locations *locations, uint32_t *count, const struct iaprof_frame *frame)
{
	uint32_t id = frame_table_add(locations->frames, frame);
	if (id == FRAME_NONE || !array_push(&locations->frame_ids, id))
		return false;
	++*count;
	return true;
}

/* Adds a location whose frames were pushed. */
static uint32_t add_location(struct code_locations *locations, const struct resolved_location *location, bool complete)
{
	uint32_t position = complete ? keyed_array_add(&locations->items, location) : LOCATION_NONE;
	if (position == LOCATION_NONE)
		locations->frame_ids.count = location->first;
	return position;
}

static bool add_number(struct code_locations *locations, struct resolved_location *location, uint64_t number,
		       uint32_t listing)
{
	char text[24];
	snprintf(text, sizeof text, "0x%" PRIx64, number);
	location->offset = frame_table_add(
		locations->frames,
		&(struct iaprof_frame){
			.name = text, .kind = IAPROF_FRAME_DEVICE_OFFSET, .offset = number, .address = listing });
	return location->offset != FRAME_NONE;
}

/* Pushes a frame for one producer. */
static bool push_producer(struct code_locations *locations, struct resolved_location *location,
			  struct remote_code *code, uint64_t address)
{
	struct code_place found;
	if (!remote_code_find(code, address, &found))
		return true;
	const struct debug_frame *innermost = &found.functions[found.function_count - 1];
	return push_frame(
		locations, &location->producers,
		&(struct iaprof_frame){ .name = found.instruction.mnemonic ? found.instruction.mnemonic : "[unknown]",
					.file = innermost->file,
					.line = innermost->line,
					.kind = IAPROF_FRAME_DEVICE_INSTRUCTION,
					.flags = IAPROF_FRAME_PRODUCER,
					.offset = found.location.offset });
}

static bool push_note(struct code_locations *locations, struct resolved_location *location, const char *name)
{
	return push_frame(locations, &location->producers,
			  &(struct iaprof_frame){ .name = name,
						  .kind = IAPROF_FRAME_DEVICE_INSTRUCTION,
						  .flags = IAPROF_FRAME_PRODUCER | IAPROF_FRAME_UNKNOWN });
}

/* Pushes the producers of an instruction; omitted or unknown ones are represented by one frame. */
static bool push_producers(struct code_locations *locations, struct resolved_location *location,
			   struct remote_code *code, uint64_t address)
{
	struct iaprof_producer producers[PRODUCERS_MAX];
	uint32_t flags;
	size_t count = remote_code_producers(code, address, producers, PRODUCERS_MAX, &flags);
	bool complete = true;
	for (size_t i = 0; complete && i < count && i < LOCATION_PRODUCERS_MAX; i++)
		complete = push_producer(locations, location, code, producers[i].offset);
	if (complete && (count > LOCATION_PRODUCERS_MAX || (flags & IAPROF_PRODUCERS_INCOMPLETE)))
		complete = push_note(locations, location, count ? "[others]" : "[unknown]");
	return complete;
}

static bool push_callers(struct code_locations *locations, struct resolved_location *location,
			 const struct remote_code *code, const struct code_function *function)
{
	const struct code_table *table = remote_code_table(code);
	location->first_caller = (uint32_t)locations->callers.count;
	for (size_t i = 0; i < function->caller_count; i++) {
		uint32_t name = intern_own_text(locations->intern, table->functions[function->callers[i]].name);
		if (!array_push(&locations->callers, name))
			return false;
		location->caller_count++;
	}
	return true;
}

static uint32_t add_of_image(struct code_locations *locations, const struct located_code *key, struct remote_code *code)
{
	struct code_place found;
	struct code_frame frames[CODE_FRAMES_MAX];
	if (!remote_code_find(code, key->address, &found))
		return LOCATION_NONE;
	const struct code_function *function = found.location.kernel ? found.location.kernel : found.location.function;
	const struct debug_frame *innermost = &found.functions[found.function_count - 1];
	struct resolved_location location = { .key = *key,
					      .first = (uint32_t)locations->frame_ids.count,
					      .function = intern_own_text(locations->intern, function->name),
					      .is_kernel = function->is_kernel,
					      .is_undecodable = found.is_undecodable,
					      .function_offset = key->address - function->address };
	bool complete = push_callers(locations, &location, code, function);
	size_t count = code_place_frames(&found, key->address, frames);
	for (size_t i = 0; complete && i < count; i++) {
		bool is_instruction = frames[i].kind == IAPROF_FRAME_DEVICE_INSTRUCTION;
		complete = push_frame(locations, &location.count,
				      &(struct iaprof_frame){ .name = frames[i].name,
							      .file = is_instruction ? innermost->file : frames[i].file,
							      .line = is_instruction ? innermost->line : frames[i].line,
							      .kind = frames[i].kind,
							      .flags = frames[i].flags });
	}
	if (complete)
		complete = push_producers(locations, &location, code, key->address);
	uint32_t listing = complete && locations->listings
				   ? code_listings_send(locations->listings, key->code, code, key->address)
				   : 0;
	return add_location(locations, &location,
			    complete && add_number(locations, &location, found.location.offset, listing));
}

/* Adds a kernel as a whole, with the frames that samples in it have: its source file and name. */
static uint32_t add_whole_kernel(struct code_locations *locations, const struct located_code *key,
				 struct remote_code *code)
{
	struct code_place found;
	struct code_frame frames[CODE_FRAMES_MAX];
	if (!remote_code_find(code, key->address, &found))
		return LOCATION_NONE;
	const struct code_function *function = found.location.kernel ? found.location.kernel : found.location.function;
	struct resolved_location location = { .key = *key,
					      .first = (uint32_t)locations->frame_ids.count,
					      .offset = FRAME_NONE,
					      .function = intern_own_text(locations->intern, function->name),
					      .is_kernel = true };
	bool complete = true;
	size_t count = code_place_frames(&found, key->address, frames);
	for (size_t i = 0; complete && i < count && !(frames[i].flags & IAPROF_FRAME_INLINED) &&
			   frames[i].kind != IAPROF_FRAME_DEVICE_INSTRUCTION;
	     i++)
		complete = push_frame(locations, &location.count,
				      &(struct iaprof_frame){ .name = frames[i].name,
							      .file = frames[i].file,
							      .kind = frames[i].kind,
							      .flags = frames[i].flags });
	return add_location(locations, &location, complete);
}

static uint32_t add_of_kernel(struct code_locations *locations, const struct located_code *key, const char *kernel)
{
	char demangled[DEMANGLE_LENGTH_MAX + 1];
	const char *shown = demangle(kernel, demangled) ? demangled : kernel;
	struct resolved_location location = { .key = *key,
					      .first = (uint32_t)locations->frame_ids.count,
					      .function = intern_own_text(locations->intern, kernel),
					      .is_kernel = true,
					      .function_offset = key->address };
	bool complete = push_frame(locations, &location.count,
				   &(struct iaprof_frame){ .name = *kernel ? shown : "[unknown]",
							   .kind = IAPROF_FRAME_DEVICE_FUNCTION,
							   .flags = *kernel ? 0 : IAPROF_FRAME_UNKNOWN });
	return add_location(locations, &location, complete && add_number(locations, &location, key->address, 0));
}

uint32_t code_locations_find(struct code_locations *locations, const struct device_code_found *found)
{
	struct located_code key = { .address = found->address,
				    .kind = !found->code      ? LOCATION_IN_KERNEL
					    : found->is_whole ? LOCATION_WHOLE_KERNEL
							      : LOCATION_IN_IMAGE };
	key.code = found->code ? remote_code_key(found->code) : intern_own_text(locations->intern, found->kernel);
	uint32_t position = keyed_array_find(&locations->items, &key);
	if (position != LOCATION_NONE)
		return position;
	if (found->code && !found->is_whole)
		return add_of_image(locations, &key, found->code);
	position = found->code ? add_whole_kernel(locations, &key, found->code) : LOCATION_NONE;
	return position == LOCATION_NONE ? add_of_kernel(locations, &key, found->kernel) : position;
}

uint32_t code_locations_find_unknown(struct code_locations *locations, uint64_t device, uint64_t address,
				     uint32_t label)
{
	struct located_code key = { .code = device, .address = address, .kind = LOCATION_UNKNOWN, .label = label };
	uint32_t position = keyed_array_find(&locations->items, &key);
	if (position == LOCATION_NONE && locations->unknown >= UNKNOWN_MAX) {
		key.address = UINT64_MAX;
		key.code = 0;
		position = keyed_array_find(&locations->items, &key);
	}
	if (position != LOCATION_NONE)
		return position;
	struct resolved_location location = { .key = key,
					      .first = (uint32_t)locations->frame_ids.count,
					      .offset = FRAME_NONE };
	bool complete = push_frame(
		locations, &location.count,
		&(struct iaprof_frame){ .name = label ? intern_text(locations->intern, label) : "[unknown device code]",
					.kind = IAPROF_FRAME_DEVICE_FUNCTION,
					.flags = IAPROF_FRAME_UNKNOWN });
	if (complete && key.address != UINT64_MAX) {
		complete = add_number(locations, &location, address, 0);
		locations->unknown++;
	}
	return add_location(locations, &location, complete);
}
