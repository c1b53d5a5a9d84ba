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

int serve(void *context, int socket)
{
	struct image_service image = { 0 };
	struct perf_map_service *perf_map = NULL;
	struct channel_header header;
	for (int code = 0, descriptor;;) {
		code = channel_receive(socket, &header, &descriptor, NULL);
		if (code)
			return code == -EPIPE ? 0 : code;
		if (header.type == WORKER_LOAD_IMAGE && header.size == sizeof(struct worker_load_image))
			code = image_service_load(&image, socket, descriptor);
		else if (header.type == WORKER_UNIT && header.size == sizeof(struct worker_unit))
			code = image_service_unit(&image, socket);
		else if (header.type == WORKER_ADD_PERF_MAP && header.size == 0)
			code = perf_map_service_add(&perf_map, socket, descriptor);
		else if (header.type == WORKER_FIND_FUNCTION && header.size == sizeof(struct worker_find_function))
			code = perf_map_service_find(perf_map, socket);
		else if (header.type == WORKER_LOAD_UNWIND && header.size == 0)
			code = unwind_service_load(socket, descriptor);
		else
			code = -EPROTO;
		if (code)
			return code;
	}
}
