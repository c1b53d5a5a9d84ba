/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an image of device code: sections, kernels, attributes, and what is at their addresses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/device/code_object.h"
#include "symbolizer/device/code_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void look_up(struct code_object *object, uint64_t address)
{
	struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
	struct code_location location;
	size_t count = code_object_find(object, address, &location, frames, CODE_INLINE_DEPTH_MAX);
	for (size_t i = 0; i < count; i++)
		if ((frames[i].name && strlen(frames[i].name) > SIZE_MAX / 2) ||
		    (frames[i].file && strlen(frames[i].file) > SIZE_MAX / 2))
			abort();
	if (count &&
	    (address < location.function->address || address - location.function->address >= location.function->size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, bytes, size);
	struct code_object *object;
	if (code_object_open(&object, copy, size, 0))
		return 0;
	size_t count;
	const struct code_function *functions = code_object_functions(object, &count);
	for (size_t i = 0; i < count && i < 256; i++) {
		int64_t value;
		code_function_attribute(&functions[i], "simd_size", &value);
		look_up(object, functions[i].address - 1);
		for (uint64_t part = 0; part <= 16; part++)
			look_up(object, functions[i].address + functions[i].size / 16 * part);
	}
	code_object_damage(object);
	code_object_release(object);
	return 0;
}
