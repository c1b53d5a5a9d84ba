/* SPDX-License-Identifier: Apache-2.0 */
/* See root_cache.h. */
#include "process/root_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/nsfs.h>

#include "base/cleanup.h"

/* Identifies a folder without a query to its file server, which might not reply. */
static int root_read(int folder, const char *path, int flags, struct root *root)
{
	struct statx status;
	if (statx(folder, path, AT_STATX_DONT_SYNC | flags, STATX_INO | STATX_MNT_ID, &status))
		return -errno;
	root->mount = status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
	root->device = makedev(status.stx_dev_major, status.stx_dev_minor);
	root->inode = status.stx_ino;
	return 0;
}

/* Linux limits the depth of user namespaces to 32 (user_namespaces(7)). */
#define USER_NAMESPACES_MAX 32

/*
 * Returns whether a mount namespace belongs to another user namespace than iaprof's (ioctl_ns(2)), and sets *owner to
 * the user who made the outermost of those: the ids inside of it are for its user to choose. UINT32_MAX: unknown.
 */
static bool has_other_users(int namespace_descriptor, uint32_t *owner)
{
	struct stat theirs, ours;
	CLEANUP_CLOSE int users = ioctl(namespace_descriptor, NS_GET_USERNS);
	*owner = UINT32_MAX;
	if (users < 0 || fstat(users, &theirs) || stat("/proc/self/ns/user", &ours))
		return true;
	for (int i = 0; i < USER_NAMESPACES_MAX; i++) {
		uid_t maker;
		if (theirs.st_ino == ours.st_ino) {
			*owner = i ? *owner : 0;
			return i;
		}
		CLEANUP_CLOSE int inner = users;
		users = ioctl(inner, NS_GET_PARENT);
		*owner = ioctl(inner, NS_GET_OWNER_UID, &maker) ? UINT32_MAX : maker;
		if (users < 0 || fstat(users, &theirs))
			break;
	}
	return true;
}

/*
 * Identifies the root folder of /proc/WHO, and its mount namespace. A mount is part of one namespace: if the root is
 * that of own, the namespace is not read. Returns 0 or a negative errno.
 */
static int root_identify(const char *who, const struct root *own, struct root *root)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof path, "/proc/%s/root", who);
	int result = root_read(AT_FDCWD, path, 0, root);
	if (result)
		return result;
	if (own && own->mount && root->mount == own->mount) {
		root->namespace_inode = own->namespace_inode;
		return 0;
	}
	snprintf(path, sizeof path, "/proc/%s/ns/mnt", who);
	if (stat(path, &status))
		return -errno;
	root->namespace_inode = status.st_ino;
	return 0;
}

static bool root_equals(const struct root *a, const struct root *b)
{
	return a->namespace_inode == b->namespace_inode && a->device == b->device && a->inode == b->inode;
}

void root_cache_prepare(struct root_cache *cache)
{
	struct rlimit limit;
	cache->limit = ROOT_CACHE_MAX;
	user_accounts_init(&cache->owners);
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 8 < cache->limit)
		cache->limit = limit.rlim_cur / 8;
	/* If /proc is not mounted, it stays zero; other processes cannot be inspected then, either. */
	root_identify("self", NULL, &cache->own);
}

static void root_close(struct root_cache *cache, size_t position)
{
	struct root *root = cache->roots.items[position];
	if (!user_accounts_trust(&cache->owners, root->owner))
		user_accounts_give_back(&cache->owners, root->owner, 1);
	close(root->descriptor);
	if (root->namespace_descriptor >= 0)
		close(root->namespace_descriptor);
	free(root);
	cache->roots.items[position] = cache->roots.items[--cache->roots.count];
}

void root_cache_free(struct root_cache *cache)
{
	while (cache->roots.count)
		root_close(cache, cache->roots.count - 1);
	array_free(&cache->roots);
	user_accounts_free(&cache->owners);
}

void root_cache_trim(struct root_cache *cache)
{
	for (size_t i = cache->roots.count; i-- > 0;)
		if (!cache->roots.items[i]->users)
			root_close(cache, i);
}

/* Closes the least recently used root without users: of all, or of one owner. Returns false if there is none. */
static bool root_cache_evict(struct root_cache *cache, const uint32_t *owner)
{
	size_t oldest = cache->roots.count;
	for (size_t i = 0; i < cache->roots.count; i++)
		if (!cache->roots.items[i]->users && (!owner || cache->roots.items[i]->owner == *owner) &&
		    (oldest == cache->roots.count ||
		     cache->roots.items[i]->last_used < cache->roots.items[oldest]->last_used))
			oldest = i;
	if (oldest == cache->roots.count)
		return false;
	root_close(cache, oldest);
	return true;
}

static bool root_cache_make_room(struct root_cache *cache)
{
	if (cache->roots.count < cache->limit)
		return true;
	return root_cache_evict(cache, NULL);
}

static bool root_cache_charge(struct root_cache *cache, uint32_t owner)
{
	return user_accounts_take(&cache->owners, owner, 1, cache->limit / ROOT_CACHE_USER_PART,
				  cache->limit / ROOT_CACHE_OTHERS_PART);
}

/* Charges a root to its owner, whose share may be full of roots that nobody uses. Returns false if it is refused. */
static bool root_cache_allows(struct root_cache *cache, uint32_t owner)
{
	if (user_accounts_trust(&cache->owners, owner) || root_cache_charge(cache, owner) ||
	    (root_cache_evict(cache, &owner) && root_cache_charge(cache, owner)))
		return true;
	struct user_account *account = user_accounts_find(&cache->owners, owner);
	if (account)
		account->refused++;
	return false;
}

static struct root *root_open(struct root_cache *cache, const char *who, const struct root *wanted)
{
	char path[64];
	if (!root_cache_make_room(cache) || !array_reserve(&cache->roots, cache->roots.count + 1))
		return NULL;
	CLEANUP_CLOSE int namespace_descriptor = -1;
	if (wanted->namespace_inode != cache->own.namespace_inode) {
		snprintf(path, sizeof path, "/proc/%s/ns/mnt", who);
		namespace_descriptor = open(path, O_RDONLY | O_CLOEXEC);
		if (namespace_descriptor < 0)
			return NULL;
	}
	snprintf(path, sizeof path, "/proc/%s/root", who);
	CLEANUP_CLOSE int descriptor = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0)
		return NULL;
	/* Since it was identified, the process may have changed its root, or its pid may have been reused. */
	struct stat status;
	struct root found;
	if (root_read(descriptor, "", AT_EMPTY_PATH, &found) || found.device != wanted->device ||
	    found.inode != wanted->inode)
		return NULL;
	if (namespace_descriptor >= 0 &&
	    (fstat(namespace_descriptor, &status) || status.st_ino != wanted->namespace_inode))
		return NULL;
	uint32_t owner = 0;
	bool user_mounts = namespace_descriptor >= 0 && has_other_users(namespace_descriptor, &owner);
	struct root *root = malloc(sizeof *root);
	if (!root || !root_cache_allows(cache, owner)) {
		free(root);
		return NULL;
	}
	*root = *wanted;
	root->owner = owner;
	root->user_mounts = user_mounts;
	root->descriptor = STEAL_DESCRIPTOR(descriptor);
	root->namespace_descriptor = STEAL_DESCRIPTOR(namespace_descriptor);
	cache->roots.items[cache->roots.count++] = root;
	return root;
}

enum root_place root_cache_find(struct root_cache *cache, uint32_t pid, struct root **root)
{
	char who[16];
	struct root found = { 0 };
	struct root *match = NULL;

	snprintf(who, sizeof who, "%u", pid);
	int code = root_identify(who, &cache->own, &found);
	/* A folder that even root cannot access is served by another user's FUSE server. */
	if (code)
		return code == -EACCES && geteuid() == 0 ? ROOT_UNREACHABLE : ROOT_UNKNOWN;
	if (root_equals(&found, &cache->own))
		return ROOT_OWN;
	for (size_t i = 0; i < cache->roots.count && !match; i++)
		if (root_equals(cache->roots.items[i], &found))
			match = cache->roots.items[i];
	if (!match && !(match = root_open(cache, who, &found)))
		return ROOT_UNREACHABLE;
	match->users++;
	match->last_used = ++cache->uses;
	*root = match;
	return ROOT_OTHER;
}

void root_release(struct root *root)
{
	if (root)
		root->users--;
}
