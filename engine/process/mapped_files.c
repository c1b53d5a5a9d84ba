/* SPDX-License-Identifier: Apache-2.0 */
/* See mapped_files.h. */
#include "process/mapped_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

/* Beyond these limits, the tables are cleared, and files are reported again. */
#define NAMES_MAX 65536u
#define FILES_MAX 65536u

/* Interval after which a path is checked again: it may refer to another file. */
#define RECHECK_INTERVAL NANOSECONDS_PER_SECOND

/* How long the mount namespace of a process is cached. */
#define NAMESPACE_FOR (NANOSECONDS_PER_SECOND / 20)

bool mapped_files_watch(struct mapped_files *files,
			void (*callback)(void *context, const struct iaprof_mapped_file *file), void *context)
{
	return array_push(&files->watches, ((struct mapped_files_watch){ callback, context }));
}

static uint64_t namespace_of(struct mapped_files *files, uint32_t pid, uint64_t time)
{
	if (pid == files->last_pid && time - files->last_pid_time < NAMESPACE_FOR)
		return files->last_namespace;
	char path[48];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%u/ns/mnt", pid);
	files->last_pid = pid;
	files->last_pid_time = time;
	files->last_namespace = stat(path, &status) ? 0 : status.st_ino;
	return files->last_namespace;
}

static uint64_t hash_name(const struct mapped_files_name *name)
{
	return hash_pair(name->hash, name->namespace_inode);
}

static uint64_t hash_file(const struct mapped_files_file *file)
{
	return hash_bytes(file, sizeof *file);
}

/* Returns whether the file of this name must be checked: it never was, or not recently. */
static bool name_is_due(struct mapped_files *files, const struct iaprof_record_mapping *mapping, const char *path)
{
	const uint64_t parts[] = { hash_bytes(path, strlen(path)), mapping->inode,
				   mapping->flags & IAPROF_MAPPING_DELETED,
				   hash_bytes(mapping->build_id, mapping->build_id_size) };
	struct mapped_files_name name = { .namespace_inode = namespace_of(files, mapping->pid, mapping->header.time),
					  .hash = hash_bytes(parts, sizeof parts),
					  .checked = mapping->header.time };
	uint64_t hash = hash_name(&name);
	hash_index_each (probe, &files->name_index, hash) {
		struct mapped_files_name *known = &files->names.items[probe.position];
		if (known->hash != name.hash || known->namespace_inode != name.namespace_inode)
			continue;
		if (name.checked < known->checked + RECHECK_INTERVAL)
			return false;
		known->checked = name.checked;
		return true;
	}
	if (files->names.count >= NAMES_MAX) {
		files->names.count = 0;
		hash_index_free(&files->name_index);
	}
	/* Out of memory: the file is checked each time. */
	(void)hash_index_push(&files->name_index, hash, &files->names, name);
	return true;
}

/* Returns whether the file was not reported yet. */
static bool file_is_new(struct mapped_files *files, const struct stat *status)
{
	struct mapped_files_file file = { .device = status->st_dev,
					  .inode = status->st_ino,
					  .changed = (uint64_t)status->st_ctim.tv_sec * NANOSECONDS_PER_SECOND +
						     (uint64_t)status->st_ctim.tv_nsec };
	uint64_t hash = hash_file(&file);
	hash_index_each (probe, &files->file_index, hash) {
		const struct mapped_files_file *known = &files->files.items[probe.position];
		if (known->device == file.device && known->inode == file.inode && known->changed == file.changed)
			return false;
	}
	if (files->files.count >= FILES_MAX) {
		files->files.count = 0;
		hash_index_free(&files->file_index);
	}
	(void)hash_index_push(&files->file_index, hash, &files->files, file);
	return true;
}

/*
 * Opens the file through its mapping or, if the mapping has changed since, by its path, where there is none or another
 * one when the file was deleted or is in memory.
 */
static int open_file(const struct mapped_files *files, const struct iaprof_record_mapping *mapping, const char *path,
		     struct stat *status)
{
	const struct target_file_name name = { .pid = mapping->pid,
					       .start = mapping->start,
					       .length = mapping->size,
					       .path = mapping->flags & IAPROF_MAPPING_DELETED ? NULL : path };
	int descriptor = broker_open_file(files->broker, &name, status);
	if (descriptor == -EOPNOTSUPP || descriptor == -ETIMEDOUT || descriptor == -EDQUOT)
		log_message(IAPROF_LOG_INFO, "cannot search %s of process %" PRIu32 ": %s", path, mapping->pid,
			    broker_reason(descriptor));
	return descriptor;
}

void mapped_files_take(struct mapped_files *files, const struct iaprof_record_mapping *mapping, const char *path)
{
	/* Skips mappings without a file ("[vdso]", "//anon"). */
	if (!files->watches.count || path[0] != '/' || path[1] == '/' || !name_is_due(files, mapping, path))
		return;
	struct stat status;
	CLEANUP_CLOSE int descriptor = open_file(files, mapping, path, &status);
	/* If the process has ended, the file is reported when another process maps it. */
	if (descriptor < 0)
		return;
	if (files->kept)
		kept_files_add(files->kept, &(struct kept_file_key){ path, mapping->inode }, descriptor);
	if (!file_is_new(files, &status))
		return;
	struct iaprof_mapped_file file = { .size = sizeof file,
					   .pid = mapping->pid,
					   .path = path,
					   .start = mapping->start,
					   .length = mapping->size,
					   .file_offset = mapping->file_offset,
					   .inode = status.st_ino,
					   .device_major = major(status.st_dev),
					   .device_minor = minor(status.st_dev) };
	for (size_t i = 0; i < files->watches.count; i++)
		files->watches.items[i].callback(files->watches.items[i].context, &file);
}

void mapped_files_free(struct mapped_files *files)
{
	array_free(&files->watches);
	array_free(&files->names);
	array_free(&files->files);
	hash_index_free(&files->name_index);
	hash_index_free(&files->file_index);
}
