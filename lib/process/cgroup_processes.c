/* SPDX-License-Identifier: Apache-2.0 */
/* See cgroup_processes.h. */
#include "process/cgroup_processes.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define DEPTH_MAX 128

/* path has room for PATH_MAX bytes, and is restored. */
static int add_folder(char *path, int depth, struct process_list *processes)
{
	size_t length = strlen(path);
	int result = 0;
	snprintf(path + length, PATH_MAX - length, "/cgroup.procs");
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	path[length] = '\0';
	if (!file)
		return errno == ENOENT ? 0 : -errno; /* it was removed */
	for (uint32_t pid; !result && fscanf(file, "%u", &pid) == 1;)
		if (pid && !array_push(processes, pid))
			result = -ENOMEM;
	DIR *folder = depth < DEPTH_MAX ? opendir(path) : NULL;
	for (struct dirent *entry; folder && !result && (entry = readdir(folder));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    length + 1 + strlen(entry->d_name) + sizeof "/cgroup.procs" > PATH_MAX)
			continue;
		snprintf(path + length, PATH_MAX - length, "/%s", entry->d_name);
		result = add_folder(path, depth + 1, processes);
		path[length] = '\0';
	}
	if (folder)
		closedir(folder);
	return result;
}

int cgroup_processes_add(const char *folder, struct process_list *processes)
{
	char path[PATH_MAX];
	/* Leaves room for the name of the file in it. */
	if (strlen(folder) + sizeof "/cgroup.procs" > sizeof path)
		return -ENAMETOOLONG;
	snprintf(path, sizeof path, "%s", folder);
	return add_folder(path, 0, processes);
}
