/* SPDX-License-Identifier: Apache-2.0 */
/* See link_holds.h. */
#include "bpf/link_holds.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"

/* Closes that wait at the same time. */
#define THREADS_MAX 64u

/* Returns whether a descriptor is a link, or the perf event of a probe that it is for. */
static bool is_link(int folder, const char *name)
{
	static const char *const kinds[] = { "anon_inode:bpf_link", "anon_inode:bpf-link", "anon_inode:[perf_event]" };
	char target[64];
	ssize_t length = readlinkat(folder, name, target, sizeof target - 1);
	target[length > 0 ? length : 0] = '\0';
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(target, kinds[i]) == 0)
			return true;
	return false;
}

void link_holds_take(struct link_holds *holds)
{
	CLEANUP_CLOSEDIR DIR *folder = opendir("/proc/self/fd");
	ARRAY(int) links = { 0 };
	*holds = (struct link_holds){ 0 };
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (is_link(dirfd(folder), entry->d_name))
			(void)array_push(&links, atoi(entry->d_name));
	for (size_t i = 0; i < links.count; i++) {
		int descriptor = fcntl(links.items[i], F_DUPFD_CLOEXEC, 0);
		if (descriptor >= 0 && !array_push(&holds->descriptors, descriptor))
			close(descriptor);
	}
	array_free(&links);
}

/* What threads close in turn. */
struct closing {
	const struct link_holds *holds;
	atomic_size_t next;
};

static void *close_next(void *context)
{
	struct closing *closing = context;
	for (size_t i; (i = atomic_fetch_add(&closing->next, 1)) < closing->holds->descriptors.count;)
		close(closing->holds->descriptors.items[i]);
	return NULL;
}

void link_holds_close(struct link_holds *holds)
{
	pthread_t threads[THREADS_MAX];
	struct closing closing = { .holds = holds };
	size_t count = 0;
	while (count < THREADS_MAX && count + 1 < holds->descriptors.count &&
	       !thread_start(&threads[count], close_next, &closing))
		count++;
	close_next(&closing);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	array_free(&holds->descriptors);
}
