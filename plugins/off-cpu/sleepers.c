/* SPDX-License-Identifier: Apache-2.0 */
/* See sleepers.h. */
#include "sleepers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "base/cleanup.h"
#include "bpf/unwind_copy.h"

#define BYTES_MAX (UINT64_C(32) << 20)
#define COUNT_MAX 16384u
#define READ_TIME UINT64_C(500000000)
/* Several objects of the iterator, each at most 32 KiB. */
#define ROOM (UINT64_C(128) << 10)

static void drop_copy(struct sleepers *sleepers, struct sleeper *sleeper)
{
	if (!sleeper->copy)
		return;
	unwind_copy_drop(sleeper->copy);
	sleepers->bytes -= sizeof *sleeper->copy;
	sleeper->copy = NULL;
}

void sleepers_free(struct sleepers *sleepers)
{
	for (size_t i = 0; i < sleepers->threads.count; i++) {
		drop_copy(sleepers, &sleepers->threads.items[i]);
		free(sleepers->threads.items[i].user);
	}
	keyed_array_free(&sleepers->threads);
	broker_free(sleepers->broker);
}

/* Keeps the copy of a user stack, of which size bytes were sent. */
static bool keep_copy(struct sleepers *sleepers, struct sleeper *sleeper, const void *copy, size_t size)
{
	if (sleepers->bytes + sizeof *sleeper->copy > BYTES_MAX)
		return false;
	sleeper->copy = unwind_copy_keep(copy, size);
	sleepers->bytes += sleeper->copy ? sizeof *sleeper->copy : 0;
	return sleeper->copy;
}

static void add_sleeper(struct sleepers *sleepers, const unsigned char *object, size_t size)
{
	struct sleeper sleeper = { .end = UNWIND_UNKNOWN };
	memcpy(&sleeper.thread, object, sizeof sleeper.thread);
	sleeper.key = sleeper.thread.key.thread;
	const struct unwind_copy *copy = (const void *)(object + sizeof sleeper.thread);
	if (sleepers->threads.count >= COUNT_MAX ||
	    (copy->size && !keep_copy(sleepers, &sleeper, copy, size - sizeof sleeper.thread))) {
		sleepers->refused++;
		return;
	}
	uint32_t before = (uint32_t)sleepers->threads.count;
	if (keyed_array_add(&sleepers->threads, &sleeper) != before)
		drop_copy(sleepers, &sleeper);
}

/* Takes the whole objects in bytes. Returns their size. */
static size_t add_sleepers(struct sleepers *sleepers, const unsigned char *bytes, size_t size)
{
	const size_t least = sizeof(struct off_cpu_sleeper) + offsetof(struct unwind_copy, bytes);
	size_t done = 0;
	while (size - done >= sizeof(uint64_t)) {
		uint64_t length;
		memcpy(&length, bytes + done, sizeof length);
		if (length < least || length > ROOM)
			return size; /* never sent */
		if (length > size - done)
			break;
		add_sleeper(sleepers, bytes + done, length);
		done += length;
	}
	return done;
}

/* Takes what the iterator sends. Its read() copies memory of threads, and waits for pages of it. */
static int iterator_read(struct sleepers *sleepers, int descriptor, unsigned char *bytes)
{
	const struct iaprof_host *host = sleepers->host;
	uint64_t begin = host->clock(host);
	ssize_t count = 1;
	for (size_t size = 0; count > 0;) {
		count = broker_read_descriptor(sleepers->broker, (uint32_t)getpid(), descriptor, bytes + size,
					       ROOM - size);
		size += count > 0 ? (size_t)count : 0;
		size_t done = add_sleepers(sleepers, bytes, size);
		memmove(bytes, bytes + done, size - done);
		size -= done;
		if (count > 0 && host->clock(host) - begin > READ_TIME) {
			sleepers->refused++;
			break;
		}
	}
	return count < 0 ? (int)count : 0;
}

int sleepers_read(struct sleepers *sleepers, const struct bpf_program *iterator)
{
	struct bpf_link *link = bpf_program__attach_iter(iterator, NULL);
	if (!link)
		return -errno;
	CLEANUP_CLOSE int descriptor = bpf_iter_create(bpf_link__fd(link));
	int result = descriptor < 0 ? -errno : 0;
	CLEANUP_FREE unsigned char *bytes = malloc(ROOM);
	if (!sleepers->broker)
		sleepers->broker = broker_new();
	if (!bytes || !sleepers->broker)
		result = -ENOMEM;
	if (!result)
		result = iterator_read(sleepers, descriptor, bytes);
	bpf_link__destroy(link);
	return result;
}

void sleepers_ask(const struct sleepers *sleepers, const struct unwinder *unwinder)
{
	for (size_t i = 0; unwinder->host && i < sleepers->threads.count; i++) {
		const struct unwind_copy *copy = sleepers->threads.items[i].copy;
		uint32_t count;
		if (copy && !unwinder_mappings(unwinder, copy->process, copy->execution, &count))
			unwinder->core->unwind_process(unwinder->host, copy->process, copy->execution);
	}
}

void sleepers_unwind(struct sleepers *sleepers, const struct unwinder *unwinder, uint32_t process, bool last)
{
	for (size_t i = 0; i < sleepers->threads.count; i++) {
		struct sleeper *sleeper = &sleepers->threads.items[i];
		uint64_t addresses[IAPROF_STACK_DEPTH_MAX];
		uint32_t depth;
		if (!sleeper->copy || (process && sleeper->copy->process != process))
			continue;
		uint32_t end = unwind_copy_walk(unwinder, sleeper->copy, addresses, IAPROF_STACK_DEPTH_MAX, &depth);
		if (end == UNWIND_UNKNOWN && !last)
			continue;
		sleeper->end = end;
		sleeper->user = depth ? malloc(depth * sizeof *addresses) : NULL;
		if (sleeper->user) {
			memcpy(sleeper->user, addresses, depth * sizeof *addresses);
			sleeper->user_depth = depth;
		}
		drop_copy(sleepers, sleeper);
	}
}

const struct sleeper *sleepers_find(const struct sleepers *sleepers, uint32_t thread)
{
	return keyed_array_get(&sleepers->threads, &thread);
}
