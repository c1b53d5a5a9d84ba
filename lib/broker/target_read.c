/* SPDX-License-Identifier: Apache-2.0 */
/* See target_read.h. */
#include "broker/target_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/file_open.h"
#include "process/process_rank.h"

static void file_close(struct target_file *file)
{
	if (file->descriptor >= 0)
		close(STEAL_DESCRIPTOR(file->descriptor));
}

static int file_begin(struct target_file *file, const struct broker_read *request)
{
	static const char *const names[] = {
		[BROKER_MAPS] = "maps", [BROKER_ENVIRONMENT] = "environ", [BROKER_COMMAND_LINE] = "cmdline"
	};
	char path[64];
	file_close(file);
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", request->pid, names[request->source]);
	file->descriptor = open(path, O_RDONLY | O_CLOEXEC);
	file->source = request->source;
	file->pid = request->pid;
	return file->descriptor < 0 ? -errno : 0;
}

/* Fills the bytes: a read() of maps returns a page at most, and that of a long BPF iterator nothing at times. */
static ssize_t fill(int descriptor, char *bytes, size_t size)
{
	size_t filled = 0;
	while (filled < size) {
		ssize_t count = read(descriptor, bytes + filled, size - filled);
		if (count < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (count < 0 && !filled)
			return -errno;
		if (count <= 0)
			break;
		filled += (size_t)count;
	}
	return (ssize_t)filled;
}

static ssize_t file_read(struct target_file *file, const struct broker_read *request, void *bytes)
{
	int code = 0;
	if (!request->is_next)
		code = file_begin(file, request);
	/* The one that was begun was read by a broker that has ended since. */
	else if (file->descriptor < 0 || file->source != request->source || file->pid != request->pid)
		code = -ESTALE;
	ssize_t count = code ? code : fill(file->descriptor, bytes, request->size);
	if (count < (ssize_t)request->size)
		file_close(file);
	return count;
}

static ssize_t memory_read(const struct broker_read *request, void *bytes)
{
	struct iovec here = { bytes, request->size }, there = { (void *)(uintptr_t)request->address, request->size };
	ssize_t count = process_vm_readv((pid_t)request->pid, &here, 1, &there, 1, 0);
	return count < 0 ? -errno : count;
}

static ssize_t ranks_read(const uint32_t *pids, size_t count, struct process_rank *ranks)
{
	for (size_t i = 0; i < count; i++) {
		ranks[i] = (struct process_rank){ 0 };
		ranks[i].state = process_rank_read((pid_t)pids[i], &ranks[i].rank);
	}
	return (ssize_t)(count * sizeof *ranks);
}

static ssize_t identities_read(uint32_t pid, const struct broker_range *ranges, size_t count,
			       struct file_identity *identities)
{
	for (size_t i = 0; i < count; i++)
		file_identify_mapped(pid, &ranges[i], &identities[i]);
	return (ssize_t)(count * sizeof *identities);
}

ssize_t target_read(struct target_file *file, const struct broker_read *request, const void *list, size_t list_size,
		    int descriptor, void *bytes)
{
	if (request->size > BROKER_BYTES_MAX)
		return -EINVAL;
	switch (request->source) {
	case BROKER_MAPS:
	case BROKER_ENVIRONMENT:
	case BROKER_COMMAND_LINE:
		return file_read(file, request, bytes);
	case BROKER_MEMORY:
		return memory_read(request, bytes);
	case BROKER_DESCRIPTOR:
		return descriptor < 0 ? -EBADF : fill(descriptor, bytes, request->size);
	case BROKER_RANKS:
		return request->size / sizeof(struct process_rank) < list_size / sizeof(uint32_t)
			       ? -EINVAL
			       : ranks_read(list, list_size / sizeof(uint32_t), bytes);
	case BROKER_IDENTITIES:
		return request->size / sizeof(struct file_identity) < list_size / sizeof(struct broker_range)
			       ? -EINVAL
			       : identities_read(request->pid, list, list_size / sizeof(struct broker_range), bytes);
	default:
		return -EINVAL;
	}
}
