/* SPDX-License-Identifier: Apache-2.0 */
/* The file behind a mapping: see mapped_file.h. */
#include "symbolizer/mapped_file.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <linux/fs.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/regular_file.h"

/* File systems stamp with a clock that ticks every 1 to 10 ms; a stamp is never later than the event. */
#define CLOCK_SLACK (10 * 1000000LL)

/* Whether a name or a device number proves that it is the file that the process has mapped. */
enum certainty { BY_NAME, BY_MAPPING };

static int64_t nanoseconds(const struct statx_timestamp *time)
{
	return time->tv_sec * (int64_t)NANOSECONDS_PER_SECOND + time->tv_nsec;
}

static int read_identity(int descriptor, struct file_identity *identity)
{
	struct statx status;
	if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status))
		return -errno;
	memset(identity, 0, sizeof *identity);
	identity->device = makedev(status.stx_dev_major, status.stx_dev_minor);
	identity->inode = status.stx_ino;
	identity->size = status.stx_size;
	identity->modified = nanoseconds(&status.stx_mtime);
	if (status.stx_mask & STATX_BTIME)
		identity->born = nanoseconds(&status.stx_btime);
	return 0;
}

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

/* For a mapping without a build id. */
static int check_inode(int descriptor, const struct file_identity *identity, const struct mapping *mapping,
		       uint64_t latest, enum certainty certainty)
{
	if (certainty == BY_MAPPING)
		return 0;
	if (!mapping->inode)
		return -ENODATA;
	if (identity->inode != mapping->inode || has_other_generation(descriptor, mapping) ||
	    is_newer(identity, latest))
		return -ESTALE;
	return 0;
}

static int check_build_id(const struct elf_file *elf, const struct mapping *mapping)
{
	const uint8_t *build_id;
	size_t size = elf_file_build_id(elf, &build_id);
	/* The kernel's room is 20 bytes; a longer build id arrives cut. */
	if (size > mapping->build_id_size && mapping->build_id_size == IAPROF_BUILD_ID_SIZE_MAX)
		size = mapping->build_id_size;
	return size == mapping->build_id_size && memcmp(build_id, mapping->build_id, size) == 0 ? 0 : -ESTALE;
}

/* Checks a candidate, whose descriptor it takes over. */
static int open_candidate(struct mapped_file *file, int descriptor, const struct mapping *mapping, uint64_t latest,
			  enum certainty certainty)
{
	if (descriptor < 0)
		return descriptor;
	int code = read_identity(descriptor, &file->identity);
	if (!code && !mapping->build_id_size)
		code = check_inode(descriptor, &file->identity, mapping, latest, certainty);
	if (code) {
		close(descriptor);
		return code;
	}
	code = elf_file_open(&file->elf, descriptor);
	if (mapping->build_id_size && (!code || code == -ENOEXEC))
		code = code ? -ESTALE : check_build_id(&file->elf, mapping);
	if (code)
		elf_file_close(&file->elf);
	return code;
}

static int open_by_name(struct mapped_file *file, int root, const struct mapping *mapping, uint64_t latest)
{
	return open_candidate(file, regular_file_open(root, mapping->path, 0), mapping, latest, BY_NAME);
}

/* By what the kernel says is mapped at the place; reaches files that were deleted, too. */
static int open_by_mapping(struct mapped_file *file, const struct process *process, const struct mapping *mapping)
{
	char name[64];
	snprintf(name, sizeof name, "map_files/%" PRIx64 "-%" PRIx64, mapping->start, mapping->end);
	struct file_identity identity;
	int descriptor = regular_file_open_proc(process->pid, name);
	if (descriptor >= 0 && !mapping->build_id_size && mapping->inode) {
		/* The pid may be another process's by now, and the place may hold another file. */
		int code = read_identity(descriptor, &identity);
		if (!code && identity.inode != mapping->inode)
			code = -ESTALE;
		if (code) {
			close(descriptor);
			return code;
		}
	}
	return open_candidate(file, descriptor, mapping, 0, BY_MAPPING);
}

int mapped_file_open(struct mapped_file *file, const struct process *process, const struct mapping *mapping,
		     uint64_t latest, bool live)
{
	*file = (struct mapped_file){ .elf = ELF_FILE_NONE };
	bool running = live && process->end == UINT64_MAX;
	int code = -ENOENT;
	/* Where the process's root cannot be reached, a path of it says nothing here. */
	if (!(mapping->flags & IAPROF_MAPPING_DELETED) && process->root != PROCESS_ROOT_UNREACHABLE) {
		code = open_by_name(file, process->root, mapping, latest);
		/*
		 * On overlay and btrfs, stat() gives another device than the one of the mapping. When the process can
		 * tell, it decides; else the inode alone does.
		 */
		bool certain = mapping->build_id_size || is_same_device(&file->identity, mapping);
		if (!code && (certain || !running))
			return 0;
	}
	if (code == -ENOEXEC || !running)
		return code;
	struct mapped_file by_name = *file;
	*file = (struct mapped_file){ .elf = ELF_FILE_NONE };
	int mapping_code = open_by_mapping(file, process, mapping);
	if (mapping_code && process->root < 0 && code) {
		CLEANUP_CLOSE int root = process_root_open(process->pid);
		if (root >= 0)
			mapping_code = open_by_name(file, root, mapping, latest);
	}
	if (!mapping_code) {
		elf_file_close(&by_name.elf);
		return 0;
	}
	/* Neither way gave more than the first. */
	*file = by_name;
	return code;
}
