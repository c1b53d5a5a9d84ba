/* SPDX-License-Identifier: Apache-2.0 */
/* See mapped_file.h. */
#include "symbolizer/mapped_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <linux/fs.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/regular_file.h"

/* Timestamps of file systems have a resolution of 1 to 10 ms, and are never later than the event. */
#define CLOCK_SLACK (10 * 1000000LL)

/* How the file was found: by its name, or through the mapping of the process. */
enum certainty { BY_NAME, BY_MAPPING };

/* Inode numbers are reused soon after a file is deleted: a file younger than the mapping is another one. */
bool mapped_file_is_newer(const struct file_identity *identity, uint64_t latest)
{
	if (!latest)
		return false;
	int64_t real_time = (int64_t)(latest + clock_read(CLOCK_REALTIME) - clock_monotonic());
	return identity->modified > real_time + CLOCK_SLACK || identity->born > real_time + CLOCK_SLACK;
}

bool mapped_file_is_unchanged(const struct file_identity *identity, int descriptor)
{
	struct stat status;
	return descriptor >= 0 && !fstat(descriptor, &status) && (uint64_t)status.st_size == identity->size &&
	       timespec_nanoseconds(&status.st_mtim) == identity->modified &&
	       timespec_nanoseconds(&status.st_ctim) == identity->changed;
}

static bool has_other_generation(int descriptor, const struct mapping *mapping)
{
	/* Linux writes an int, although the request's number encodes a long (fs/ext4/ioctl.c and others). */
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
	/* A build id is compared after the file has been read. */
	if (mapping->build_id_size || (certainty == BY_MAPPING && !mapping->inode))
		return 0;
	if (!mapping->inode)
		return -ENODATA;
	/* This is also checked for mappings: the pid may have been reused, with another file at this address. */
	if (file->identity.inode != mapping->inode)
		return -ESTALE;
	if (certainty == BY_NAME &&
	    (has_other_generation(file->descriptor, mapping) || mapped_file_is_newer(&file->identity, request->latest)))
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
				     .has_device = running && !mapping->build_id_size,
				     .pid = running ? request->process->pid : 0,
				     .device_major = mapping->device_major,
				     .device_minor = mapping->device_minor,
				     .user_mounts = request->process->user_mounts };
	file->descriptor = broker_open(broker, &open, request->deadline, &file->identity);
	if (file->descriptor < 0)
		return file->descriptor;
	file->root = certainty == BY_NAME ? root : request->process->root;
	int code = check_inode(file, request, certainty);
	if (code)
		close(STEAL_DESCRIPTOR(file->descriptor));
	return code;
}

static int open_by_name(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request,
			int root)
{
	int code = open_candidate(file, broker, request, root, request->mapping->path, BY_NAME);
	/* The root of a sandbox can be a folder of its process in /proc, as that of iaprof-worker is: it has ended. */
	return code == -ESRCH ? -ENOENT : code;
}

/* Opens the file through the mapping, which also reaches deleted files. */
static int open_by_mapping(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, request->process->pid,
		 request->mapping->start, request->mapping->end);
	return open_candidate(file, broker, request, -1, path, BY_MAPPING);
}

/* Returns whether a file was found, but its file system may not be used. */
static bool is_refused(int code)
{
	return code == -EOPNOTSUPP || code == -ETIMEDOUT;
}

int mapped_file_open(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request)
{
	const struct process *process = request->process;
	const struct mapping *mapping = request->mapping;
	*file = (struct mapped_file){ .descriptor = -1 };
	bool running = request->live && process->end == UINT64_MAX;
	int code = -ENOENT;
	/* A name does not identify the build. */
	if (running && !mapping->inode && open_by_mapping(file, broker, request) == 0)
		return 0;
	/* If the root of the process is unreachable, its paths are meaningless here. */
	if (!(mapping->flags & IAPROF_MAPPING_DELETED) && process->root != PROCESS_ROOT_UNREACHABLE) {
		code = open_by_name(file, broker, request, process->root);
		/* A sandbox changes its root after its files were mapped. */
		if (code == -ENOENT && process->is_chrooted)
			code = open_by_name(file, broker, request, PROCESS_ROOT_OWN);
		/*
		 * On overlay and btrfs, stat() returns another device than the mapping has. If the process still runs,
		 * its mapping decides; otherwise the inode number alone.
		 */
		bool certain = mapping->build_id_size || is_same_device(&file->identity, mapping);
		/* Those file systems have anonymous devices (major 0). */
		if (!code && !certain && major(file->identity.device) != 0) {
			close(STEAL_DESCRIPTOR(file->descriptor));
			code = -ESTALE;
		}
		if (!code && (certain || !running))
			return 0;
	}
	if (!running || is_refused(code))
		return code;
	struct mapped_file by_name = *file;
	*file = (struct mapped_file){ .descriptor = -1 };
	int mapping_code = open_by_mapping(file, broker, request);
	if (mapping_code && !is_refused(mapping_code) && process->root < 0 && code) {
		CLEANUP_CLOSE int root = process_root_open(process->pid);
		if (root >= 0)
			mapping_code = open_by_name(file, broker, request, root);
		file->root = process->root;
	}
	if (!mapping_code) {
		if (by_name.descriptor >= 0)
			close(by_name.descriptor);
		return 0;
	}
	/* Neither attempt was better than the first; errors from the file system of the process take precedence. */
	*file = by_name;
	return code && is_refused(mapping_code) ? mapping_code : code;
}
