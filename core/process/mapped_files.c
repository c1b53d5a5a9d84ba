/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are mapped as code: see mapped_files.h. */
#include "process/mapped_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolizer/regular_file.h"

/* Beyond these the tables begin anew, and files are told again. */
#define NAMES_MAX 65536u
#define FILES_MAX 65536u

/* A path may have got another file since: it is looked at again after this long. */
#define LOOK_AGAIN_AFTER NANOSECONDS_PER_SECOND

/* A process's mount namespace is taken to be the same for this long. */
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

static uint64_t rehash_name(const void *context, uint32_t position)
{
	const struct mapped_files *files = context;
	return hash_name(&files->names.items[position]);
}

static uint64_t hash_file(const struct mapped_files_file *file)
{
	return hash_bytes(file, sizeof *file);
}

static uint64_t rehash_file(const void *context, uint32_t position)
{
	const struct mapped_files *files = context;
	return hash_file(&files->files.items[position]);
}

/* Whether the file of this name is to be looked at: it never was, or not lately. */
static bool name_is_due(struct mapped_files *files, const struct iaprof_record_mapping *mapping, const char *path)
{
	const uint64_t parts[] = { hash_bytes(path, strlen(path)), mapping->inode,
				   hash_bytes(mapping->build_id, mapping->build_id_size) };
	struct mapped_files_name name = { .namespace_inode = namespace_of(files, mapping->pid, mapping->header.time),
					  .hash = hash_bytes(parts, sizeof parts),
					  .looked = mapping->header.time };
	uint64_t hash = hash_name(&name);
	for (struct hash_probe probe = hash_index_probe(&files->name_index, hash);
	     hash_index_next(&files->name_index, &probe);) {
		struct mapped_files_name *known = &files->names.items[probe.position];
		if (known->hash != name.hash || known->namespace_inode != name.namespace_inode)
			continue;
		if (name.looked < known->looked + LOOK_AGAIN_AFTER)
			return false;
		known->looked = name.looked;
		return true;
	}
	if (files->names.count >= NAMES_MAX) {
		files->names.count = 0;
		hash_index_free(&files->name_index);
	}
	/* Without memory for it the file is looked at each time. */
	if (array_push(&files->names, name) &&
	    !hash_index_add(&files->name_index, hash, (uint32_t)files->names.count - 1, rehash_name, files))
		files->names.count--;
	return true;
}

/* Whether it is one that was not told yet. */
static bool file_is_new(struct mapped_files *files, const struct stat *status)
{
	struct mapped_files_file file = { .device = status->st_dev,
					  .inode = status->st_ino,
					  .changed = (uint64_t)status->st_ctim.tv_sec * NANOSECONDS_PER_SECOND +
						     (uint64_t)status->st_ctim.tv_nsec };
	uint64_t hash = hash_file(&file);
	for (struct hash_probe probe = hash_index_probe(&files->file_index, hash);
	     hash_index_next(&files->file_index, &probe);) {
		const struct mapped_files_file *known = &files->files.items[probe.position];
		if (known->device == file.device && known->inode == file.inode && known->changed == file.changed)
			return false;
	}
	if (files->files.count >= FILES_MAX) {
		files->files.count = 0;
		hash_index_free(&files->file_index);
	}
	if (array_push(&files->files, file) &&
	    !hash_index_add(&files->file_index, hash, (uint32_t)files->files.count - 1, rehash_file, files))
		files->files.count--;
	return true;
}

/* The file itself: through the mapping, or, where that has changed since, by its path. */
static int open_file(const struct iaprof_record_mapping *mapping, const char *path)
{
	char name[64];
	snprintf(name, sizeof name, "map_files/%lx-%lx", mapping->start, mapping->start + mapping->size);
	int descriptor = regular_file_open_proc(mapping->pid, name);
	if (descriptor >= 0)
		return descriptor;
	int root = process_root_open(mapping->pid);
	if (root < 0)
		return root;
	descriptor = regular_file_open(root, path, 0);
	close(root);
	return descriptor;
}

void mapped_files_take(struct mapped_files *files, const struct iaprof_record_mapping *mapping, const char *path)
{
	/* Not of a file: "[vdso]", "//anon"; and one without a name cannot be opened again. */
	if (!files->watches.count || path[0] != '/' || path[1] == '/' || mapping->flags & IAPROF_MAPPING_DELETED ||
	    !name_is_due(files, mapping, path))
		return;
	int descriptor = open_file(mapping, path);
	if (descriptor < 0)
		return; /* the process is gone: the file is told when another one has it */
	struct stat status;
	bool is_new = !fstat(descriptor, &status) && file_is_new(files, &status);
	close(descriptor);
	if (!is_new)
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
