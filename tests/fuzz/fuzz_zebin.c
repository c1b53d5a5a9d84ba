/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an image of device code, as the core and the decoder of the machine that has one read it: sections,
 * kernels, attributes, and what is at their addresses. And as an image of another machine, by the core alone.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/plugin.h>
#include "run/instance.h"
#include "symbolizer/device/code_object.h"
#include "symbolizer/device/code_place.h"

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

/* The decoder is linked with this program. */
const struct iaprof_plugin *iaprof_plugin_register(void);

static struct decoder load_decoder(void)
{
	static struct plugin plugin = { .path = (char *)"intel-gt" };
	static struct instance_services services;
	static struct instance_configuration wanted = { .plugin = (char *)"intel-gt" };
	struct error error = { 0 };
	if (plugin_take_description(&plugin, iaprof_plugin_register(), "intel-gt", &error))
		abort();
	struct instance *instance = instance_new(&plugin, &wanted, UINT16_MAX, &services, &error);
	if (!instance || instance_configure(instance, &error))
		abort();
	return instance_decoder(instance);
}

static void look_at(const uint8_t *bytes, size_t size, struct decoder *decoder)
{
	char *copy = malloc(size ? size : 1);
	if (!copy)
		return;
	memcpy(copy, bytes, size);
	struct code_object *object;
	if (code_object_open(&object, copy, size, 0, decoder))
		return;
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
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct decoder decoder;
	if (!decoder.plugin)
		decoder = load_decoder();
	look_at(bytes, size, &decoder);
	look_at(bytes, size, NULL);
	return 0;
}
