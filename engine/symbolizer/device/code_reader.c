/* SPDX-License-Identifier: Apache-2.0 */
/* See code_reader.h. */
#include "symbolizer/device/code_reader.h"

#include <errno.h>
#include <stdlib.h>

struct code_reader {
	struct code_object *object;
	struct decoder *decoder;
	/* By position of the function in the object; opened on first use. */
	struct decoder_code **codes;
	bool *refused;
};

struct code_reader *code_reader_new(struct code_object *object, struct decoder *decoder)
{
	struct code_reader *reader = calloc(1, sizeof *reader);
	size_t count;
	code_object_functions(object, &count);
	if (!reader)
		return NULL;
	reader->object = code_object_reference(object);
	reader->decoder = decoder;
	reader->codes = decoder ? calloc(count + 1, sizeof(struct decoder_code *)) : NULL;
	reader->refused = decoder ? calloc(count + 1, sizeof *reader->refused) : NULL;
	if (!decoder || (reader->codes && reader->refused))
		return reader;
	code_reader_free(reader);
	return NULL;
}

void code_reader_free(struct code_reader *reader)
{
	if (!reader)
		return;
	size_t count;
	code_object_functions(reader->object, &count);
	for (size_t i = 0; reader->codes && i < count; i++)
		decoder_code_close(reader->codes[i]);
	free(reader->codes);
	free(reader->refused);
	code_object_release(reader->object);
	free(reader);
}

struct code_object *code_reader_object(const struct code_reader *reader)
{
	return reader->object;
}

static struct decoder_code *open_code(struct code_reader *reader, const struct code_function *function)
{
	size_t count, size;
	size_t position = (size_t)(function - code_object_functions(reader->object, &count));
	if (!reader->decoder || reader->codes[position] || reader->refused[position])
		return reader->decoder ? reader->codes[position] : NULL;
	const struct code_section *section = &code_object_sections(reader->object, &count)[function->section];
	const char *image = code_object_image(reader->object, &size);
	const struct iaprof_code description = {
		.size = sizeof description,
		.bytes = image + section->file_offset + (function->address - section->address),
		.byte_count = function->size,
		.image = image,
		.image_size = size,
		.name = function->name,
	};
	reader->codes[position] = decoder_code_open(reader->decoder, &description);
	reader->refused[position] = !reader->codes[position];
	return reader->codes[position];
}

bool code_reader_find(struct code_reader *reader, uint64_t address, struct code_place *place)
{
	place->instruction = (struct iaprof_code_instruction){ .struct_size = sizeof place->instruction };
	place->function_count =
		code_object_find(reader->object, address, &place->location, place->functions, CODE_INLINE_DEPTH_MAX);
	if (!place->function_count)
		return false;
	const struct code_function *whole = code_location_whole(&place->location, address);
	struct decoder_code *code = open_code(reader, whole);
	place->is_undecodable =
		code && decoder_code_instruction(code, address - whole->address, &place->instruction) == -EINVAL;
	return true;
}

const struct code_function *code_reader_function(struct code_reader *reader, uint64_t address, uint64_t *base)
{
	struct code_location location;
	struct debug_frame function;
	if (!code_object_find(reader->object, address, &location, &function, 1))
		return NULL;
	*base = address - location.offset;
	return code_location_whole(&location, address);
}

size_t code_reader_producers(struct code_reader *reader, uint64_t address, struct iaprof_producer *producers,
			     size_t capacity, uint32_t *flags)
{
	struct code_location location;
	struct debug_frame function;
	*flags = IAPROF_PRODUCERS_INCOMPLETE;
	if (!code_object_find(reader->object, address, &location, &function, 1))
		return 0;
	const struct code_function *whole = code_location_whole(&location, address);
	struct decoder_code *code = open_code(reader, whole);
	if (!code)
		return 0;
	size_t count = decoder_code_producers(code, address - whole->address, producers, capacity, flags);
	for (size_t i = 0; i < count && i < capacity; i++)
		producers[i].offset += whole->address;
	return count;
}
