/* SPDX-License-Identifier: Apache-2.0 */
/* See serve.h. */
#include "symbolizer/worker/serve.h"

#include <errno.h>
#include <malloc.h>

#include "symbolizer/worker/worker_message.h"

uint64_t serve_memory(void)
{
	struct mallinfo2 memory = mallinfo2();
	return memory.uordblks + memory.hblkhd;
}

struct services {
	struct image_service image;
	struct perf_map_service *perf_map;
	struct compare_service compare;
};

static int answer(void *context, int socket, const struct channel_header *header, int descriptor)
{
	struct services *services = context;
	if (header->type == WORKER_LOAD_IMAGE && header->size == sizeof(struct worker_load_image))
		return image_service_load(&services->image, socket, descriptor);
	if (header->type == WORKER_UNIT && header->size == sizeof(struct worker_unit))
		return image_service_unit(&services->image, socket);
	if (header->type == WORKER_ADD_PERF_MAP && header->size == 0)
		return perf_map_service_add(&services->perf_map, socket, descriptor);
	if (header->type == WORKER_FIND_FUNCTION && header->size == sizeof(struct worker_find_function))
		return perf_map_service_find(services->perf_map, socket);
	if (header->type == WORKER_LOAD_UNWIND && header->size == 0)
		return unwind_service_load(socket, descriptor);
	if (header->type == WORKER_COMPARE_FILE && header->size == 0)
		return compare_service_take_file(&services->compare, descriptor);
	if (header->type == WORKER_COMPARE && header->size == sizeof(struct worker_compare))
		return compare_service_answer(&services->compare, socket, descriptor);
	return -EPROTO;
}

int serve(void *context, int socket)
{
	struct services services = { .compare.elf = ELF_FILE_NONE };
	return channel_serve(socket, answer, &services);
}
