/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with executable mappings, from the MAPPING records of the side-band, each file once, for sources that attach to
 * libraries at any path. No cost without watchers. Loop thread.
 */
#pragma once

#include <stdbool.h>
#include <iaprof/host.h>

#include "base/array.h"
#include "base/hash.h"
#include "broker/broker.h"
#include "process/kept_files.h"

struct mapped_files_watch {
	void (*callback)(void *context, const struct iaprof_mapped_file *file);
	void *context;
};

/* A file as named by a mapping, and when it was last checked. */
struct mapped_files_name {
	uint64_t namespace_inode; /* the process's mount namespace */
	uint64_t hash;            /* hash of path and build id */
	uint64_t checked;
};

/* Identity of a file. Inode numbers of deleted files are reused, and a file that was written may be a different one. */
struct mapped_files_file {
	uint64_t device, inode;
	uint64_t changed; /* ctime */
};

/* Initialise with {0}. */
struct mapped_files {
	ARRAY(struct mapped_files_watch) watches;
	ARRAY(struct mapped_files_name) names;
	struct hash_index name_index;
	ARRAY(struct mapped_files_file) files; /* files already reported */
	struct hash_index file_index;
	uint32_t last_pid; /* pid of the last mount namespace lookup: mappings arrive in bursts */
	uint64_t last_pid_time, last_namespace;
	struct kept_files *kept; /* NULL: files are not kept */
	struct broker *broker;   /* opens the files */
};

/* Adds a watcher. Returns false if out of memory. */
bool mapped_files_watch(struct mapped_files *files,
			void (*callback)(void *context, const struct iaprof_mapped_file *file), void *context);
/* Processes a side-band record: path is the text of its string id. Calls the watchers if its file is new. */
void mapped_files_take(struct mapped_files *files, const struct iaprof_record_mapping *mapping, const char *path);
void mapped_files_free(struct mapped_files *files);
