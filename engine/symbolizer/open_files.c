/* SPDX-License-Identifier: Apache-2.0 */
/* See open_files.h. */
#include "symbolizer/open_files.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

void open_files_init(struct open_files *files)
{
	struct rlimit limit;
	*files = (struct open_files){ .limit = OPEN_FILES_MAX };
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 8 < files->limit)
		files->limit = limit.rlim_cur / 8;
}

void open_files_free(struct open_files *files)
{
	open_files_close(files, UINT64_MAX);
	keyed_array_free(&files->items);
}

static struct open_file_key key_of(const struct mapping *mapping)
{
	struct open_file_key key = { .device = makedev(mapping->device_major, mapping->device_minor),
				     .inode = mapping->inode,
				     .inode_generation = mapping->inode_generation };
	hash_fingerprint(mapping->path, strlen(mapping->path), key.path);
	return key;
}

static void close_file(struct open_files *files, uint32_t position)
{
	close(files->items.items[position].descriptor);
	keyed_array_remove(&files->items, position);
}

/* Returns whether device and inode number of a mapping identify its file. A build id is compared with the contents. */
static bool is_certain(const struct mapped_file_request *request)
{
	const struct mapping *mapping = request->mapping;
	return request->live && mapping->inode && !mapping->build_id_size &&
	       !(mapping->flags & IAPROF_MAPPING_DELETED) && request->process->root == PROCESS_ROOT_OWN;
}

bool open_files_find(struct open_files *files, const struct mapped_file_request *request,
		     struct file_identity *identity)
{
	if (!is_certain(request))
		return false;
	const struct open_file_key key = key_of(request->mapping);
	uint32_t position = keyed_array_find(&files->items, &key);
	if (position == POSITION_NONE)
		return false;
	struct open_file *file = &files->items.items[position];
	if (!mapped_file_is_unchanged(&file->identity, file->descriptor)) {
		close_file(files, position);
		return false;
	}
	/* The mapping may be of an earlier file with this inode number. */
	if (mapped_file_is_newer(&file->identity, request->latest))
		return false;
	file->used = clock_monotonic();
	*identity = file->identity;
	return true;
}

void open_files_add(struct open_files *files, const struct mapped_file_request *request, struct mapped_file *file)
{
	struct open_file added = { .key = key_of(request->mapping),
				   .identity = file->identity,
				   .descriptor = file->descriptor,
				   .used = clock_monotonic() };
	/* On overlay and btrfs, the device of a mapping is not that of the file. */
	bool is_found_again = is_certain(request) && file->root == PROCESS_ROOT_OWN &&
			      added.key.device == file->identity.device && added.key.inode == file->identity.inode;
	if (!is_found_again || files->items.count >= files->limit ||
	    keyed_array_find(&files->items, &added.key) != POSITION_NONE ||
	    keyed_array_add(&files->items, &added) == POSITION_NONE)
		return;
	(void)STEAL_DESCRIPTOR(file->descriptor);
}

void open_files_close(struct open_files *files, uint64_t since)
{
	for (uint32_t i = (uint32_t)files->items.count; i-- > 0;)
		if (files->items.items[i].used < since)
			close_file(files, i);
}
