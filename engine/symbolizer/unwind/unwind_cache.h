/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of earlier runs, in a folder that only root can write: IAPROF_CACHE, or else /var/cache/iaprof. An
 * entry is found by the identity of its file (file_identity.h), which is unique until the machine is started again.
 * Entries are validated like the data of a worker. Owned by one thread; not locked.
 */
#pragma once

#include "base/boot_id.h"
#include "symbolizer/unwind/remote_unwind.h"

/* Limit on the bytes of all entries. */
#define UNWIND_CACHE_MAX ((uint64_t)256 << 20)

/* Where an entry comes from: tables of another iaprof program or boot are not used. Compared as bytes. */
struct unwind_cache_origin {
	char format[8];
	char boot_id[40];
	uint64_t program_size; /* of iaprof, whose worker made the table */
	int64_t program_modified;
};

struct unwind_cache {
	int folder; /* -1: there is no cache */
	struct unwind_cache_origin origin;
	uint64_t written;        /* bytes since the last unwind_cache_trim() */
	uint64_t loaded, stored; /* numbers of tables */
};

/* Opens the folder, and creates it if necessary. There is no cache without it, or if the user is not root. */
void unwind_cache_open(struct unwind_cache *cache);
void unwind_cache_close(struct unwind_cache *cache);

/* Returns whether there is an entry for a file, which may be outdated. */
bool unwind_cache_has(const struct unwind_cache *cache, const struct file_identity *file);
/* Loads the table of a file. Returns false if there is none. */
bool unwind_cache_load(struct unwind_cache *cache, const struct file_identity *file, struct remote_unwind *unwind);
/* Stores the table of a file, unless it changed so recently that it may change again with the same identity. */
void unwind_cache_store(struct unwind_cache *cache, const struct file_identity *file,
			const struct remote_unwind *unwind);
/* Removes the least recently used entries beyond size_max bytes. */
void unwind_cache_trim(struct unwind_cache *cache, uint64_t size_max);
