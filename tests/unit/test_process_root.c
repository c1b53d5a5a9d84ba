/* SPDX-License-Identifier: Apache-2.0 */
/* Root folders of processes in other mount namespaces and in chroots: real ones, which needs root. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/root_cache.h"
#include "process_feed.h"
#include "../run_suite.h"

#define STRANGER 61234

/* PLACE_STRANGER, and further strangers from there on; PLACE_STRANGERS_NAMESPACE: with a namespace of their own. */
enum place { PLACE_SAME, PLACE_NAMESPACE, PLACE_CHROOT, PLACE_STRANGER, PLACE_STRANGERS_NAMESPACE = 1000 };

/* A child that goes to a place and waits there; the write end of its pipe ends it. */
struct child {
	pid_t pid;
	int hold;
};

static bool text_write(const char *path, const char *text)
{
	CLEANUP_CLOSE int file = open(path, O_WRONLY | O_CLOEXEC);
	return write(file, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Makes a mount namespace in a user namespace inside of another one, which is still that of the same user. */
static bool stranger_nest(uid_t user)
{
	char map[32];
	snprintf(map, sizeof map, "0 %u 1", user);
	/* setuid() has made /proc/self root's. */
	return !setuid(user) && !prctl(PR_SET_DUMPABLE, 1) && !unshare(CLONE_NEWUSER) &&
	       text_write("/proc/self/setgroups", "deny") && text_write("/proc/self/uid_map", map) &&
	       text_write("/proc/self/gid_map", "0 0 1") && !unshare(CLONE_NEWUSER | CLONE_NEWNS);
}

static void child_go(enum place place)
{
	if (place == PLACE_NAMESPACE) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("none", "/mnt", "tmpfs", 0, NULL))
			_exit(1);
		int file = open("/mnt/only-in-this-namespace", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (file < 0)
			_exit(1);
		close(file);
	}
	if (place == PLACE_CHROOT && chroot("/usr"))
		_exit(1);
	if (place >= PLACE_STRANGERS_NAMESPACE) {
		if (!stranger_nest(STRANGER + (uid_t)(place - PLACE_STRANGERS_NAMESPACE)))
			_exit(1);
	} else if (place >= PLACE_STRANGER && setuid(STRANGER + (uid_t)(place - PLACE_STRANGER))) {
		_exit(1);
	}
}

static struct child child_start(enum place place)
{
	int hold[2], ready[2];
	char byte;
	ck_assert(!pipe2(hold, O_CLOEXEC) && !pipe2(ready, O_CLOEXEC));
	struct child child = { .pid = fork(), .hold = hold[1] };
	ck_assert_int_ge(child.pid, 0);
	if (!child.pid) {
		close(hold[1]);
		child_go(place);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(hold[0], &byte, 1) != 0);
	}
	close(hold[0]);
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void child_end(struct child *child)
{
	int status;
	close(child->hold);
	ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
	ck_assert_int_eq(status, 0);
}

static int feed_unseen(struct process_table *table, uint64_t time, uint32_t event, pid_t pid, pid_t parent)
{
	struct iaprof_record_process record = {
		.header.time = time, .event = event, .pid = (uint32_t)pid, .parent_pid = (uint32_t)parent
	};
	ck_assert_int_eq(process_table_event(table, &record, "test", true), 0);
	return process_table_find(table, (uint32_t)pid, time)->root;
}

static int feed_live(struct process_table *table, uint64_t time, uint32_t event, pid_t pid, pid_t parent)
{
	feed_unseen(table, time, event, pid, parent);
	process_table_read_roots(table);
	return process_table_find(table, (uint32_t)pid, time)->root;
}

static size_t count_descriptors(void)
{
	size_t count = 0;
	for (int descriptor = 0; descriptor < 1024; descriptor++)
		count += fcntl(descriptor, F_GETFD) >= 0;
	return count;
}

TEST(own_root_needs_none)
{
	struct process_table *table = process_table_new();
	struct child child = child_start(PLACE_SAME);
	ck_assert_int_eq(feed_live(table, 10, IAPROF_PROCESS_EXISTING, child.pid, 0), PROCESS_ROOT_OWN);
	child_end(&child);
	/* An ended process, and one that never was. */
	ck_assert_int_eq(feed_live(table, 20, IAPROF_PROCESS_EXEC, child.pid, 0), PROCESS_ROOT_OWN);
	process_table_free(table);
}

TEST(namespace_is_shared_and_outlives_its_processes)
{
	size_t descriptors = count_descriptors();
	struct process_table *table = process_table_new();
	struct child child = child_start(PLACE_NAMESPACE);
	int root = feed_live(table, 10, IAPROF_PROCESS_EXISTING, child.pid, 0);
	ck_assert_int_ge(root, 0);
	ck_assert_int_eq(feed_live(table, 20, IAPROF_PROCESS_EXEC, child.pid, 0), root);
	uint32_t grandchild = 4000000; /* above any pid: must come from its parent */
	feed_live(table, 30, IAPROF_PROCESS_FORK, (pid_t)grandchild, child.pid);
	ck_assert_int_eq(process_table_find(table, grandchild, 30)->root, root);
	ck_assert(!process_table_find(table, grandchild, 30)->is_chrooted);
	ck_assert_uint_eq(count_descriptors(), descriptors + 3); /* root, namespace, and the child's pipe */

	child_end(&child);
	feed_live(table, 40, IAPROF_PROCESS_EXIT, child.pid, 0);
	process_table_retire(table, 50, NULL, NULL);
	ck_assert_int_eq(faccessat(root, "mnt/only-in-this-namespace", F_OK, 0), 0);
	ck_assert_int_ne(access("/mnt/only-in-this-namespace", F_OK), 0);

	feed_live(table, 60, IAPROF_PROCESS_EXIT, (pid_t)grandchild, 0);
	process_table_retire(table, 70, NULL, NULL);
	ck_assert_uint_eq(count_descriptors(), descriptors);
	process_table_free(table);
}

/* /proc is not read for programs whose end is already known, and before it is needed. */
TEST(only_programs_that_run_are_looked_at)
{
	struct process_table *table = process_table_new();
	struct child ended = child_start(PLACE_NAMESPACE), running = child_start(PLACE_NAMESPACE),
		     parent = child_start(PLACE_NAMESPACE);
	uint32_t grandchild = 4000000; /* above any pid */
	ck_assert_int_eq(feed_unseen(table, 10, IAPROF_PROCESS_EXEC, ended.pid, 1), PROCESS_ROOT_OWN);
	ck_assert_int_eq(feed_unseen(table, 10, IAPROF_PROCESS_EXEC, running.pid, 1), PROCESS_ROOT_OWN);
	ck_assert_int_eq(feed_unseen(table, 10, IAPROF_PROCESS_EXEC, parent.pid, 1), PROCESS_ROOT_OWN);
	feed_unseen(table, 20, IAPROF_PROCESS_EXIT, ended.pid, 1);
	ck_assert_int_ge(feed_unseen(table, 20, IAPROF_PROCESS_FORK, (pid_t)grandchild, parent.pid), 0);
	process_table_read_roots(table);
	ck_assert_int_eq(process_table_find(table, (uint32_t)ended.pid, 10)->root, PROCESS_ROOT_OWN);
	ck_assert_int_ge(process_table_find(table, (uint32_t)running.pid, 10)->root, 0);
	process_table_free(table);
	child_end(&parent);
	child_end(&running);
	child_end(&ended);
}

TEST(look_counts_more_than_an_older_fork)
{
	struct process_table *table = process_table_new();
	struct child child = child_start(PLACE_NAMESPACE);
	ck_assert_int_eq(feed_live(table, 5, IAPROF_PROCESS_EXISTING, getpid(), 0), PROCESS_ROOT_OWN);
	int root = feed_live(table, 20, IAPROF_PROCESS_EXISTING, child.pid, getpid());
	ck_assert_int_ge(root, 0);
	ck_assert_int_eq(feed_live(table, 10, IAPROF_PROCESS_FORK, child.pid, getpid()), root);
	child_end(&child);
	process_table_free(table);
}

TEST(chroot_has_a_root_of_its_own)
{
	struct process_table *table = process_table_new();
	struct child child = child_start(PLACE_CHROOT);
	int root = feed_live(table, 10, IAPROF_PROCESS_EXISTING, child.pid, 0);
	struct stat seen, expected;
	ck_assert_int_eq(fstat(root, &seen), 0);
	ck_assert_int_eq(stat("/usr", &expected), 0);
	ck_assert_uint_eq(seen.st_ino, expected.st_ino);
	ck_assert(process_table_find(table, (uint32_t)child.pid, 10)->is_chrooted);
	child_end(&child);
	process_table_free(table);
}

static void map(struct process_table *table, pid_t pid, uint64_t number)
{
	struct iaprof_record_mapping record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_MAPPING, .time = 10 },
		.pid = (uint32_t)pid,
		.start = 0x10000 + 0x2000 * number,
		.size = 0x1000,
		.inode = 1,
	};
	if (process_table_mapping(table, &record, "/file")) /* a passed assertion costs a system call */
		ck_abort_msg("mapping refused");
}

/*
 * A process has fewer than a user may have, so that several are needed. The last quarter of what a user may have is for
 * processes that have few. After setuid() root is the owner of their folders in /proc.
 */
TEST(mappings_of_a_user_are_bounded)
{
	enum { MANY = PROCESS_MAPPINGS_USER / 4 * 3 };
	struct process_table *table = process_table_new();
	struct child children[12], small = child_start(PLACE_STRANGER), own = child_start(PLACE_SAME);
	size_t count = sizeof children / sizeof *children;
	uint32_t user = 0;
	for (size_t i = 0; i < count; i++) {
		children[i] = child_start(PLACE_STRANGER);
		ck_assert_int_eq(feed_live(table, 5, IAPROF_PROCESS_EXISTING, children[i].pid, 1), PROCESS_ROOT_OWN);
	}
	ck_assert_int_eq(feed_live(table, 5, IAPROF_PROCESS_EXISTING, small.pid, 1), PROCESS_ROOT_OWN);
	ck_assert_int_eq(feed_live(table, 5, IAPROF_PROCESS_EXISTING, own.pid, 1), PROCESS_ROOT_OWN);
	for (uint64_t i = 0; i < MANY; i++)
		map(table, children[i % count].pid, i / count);
	ck_assert_uint_eq(process_table_refused(table, &user), 0);
	map(table, children[0].pid, MANY);
	ck_assert_uint_eq(process_table_refused(table, &user), 1);
	for (uint64_t i = 0; i <= PROCESS_MAPPINGS_USUAL; i++)
		map(table, small.pid, i);
	map(table, own.pid, 0);
	ck_assert_uint_eq(process_table_refused(table, &user), 2);
	ck_assert_uint_eq(user, STRANGER);
	struct process *process = process_table_find(table, (uint32_t)own.pid, 20);
	ck_assert_ptr_nonnull(process_mapping_at(table, process, 0x10000, 20));
	process_table_free(table);
	/* Each has the pipes of those before it. */
	for (size_t i = count; i-- > 0;)
		child_end(&children[i]);
	child_end(&own);
	child_end(&small);
}

/*
 * All users together have room for as much as two of them, but for processes with few mappings; who was refused most is
 * named.
 */
TEST(mappings_of_all_users_are_bounded)
{
	enum {
		USERS = 3,
		CHILDREN = 8,
		MANY = PROCESS_MAPPINGS_OTHERS / 4 * 3
	}; /* each has fewer than one process may have */
	struct process_table *table = process_table_new();
	struct child children[USERS * CHILDREN];
	uint32_t user = 0;
	for (size_t i = 0; i < USERS * CHILDREN; i++) {
		children[i] = child_start((enum place)(PLACE_STRANGER + i / CHILDREN));
		feed_live(table, 5, IAPROF_PROCESS_EXISTING, children[i].pid, 1);
	}
	for (uint64_t i = 0; i < MANY; i++)
		map(table, children[i % (2 * CHILDREN)].pid, i / (2 * CHILDREN));
	ck_assert_uint_eq(process_table_refused(table, &user), 0);
	const uint64_t more[USERS] = { 1, 2, PROCESS_MAPPINGS_USUAL + 1 };
	for (size_t i = 0; i < USERS; i++)
		for (uint64_t k = 0; k < more[i]; k++)
			map(table, children[i * CHILDREN].pid, MANY + k);
	ck_assert_uint_eq(process_table_refused(table, &user), 1 + 2 + 1);
	ck_assert_uint_eq(user, STRANGER + 1);
	process_table_free(table);
	for (size_t i = USERS * CHILDREN; i-- > 0;)
		child_end(&children[i]);
}

TEST(no_descriptor_left_is_unreachable)
{
	struct process_table *table = process_table_new();
	struct child child = child_start(PLACE_NAMESPACE);
	while (open("/", O_PATH | O_CLOEXEC) >= 0)
		;
	ck_assert_int_eq(errno, EMFILE);
	ck_assert_int_eq(feed_live(table, 10, IAPROF_PROCESS_EXISTING, child.pid, 0), PROCESS_ROOT_UNREACHABLE);
	child_end(&child);
	process_table_free(table);
}

/* A cache has an eighth of the descriptors that the process may have, up to a limit. */
TEST(a_cache_has_its_part_of_the_descriptors)
{
	struct root_cache cache = { 0 };
	struct rlimit before, limit;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 8 * 20 + 7;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	root_cache_prepare(&cache);
	ck_assert_uint_eq(cache.limit, 20);
	limit.rlim_cur = 8 * (ROOT_CACHE_MAX + 1);
	if (limit.rlim_cur <= limit.rlim_max) {
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		root_cache_prepare(&cache);
		ck_assert_uint_eq(cache.limit, ROOT_CACHE_MAX);
	}
	setrlimit(RLIMIT_NOFILE, &before);
	root_cache_free(&cache);
}

/* The namespaces of one user fill his share only, and those of all users leave half of the cache to root's. */
TEST(a_user_fills_only_his_share_of_a_cache)
{
	enum { USERS = 5, MOST = 16, SHARE = MOST / ROOT_CACHE_USER_PART };
	struct root_cache cache = { 0 };
	struct child children[USERS * (SHARE + 1)], last = { 0 };
	size_t count = 0, opened = 0;
	struct root *root = NULL, *kept = NULL;
	uint32_t user = 0;
	root_cache_prepare(&cache);
	cache.limit = MOST;
	for (size_t i = 0; i < USERS; i++)
		for (size_t k = 0; k <= SHARE; k++) {
			children[count] = child_start((enum place)(PLACE_STRANGERS_NAMESPACE + i));
			bool fits = k < SHARE && opened < MOST / ROOT_CACHE_OTHERS_PART;
			ck_assert_int_eq(root_cache_find(&cache, (uint32_t)children[count].pid, &root),
					 fits ? ROOT_OTHER : ROOT_UNREACHABLE);
			opened += fits;
			if (fits)
				kept = root;
			if (fits)
				ck_assert(root->user_mounts && root->owner == STRANGER + i);
			count++;
		}
	/* The last user got nothing, since the others had filled half of the cache. */
	ck_assert_uint_eq(opened, MOST / ROOT_CACHE_OTHERS_PART);
	ck_assert_uint_eq(user_accounts_refused(&cache.owners, &user), count - opened);
	ck_assert_uint_eq(user, STRANGER + USERS - 1);
	last = child_start(PLACE_NAMESPACE);
	ck_assert_int_eq(root_cache_find(&cache, (uint32_t)last.pid, &root), ROOT_OTHER);
	ck_assert(!root->user_mounts && root->owner == 0);
	/* What a user does not use any more makes room for him. */
	root_release(kept);
	ck_assert_int_eq(root_cache_find(&cache, (uint32_t)children[(USERS - 2) * (SHARE + 1) + SHARE].pid, &root),
			 ROOT_OTHER);
	ck_assert_uint_eq(cache.owners.amount, opened);
	root_cache_free(&cache);
	child_end(&last);
	while (count)
		child_end(&children[--count]);
}

/* In a full cache the root that nobody has used for the longest time makes room; one that is in use does not. */
TEST(a_full_cache_gives_up_what_nobody_uses)
{
	size_t descriptors = count_descriptors();
	struct root_cache cache = { 0 };
	struct child children[3];
	struct root *roots[3] = { NULL };
	root_cache_prepare(&cache);
	cache.limit = 2;
	for (size_t i = 0; i < 3; i++)
		children[i] = child_start(PLACE_NAMESPACE);
	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(root_cache_find(&cache, (uint32_t)children[i].pid, &roots[i]), ROOT_OTHER);
	ck_assert_uint_eq(cache.roots.count, 2);
	ck_assert_int_eq(root_cache_find(&cache, (uint32_t)children[2].pid, &roots[2]), ROOT_UNREACHABLE);
	root_release(roots[1]);
	root_release(roots[0]);
	/* The first one is used again, which makes the second the oldest. */
	ck_assert_int_eq(root_cache_find(&cache, (uint32_t)children[0].pid, &roots[2]), ROOT_OTHER);
	ck_assert_ptr_eq(roots[2], roots[0]);
	root_release(roots[0]);
	ck_assert_int_eq(root_cache_find(&cache, (uint32_t)children[2].pid, &roots[2]), ROOT_OTHER);
	ck_assert_uint_eq(cache.roots.count, 2);
	ck_assert(cache.roots.items[0] == roots[0] || cache.roots.items[1] == roots[0]);
	ck_assert_uint_eq(roots[0]->users, 0);
	root_cache_trim(&cache);
	ck_assert_uint_eq(cache.roots.count, 1);
	ck_assert_ptr_eq(cache.roots.items[0], roots[2]);
	ck_assert_int_eq(root_cache_find(&cache, (uint32_t)getpid(), &roots[1]), ROOT_OWN);
	ck_assert_int_eq(root_cache_find(&cache, 4000000, &roots[1]), ROOT_UNKNOWN);
	root_release(roots[2]);
	root_release(NULL);
	root_cache_free(&cache);
	for (size_t i = 3; i-- > 0;)
		child_end(&children[i]);
	ck_assert_uint_eq(count_descriptors(), descriptors);
}

int main(void)
{
	pid_t pid = fork();
	if (!pid) {
		child_go(PLACE_NAMESPACE);
		child_go(PLACE_CHROOT);
		_exit(0);
	}
	int status;
	if (waitpid(pid, &status, 0) != pid || status) {
		puts("1..0 # SKIP no permission to make a mount namespace and a chroot (CAP_SYS_ADMIN, "
		     "CAP_SYS_CHROOT)");
		return EXIT_SUCCESS;
	}
	return run_all_tests(0, NULL, NULL);
}
