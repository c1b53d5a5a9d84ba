/* SPDX-License-Identifier: Apache-2.0 */
/* See opencl_queries.h. */
#include "opencl_queries.h"

#include <stdlib.h>

#include "device_binary.h"

/* Programs for more devices have no image. */
#define DEVICES_MAX 64

bool opencl_query(opencl_get_info *info, uintptr_t handle, enum opencl_query query, void *value, size_t size)
{
	return info((const struct opencl_object *)handle, query, size, value, NULL) == OPENCL_SUCCESS;
}

/* Queries an image for each device, and returns the first one that is not empty. */
static uint8_t *first_image(const struct opencl *calls, uintptr_t program, enum opencl_query sizes_query,
			    enum opencl_query images_query, size_t *size)
{
	size_t sizes[DEVICES_MAX] = { 0 };
	uint8_t *images[DEVICES_MAX] = { NULL }, *first = NULL;
	bool complete = true;

	if (!opencl_query(calls->program_info, program, sizes_query, sizes, sizeof sizes))
		return NULL;
	for (size_t i = 0; i < DEVICES_MAX && complete; i++)
		complete = sizes[i] == 0 || (images[i] = malloc(sizes[i]));
	complete = complete && opencl_query(calls->program_info, program, images_query, images, sizeof images);
	for (size_t i = 0; i < DEVICES_MAX; i++) {
		if (complete && !first && images[i]) {
			first = images[i];
			*size = sizes[i];
		} else {
			free(images[i]);
		}
	}
	return first;
}

uint8_t *opencl_image(const struct opencl *calls, uintptr_t program, size_t *size, bool *loaded)
{
	uint8_t *image = first_image(calls, program, OPENCL_PROGRAM_DEBUG_INFO_SIZES, OPENCL_PROGRAM_DEBUG_INFO, size);

	*loaded = image != NULL;
	return image ? image : first_image(calls, program, OPENCL_PROGRAM_BINARY_SIZES, OPENCL_PROGRAM_BINARIES, size);
}

char *opencl_kernel_name(const struct opencl *calls, uintptr_t kernel)
{
	size_t size = 0;

	if (calls->kernel_info((const struct opencl_object *)kernel, OPENCL_KERNEL_FUNCTION_NAME, 0, NULL, &size) !=
		    OPENCL_SUCCESS ||
	    size == 0 || size > NAME_SIZE_MAX)
		return NULL;
	char *name = calloc(1, size + 1);
	if (name && opencl_query(calls->kernel_info, kernel, OPENCL_KERNEL_FUNCTION_NAME, name, size))
		return name;
	free(name);
	return NULL;
}

uintptr_t opencl_kernel_program(const struct opencl *calls, uintptr_t kernel)
{
	uintptr_t program = 0;

	return opencl_query(calls->kernel_info, kernel, OPENCL_KERNEL_PROGRAM, &program, sizeof program) ? program : 0;
}

bool opencl_kernel_address(const struct opencl *calls, uintptr_t kernel, uint64_t *address)
{
	return opencl_query(calls->kernel_info, kernel, OPENCL_KERNEL_GPU_ADDRESS, address, sizeof *address);
}

bool opencl_is_image(const struct opencl *calls, uintptr_t memory)
{
	uint32_t type = OPENCL_MEMORY_BUFFER;

	return opencl_query(calls->memory_info, memory, OPENCL_MEMORY_TYPE, &type, sizeof type) &&
	       type != OPENCL_MEMORY_BUFFER;
}

bool opencl_is_last(opencl_get_info *info, uintptr_t handle, enum opencl_query query)
{
	uint32_t count = 0;

	return opencl_query(info, handle, query, &count, sizeof count) && count == 1;
}

bool opencl_kernel_is_last(const struct opencl *calls, uintptr_t kernel)
{
	return opencl_is_last(calls->kernel_info, kernel, OPENCL_KERNEL_REFERENCE_COUNT);
}

bool opencl_program_is_last(const struct opencl *calls, uintptr_t program)
{
	return opencl_is_last(calls->program_info, program, OPENCL_PROGRAM_REFERENCE_COUNT);
}
