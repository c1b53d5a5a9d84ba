/* SPDX-License-Identifier: Apache-2.0 */
/* See target_cgroup.h. */
#include "run/target_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <iaprof/host.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/log.h"
#include "process/cgroup_processes.h"
#include "run/cgroup_mounts.h"
#include "process/container_names.h"

/* Limits on the search for containers in each hierarchy. */
#define FOLDERS_MAX 65536u
#define DEPTH_MAX 64
/* Maximum number of containers that a message lists. */
#define LISTED_MAX 8

void target_cgroup_free(struct target_cgroup *cgroup)
{
	free(cgroup->folder);
	*cgroup = (struct target_cgroup){ 0 };
}

/* Returns whether a cgroup or one below it has a process. */
static bool is_populated(const char *folder)
{
	struct process_list processes = { 0 };
	(void)cgroup_processes_add(folder, &processes);
	bool found = processes.count > 0;
	array_free(&processes);
	return found;
}

/* Sets the cgroup if the folder is one of the mounted hierarchies. Returns false if it is not. */
static bool take_folder(struct target_cgroup *cgroup, const struct cgroup_mounts *mounts, char *folder)
{
	struct stat status;
	if (stat(folder, &status) || !S_ISDIR(status.st_mode))
		return false;
	for (size_t i = 0; i < mounts->count; i++) {
		if (mounts->items[i].device != status.st_dev)
			continue;
		free(cgroup->folder);
		*cgroup = (struct target_cgroup){ .folder = folder,
						  .id = status.st_ino,
						  .hierarchy = mounts->items[i].hierarchy };
		return true;
	}
	return false;
}

static int read_mounts(struct cgroup_mounts *mounts, struct error *error)
{
	int result = cgroup_mounts_read(mounts);
	if (!result && !mounts->count)
		return error_set(error, ENOENT, "no cgroup hierarchy is mounted (mount -t cgroup2 none DIR)");
	return result ? error_set(error, result, "cgroup hierarchies: %s", strerror(-result)) : 0;
}

int target_cgroup_find(struct target_cgroup *cgroup, const char *path, struct error *error)
{
	CLEANUP(cgroup_mounts_free) struct cgroup_mounts mounts = { 0 };
	int result = read_mounts(&mounts, error);
	if (result)
		return error_wrap(error, "--cgroup %s", path);
	char *folder = realpath(path, NULL);
	if (folder && take_folder(cgroup, &mounts, folder))
		return 0;
	bool exists = folder != NULL;
	free(folder);
	/* With both versions, a path often exists in several hierarchies, and has processes in some of them. */
	for (size_t i = 0; i < mounts.count && !(cgroup->folder && is_populated(cgroup->folder)); i++) {
		CLEANUP_FREE char *joined = format_new("%s/%s", mounts.items[i].folder, path);
		folder = joined ? realpath(joined, NULL) : NULL;
		bool is_better = folder && (!cgroup->folder || is_populated(folder));
		if (!is_better || !take_folder(cgroup, &mounts, folder))
			free(folder);
	}
	if (cgroup->folder)
		return 0;
	return error_set(error, ENOENT, "--cgroup %s: %s", path,
			 exists ? "not a cgroup (use a folder of a mounted hierarchy, or a path in /proc/PID/cgroup)"
				: "no such cgroup");
}

struct container {
	char *name, *folder;
	uint32_t hierarchy;
};

struct search {
	ARRAY(struct container) found;
	uint32_t hierarchy;
	unsigned folders;
	bool is_incomplete;
	char path[PATH_MAX];
};

static void container_free(struct container *container)
{
	free(container->name);
	free(container->folder);
}

static void search_free(struct search *search)
{
	for (size_t i = 0; i < search->found.count; i++)
		container_free(&search->found.items[i]);
	array_free(&search->found);
}

static int found_add(struct search *search, const char *name)
{
	struct container found = { strdup(name), strdup(search->path), search->hierarchy };
	if (found.name && found.folder && array_push(&search->found, found))
		return 0;
	container_free(&found);
	return -ENOMEM;
}

/* Searches the folder search->path for containers, and does not descend into those it finds. */
static int search_folder(struct search *search, int depth)
{
	size_t length = strlen(search->path);
	DIR *folder = opendir(search->path);
	int result = 0;
	for (struct dirent *entry; folder && !result && (entry = readdir(folder));) {
		char name[CONTAINER_NAME_SIZE];
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (search->folders++ >= FOLDERS_MAX || depth == DEPTH_MAX ||
		    length + 1 + strlen(entry->d_name) >= sizeof search->path) {
			search->is_incomplete = true;
			continue;
		}
		snprintf(search->path + length, sizeof search->path - length, "/%s", entry->d_name);
		result = container_name_read(entry->d_name, name) ? found_add(search, name)
								  : search_folder(search, depth + 1);
		search->path[length] = '\0';
	}
	if (folder)
		closedir(folder);
	return result;
}

static int container_compare(const void *left, const void *right)
{
	const struct container *a = left, *b = right;
	int names = strcmp(a->name, b->name);
	return names ? names : (a->hierarchy > b->hierarchy) - (a->hierarchy < b->hierarchy);
}

/* Keeps the containers named id. If there are none, keeps those whose names begin with id. */
static void keep_matching(struct search *search, const char *id)
{
	size_t length = strlen(id), kept = 0;
	for (size_t i = 0; i < search->found.count; i++)
		if (strcmp(search->found.items[i].name, id) == 0)
			length = SIZE_MAX;
	for (size_t i = 0; i < search->found.count; i++) {
		struct container *found = &search->found.items[i];
		if (strncmp(found->name, id, length) == 0)
			search->found.items[kept++] = *found;
		else
			container_free(found);
	}
	search->found.count = kept;
}

/* Writes the names of the containers, sorted, each once. */
static void list_names(const struct search *search, char *text, size_t size)
{
	unsigned listed = 0;
	*text = '\0';
	for (size_t i = 0; i < search->found.count; i++) {
		const char *name = search->found.items[i].name;
		size_t length = strlen(text);
		if (i && strcmp(name, search->found.items[i - 1].name) == 0)
			continue;
		if (listed++ == LISTED_MAX) {
			snprintf(text + length, size - length, " ...");
			return;
		}
		snprintf(text + length, size - length, "%s%s", length ? ", " : "", name);
	}
}

/* Chooses one of the cgroups of a single container: that of v2, or the first one with processes. */
static int choose(struct target_cgroup *cgroup, const struct search *search, const struct cgroup_mounts *mounts,
		  const char *id, struct error *error)
{
	const struct container *items = search->found.items, *chosen = NULL;
	for (size_t i = 1; i < search->found.count; i++)
		if (items[i].hierarchy == items[i - 1].hierarchy)
			return error_set(error, EEXIST,
					 "--container %s: two cgroups have this id: %s and %s (use --cgroup)", id,
					 items[i - 1].folder, items[i].folder);
	for (size_t i = 0; i < search->found.count && !chosen; i++)
		chosen = is_populated(items[i].folder) ? &items[i] : NULL;
	char *folder = strdup(chosen ? chosen->folder : items[0].folder);
	if (folder && take_folder(cgroup, mounts, folder)) {
		log_message(IAPROF_LOG_INFO, "container %s: %s", items[0].name, folder);
		return 0;
	}
	free(folder);
	return error_set(error, ENOENT, "--container %s: the container has ended", id);
}

int target_cgroup_find_container(struct target_cgroup *cgroup, const char *id, struct error *error)
{
	CLEANUP(cgroup_mounts_free) struct cgroup_mounts mounts = { 0 };
	CLEANUP(search_free) struct search search = { 0 };
	char known[1024];
	int result = read_mounts(&mounts, error);
	if (result)
		return error_wrap(error, "--container %s", id);
	for (size_t i = 0; !result && i < mounts.count; i++) {
		search.hierarchy = mounts.items[i].hierarchy;
		search.folders = 0;
		snprintf(search.path, sizeof search.path, "%s", mounts.items[i].folder);
		result = search_folder(&search, 0);
	}
	if (result)
		return error_set(error, result, "--container %s: out of memory", id);
	if (search.is_incomplete)
		log_message(IAPROF_LOG_WARNING, "--container: only %u cgroups of a hierarchy were searched",
			    FOLDERS_MAX);
	if (search.found.count)
		qsort(search.found.items, search.found.count, sizeof *search.found.items, container_compare);
	list_names(&search, known, sizeof known);
	/* Kubernetes reports "containerd://ID". */
	const char *scheme = strstr(id, "://"), *name = scheme ? scheme + 3 : id;
	keep_matching(&search, name);
	if (!search.found.count)
		return error_set(error, ENOENT, "--container %s: no such container (found: %s)", id,
				 *known ? known : "none");
	if (strcmp(search.found.items[0].name, search.found.items[search.found.count - 1].name) != 0) {
		list_names(&search, known, sizeof known);
		return error_set(error, EEXIST, "--container %s: ambiguous: %s", id, known);
	}
	return choose(cgroup, &search, &mounts, name, error);
}
