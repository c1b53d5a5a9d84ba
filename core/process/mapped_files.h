/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files processes have mapped as code: from the MAPPING records of the side-band, each file once, for sources
 * that attach to libraries wherever they are. Costs nothing while nobody watches. Loop thread.
 */
#ifndef IAPROF_CORE_PROCESS_MAPPED_FILES_H
#define IAPROF_CORE_PROCESS_MAPPED_FILES_H

#include <stdbool.h>
#include <iaprof/host.h>

#include "base/array.h"
#include "base/hash.h"

struct mapped_files_watch {
	void (*callback)(void *context, const struct iaprof_mapped_file *file);
	void *context;
};

/* A file as a mapping names it, and when it was last looked at. */
struct mapped_files_name {
	uint64_t namespace_inode; /* the process's mount namespace */
	uint64_t hash;            /* of path and build id */
	uint64_t looked;
};

/* The number of a file that is gone is used again; one that was written may have become another. */
struct mapped_files_file {
	uint64_t device, inode;
	uint64_t changed; /* ctime */
};

/* Initialise with {0}. */
struct mapped_files {
	ARRAY(struct mapped_files_watch) watches;
	ARRAY(struct mapped_files_name) names;
	struct hash_index name_index;
	ARRAY(struct mapped_files_file) files; /* that were told */
	struct hash_index file_index;
	uint32_t last_pid; /* whose mount namespace was looked up last: mappings come in bursts */
	uint64_t last_pid_time, last_namespace;
};

/* False when out of memory. */
bool mapped_files_watch(struct mapped_files *files,
			void (*callback)(void *context, const struct iaprof_mapped_file *file), void *context);
/* Takes a record of the side-band: path is the text of its string id. Tells the watchers when its file is a new one. */
void mapped_files_take(struct mapped_files *files, const struct iaprof_record_mapping *mapping, const char *path);
void mapped_files_free(struct mapped_files *files);

#endif
