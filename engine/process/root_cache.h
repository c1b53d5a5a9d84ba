/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of root folders other than iaprof's own, which give access to the files of processes in containers and
 * chroots even after the processes have ended. One for each pair of mount namespace and root folder, shared by the
 * processes that use it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "process/user_accounts.h"

/* Limit on roots, with two descriptors each; an eighth of RLIMIT_NOFILE if that is less. */
#define ROOT_CACHE_MAX 1024u
/*
 * Parts of the limit: what one untrusted user may fill with mount namespaces, and all of them together. Others than
 * root make them in user namespaces of their own.
 */
#define ROOT_CACHE_USER_PART 8u
#define ROOT_CACHE_OTHERS_PART 2u

struct root {
	ino_t namespace_inode;
	uint64_t mount; /* id of the mount that the root folder is in; 0: unknown */
	dev_t device;
	ino_t inode;
	int descriptor;           /* O_PATH, the root folder */
	bool user_mounts;         /* the mount namespace belongs to another user namespace than iaprof's */
	int namespace_descriptor; /* keeps the mounts below the root after the last process has ended; -1: iaprof's own
				     namespace */
	uint32_t users;           /* images that use it */
	uint64_t last_used;
	uint32_t owner; /* user who made the mount namespace; 0: root, or iaprof's own namespace */
};

struct root_cache {
	ARRAY(struct root *) roots;
	struct root own;
	uint64_t uses; /* number of lookups, for last_used */
	size_t limit;
	struct user_accounts owners; /* amount: roots; refused: processes */
};

enum root_place {
	ROOT_OWN,         /* the same as iaprof's root */
	ROOT_OTHER,       /* stored in *root */
	ROOT_UNREACHABLE, /* another one that cannot be opened, or is beyond the share of its owner */
	ROOT_UNKNOWN      /* the process has ended or cannot be inspected */
};

/* Identifies iaprof's own root for comparison. */
void root_cache_prepare(struct root_cache *cache);
void root_cache_free(struct root_cache *cache);

/* Finds the root that the process currently has. A root that is stored in *root gains a user. */
enum root_place root_cache_find(struct root_cache *cache, uint32_t pid, struct root **root);

/*
 * Removes a user; accepts NULL. The descriptor stays open until root_cache_trim(), because other processes may use the
 * same root.
 */
void root_release(struct root *root);

/* Closes descriptors without users. */
void root_cache_trim(struct root_cache *cache);
