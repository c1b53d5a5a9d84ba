/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of root folders other than iaprof's own, through which the files of processes in containers and chroots
 * are found, also after the processes ended. One for each (mount namespace, root folder), shared by the processes
 * there.
 */
#ifndef IAPROF_CORE_PROCESS_ROOT_CACHE_H
#define IAPROF_CORE_PROCESS_ROOT_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

/* The most roots held, of two descriptors each; an eighth of RLIMIT_NOFILE when that is less. */
#define ROOT_CACHE_MAX 1024u

struct root {
	ino_t namespace_inode;
	dev_t device;
	ino_t inode;
	int descriptor;           /* O_PATH, the root folder */
	bool user_mounts;         /* the mount namespace belongs to another user namespace than ours */
	int namespace_descriptor; /* keeps what is mounted below the root there when the last process went; -1 own */
	uint32_t users;           /* images that have it */
	uint64_t last_used;
};

struct root_cache {
	ARRAY(struct root *) roots;
	struct root own;
	uint64_t uses; /* counts lookups, for last_used */
	size_t limit;
};

enum root_place {
	ROOT_OWN,         /* the same as iaprof's */
	ROOT_OTHER,       /* *root is it */
	ROOT_UNREACHABLE, /* another one, and no descriptor of it could be had */
	ROOT_UNKNOWN      /* the process has ended, or may not be looked at */
};

/* Looks up iaprof's own root, to compare with. */
void root_cache_prepare(struct root_cache *cache);
void root_cache_free(struct root_cache *cache);

/* Where the process has its root now. A root that is handed out gains a user. */
enum root_place root_cache_look(struct root_cache *cache, uint32_t pid, struct root **root);

/* One user less; NULL-safe. The descriptor stays until root_cache_trim(), so that a follower may find it. */
void root_release(struct root *root);

/* Closes the descriptors that have no users. */
void root_cache_trim(struct root_cache *cache);

#endif
