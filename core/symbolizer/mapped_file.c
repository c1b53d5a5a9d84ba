/* SPDX-License-Identifier: Apache-2.0 */
/* The file behind a mapping: see mapped_file.h. */
#include "symbolizer/mapped_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <linux/fs.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/regular_file.h"

/* File systems stamp with a clock that ticks every 1 to 10 ms; a stamp is never later than the event. */
#define CLOCK_SLACK (10 * 1000000LL)

/* Whether a name or a device number proves that it is the file that the process has mapped. */
enum certainty { BY_NAME, BY_MAPPING };

/* Inode numbers are used again soon after a file is deleted: a file that is younger than the mapping is another one. */
static bool is_newer(const struct file_identity *identity, uint64_t latest)
{
	if (!latest)
		return false;
	int64_t real_time = (int64_t)(latest + clock_read(CLOCK_REALTIME) - clock_monotonic());
	return identity->modified > real_time + CLOCK_SLACK || identity->born > real_time + CLOCK_SLACK;
}

static bool has_other_generation(int descriptor, const struct mapping *mapping)
{
	/* The kernel writes an int, although the request's number says long (fs/ext4/ioctl.c and others). */
	long generation = 0;
	if (!mapping->inode_generation || ioctl(descriptor, FS_IOC_GETVERSION, &generation))
		return false;
	return (uint32_t)generation != (uint32_t)mapping->inode_generation;
}

static bool is_same_device(const struct file_identity *identity, const struct mapping *mapping)
{
	return identity->device == makedev(mapping->device_major, mapping->device_minor);
}

static int check_inode(const struct mapped_file *file, const struct mapped_file_request *request,
		       enum certainty certainty)
{
	const struct mapping *mapping = request->mapping;
	/* A build id is compared when the file has been read. */
	if (mapping->build_id_size || (certainty == BY_MAPPING && !mapping->inode))
		return 0;
	if (!mapping->inode)
		return -ENODATA;
	/* Through a mapping, too: the pid may be another process's by now, and the place may hold another file. */
	if (file->identity.inode != mapping->inode)
		return -ESTALE;
	if (certainty == BY_NAME &&
	    (has_other_generation(file->descriptor, mapping) || is_newer(&file->identity, request->latest)))
		return -ESTALE;
	return 0;
}

static int open_candidate(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request,
			  int root, const char *path, enum certainty certainty)
{
	const struct mapping *mapping = request->mapping;
	bool running = request->live && request->process->end == UINT64_MAX;
	struct file_request open = { .path = path,
				     .root = root,
				     .user = BROKER_OWN_RIGHTS,
				     .follow_links = certainty == BY_NAME,
				     .pid = running && !mapping->build_id_size ? request->process->pid : 0,
				     .device_major = mapping->device_major,
				     .device_minor = mapping->device_minor,
				     .user_mounts = request->process->user_mounts };
	file->descriptor = broker_open(broker, &open, request->deadline, &file->identity);
	if (file->descriptor < 0)
		return file->descriptor;
	int code = check_inode(file, request, certainty);
	if (code)
		close(STEAL_DESCRIPTOR(file->descriptor));
	return code;
}

static int open_by_name(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request,
			int root)
{
	return open_candidate(file, broker, request, root, request->mapping->path, BY_NAME);
}

/* The file that is mapped at the place; reaches files that were deleted, too. */
static int open_by_mapping(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, request->process->pid,
		 request->mapping->start, request->mapping->end);
	return open_candidate(file, broker, request, -1, path, BY_MAPPING);
}

int mapped_file_open(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request)
{
	const struct process *process = request->process;
	const struct mapping *mapping = request->mapping;
	*file = (struct mapped_file){ .descriptor = -1 };
	bool running = request->live && process->end == UINT64_MAX;
	int code = -ENOENT;
	/* A name does not say which build it has. */
	if (running && !mapping->inode && open_by_mapping(file, broker, request) == 0)
		return 0;
	/* Where the process's root cannot be reached, a path of it says nothing here. */
	if (!(mapping->flags & IAPROF_MAPPING_DELETED) && process->root != PROCESS_ROOT_UNREACHABLE) {
		code = open_by_name(file, broker, request, process->root);
		/*
		 * On overlay and btrfs, stat() gives another device than the one of the mapping. When the process can
		 * tell, it decides; else the inode alone does.
		 */
		bool certain = mapping->build_id_size || is_same_device(&file->identity, mapping);
		/* Their devices are anonymous ones. */
		if (!code && !certain && major(file->identity.device) != 0) {
			close(STEAL_DESCRIPTOR(file->descriptor));
			code = -ESTALE;
		}
		if (!code && (certain || !running))
			return 0;
	}
	if (!running || code == -EOPNOTSUPP || code == -ETIMEDOUT)
		return code;
	struct mapped_file by_name = *file;
	*file = (struct mapped_file){ .descriptor = -1 };
	int mapping_code = open_by_mapping(file, broker, request);
	if (mapping_code && process->root < 0 && code) {
		CLEANUP_CLOSE int root = process_root_open(process->pid);
		if (root >= 0)
			mapping_code = open_by_name(file, broker, request, root);
	}
	if (!mapping_code) {
		if (by_name.descriptor >= 0)
			close(by_name.descriptor);
		return 0;
	}
	/* Neither way gave more than the first; what the process itself says of its file system counts. */
	*file = by_name;
	return code && (mapping_code == -EOPNOTSUPP || mapping_code == -ETIMEDOUT) ? mapping_code : code;
}
