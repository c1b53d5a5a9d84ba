/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that were opened for mappings, and stay open for a while: as long as a file is open, its device and inode
 * number are its own, and its times show whether it changed, so that it is known again in another process without the
 * broker. Only trusted files in iaprof's own root folder. Owned by one thread; not locked.
 */
#pragma once

#include "base/keyed_array.h"
#include "symbolizer/mapped_file.h"

/* Limit on open files; one eighth of the limit of the process if that is less. */
#define OPEN_FILES_MAX 512u

/* How a mapping names its file. */
struct open_file_key {
	uint64_t device, inode, inode_generation;
	uint64_t path[2]; /* fingerprint */
};

struct open_file {
	struct open_file_key key;
	struct file_identity identity;
	int descriptor;
	uint64_t used;
};

struct open_files {
	KEYED_ARRAY(struct open_file) items;
	size_t limit;
};

void open_files_init(struct open_files *files);
void open_files_free(struct open_files *files);

/* Finds the file of a mapping and sets *identity. Returns false if it is not open, has changed, or is not certain. */
bool open_files_find(struct open_files *files, const struct mapped_file_request *request,
		     struct file_identity *identity);
/* Keeps a file that was opened, and takes its descriptor, unless there are too many or it would not be found again. */
void open_files_add(struct open_files *files, const struct mapped_file_request *request, struct mapped_file *file);
/* Closes files that were not found since a time: they would keep the disk space of those that are deleted. */
void open_files_close(struct open_files *files, uint64_t since);
