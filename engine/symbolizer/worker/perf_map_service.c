/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one perf map or jitdump, up to its current end, and finds functions in it: see serve.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbolizer/jit_dump.h"
#include "symbolizer/perf_map.h"
#include "symbolizer/worker/serve.h"
#include "symbolizer/worker/worker_message.h"

#define CHUNK_SIZE ((size_t)1 << 20)

struct perf_map_service {
	struct perf_map map;
	bool is_dump;
	off_t taken; /* bytes of the file that were already added to map, or are not needed */
};

/* Adds what was appended to the file. */
static int read_more(struct perf_map_service *service, int descriptor)
{
	CLEANUP_FREE char *chunk = malloc(CHUNK_SIZE);
	if (!chunk)
		return -ENOMEM;
	for (;;) {
		ssize_t length = pread(descriptor, chunk, CHUNK_SIZE, service->taken);
		if (length < 0)
			return -errno;
		if ((size_t)service->taken + (size_t)length > PERF_MAP_SIZE_MAX)
			return -EFBIG;
		if (!service->taken)
			service->is_dump = jit_dump_begins(chunk, (size_t)length);
		long taken = service->is_dump ? jit_dump_add(&service->map, chunk, (size_t)length, !service->taken)
					      : perf_map_add(&service->map, chunk, (size_t)length);
		if (taken < 0)
			return (int)taken;
		service->taken += taken;
		if (taken)
			continue;
		/* The last line or record is incomplete; one that fills the buffer is none. */
		return (size_t)length < CHUNK_SIZE ? perf_map_index(&service->map) : -EINVAL;
	}
}

int perf_map_service_add(struct perf_map_service **service, int socket, int descriptor)
{
	if (descriptor < 0)
		return -EPROTO;
	if (!*service)
		*service = calloc(1, sizeof **service);
	struct worker_perf_map answer = { .code = *service ? read_more(*service, descriptor) : -ENOMEM };
	answer.memory = serve_memory();
	close(descriptor);
	return channel_send_bytes(socket, WORKER_PERF_MAP, &answer, sizeof answer, -1, NULL);
}

int perf_map_service_find(struct perf_map_service *service, int socket)
{
	struct worker_find_function request;
	struct worker_function answer = { 0 };
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (code || !service)
		return code ? code : -EPROTO;
	const char *name = perf_map_find(&service->map, request.address, &answer.start);
	answer.size = name ? (uint32_t)strnlen(name, IAPROF_STRING_LENGTH_MAX) : 0;
	struct iovec parts[] = { { .iov_base = &answer, .iov_len = sizeof answer },
				 { .iov_base = (void *)name, .iov_len = answer.size } };
	return channel_send(socket, WORKER_FUNCTION, parts, 2, -1, NULL);
}
