/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a child of the worker sends: the messages about an image, and about its units. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "symbolizer/remote_image.h"

/* What fits into a socket without a reader. */
#define STREAM_SIZE_MAX 100000

static int find_nothing(void *context, enum debug_file_kind kind, const void *key, size_t key_size, uint32_t place)
{
	(void)context, (void)kind, (void)place;
	return key_size && memchr(key, 'x', key_size) ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
}

static void look_up(struct remote_image *image, const struct remote_image_context *context, uint64_t address)
{
	struct debug_frame frames[64];
	uint64_t start;
	const char *name = symbol_table_find(&image->symbols, address, &start);
	if (name && (start > address || strlen(name) > STREAM_SIZE_MAX))
		abort();
	size_t count = remote_image_lines(image, context, address, frames, 64);
	for (size_t i = 0; i < count; i++)
		if ((frames[i].name && strlen(frames[i].name) > STREAM_SIZE_MAX) ||
		    (frames[i].file && strlen(frames[i].file) > STREAM_SIZE_MAX))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int sockets[2];
	if (size > STREAM_SIZE_MAX || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return 0;
	/* Not one of the sockets: sent to itself it would stay open until the Linux kernel looks for cycles. */
	int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct worker_pool *pool = worker_pool_new_without_worker();
	struct budget budget;
	/* Of somebody else: tables that are claimed are bounded before there is memory for them. */
	struct file_identity file = { .owner = geteuid() + 1, .mode = 0644 };
	struct worker_child child = { .process = { .pid = 1 }, .socket = sockets[0] };
	struct remote_image_context context = { .pool = pool, .budget = &budget };
	struct debug_file_finder finder = { .open = find_nothing };
	struct remote_image *image = NULL;
	if (!pool)
		abort();
	budget_init(&budget);
	if (size && write(sockets[1], bytes, size) != (ssize_t)size)
		abort();
	shutdown(sockets[1], SHUT_WR);
	worker_child_hand_on(pool, &child, BUDGET_DATA_OTHER);
	struct remote_image_request request = {
		.descriptor = descriptor, .file = &file, .path = "fuzz", .lines = true, .finder = &finder
	};
	if (!remote_image_load(&image, &context, &request)) {
		for (size_t i = 0; i < image->unit_ranges.count && i < 64; i++)
			look_up(image, &context, image->unit_ranges.items[i].start);
		for (size_t i = 0; i < image->symbols.ranges.count && i < 64; i++)
			look_up(image, &context, image->symbols.ranges.items[i].start);
		remote_image_free(image, &context);
	}
	budget_free(&budget);
	worker_pool_free(pool);
	close(sockets[1]);
	close(descriptor);
	return 0;
}
