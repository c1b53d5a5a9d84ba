/* SPDX-License-Identifier: Apache-2.0 */
/* See descendants.h. */
#include "process/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/process_maps.h"

struct parent_of {
	uint32_t parent, process;
};

/* Returns the parent in /proc/PID/stat: "PID (NAME) STATE PARENT ...", where NAME may contain anything; 0: unknown. */
static uint32_t parent_read(uint32_t process)
{
	size_t length;
	CLEANUP_FREE char *text = process_file_read((pid_t)process, "stat", &length);
	const char *name_end = text ? strrchr(text, ')') : NULL;
	unsigned parent;
	return name_end && sscanf(name_end, ") %*c %u", &parent) == 1 ? parent : 0;
}

static int parent_compare(const void *left, const void *right)
{
	const struct parent_of *a = left, *b = right;
	return (a->parent > b->parent) - (a->parent < b->parent);
}

static bool is_among(const struct process_list *processes, size_t count, uint32_t process)
{
	for (size_t i = 0; i < count; i++)
		if (processes->items[i] == process)
			return true;
	return false;
}

int descendants_add(struct process_list *processes)
{
	ARRAY(struct parent_of) parents = { 0 };
	int result = 0;
	DIR *folder = opendir("/proc");
	if (!folder)
		return -errno;
	for (struct dirent *entry; !result && (entry = readdir(folder));) {
		char *end;
		unsigned long process = strtoul(entry->d_name, &end, 10);
		if (*end || !process || process > UINT32_MAX)
			continue;
		struct parent_of item = { .parent = parent_read((uint32_t)process), .process = (uint32_t)process };
		if (item.parent && !array_push(&parents, item))
			result = -ENOMEM;
	}
	closedir(folder);
	if (parents.count)
		qsort(parents.items, parents.count, sizeof *parents.items, parent_compare);
	/* A process has one parent, so that only those that were listed before can be found again. */
	size_t known = processes->count;
	for (size_t i = 0; !result && i < processes->count; i++) {
		uint32_t parent = processes->items[i];
		size_t first = array_lower_bound(parents.count, at, parents.items[at].parent < parent);
		for (; !result && first < parents.count && parents.items[first].parent == parent; first++)
			if (!is_among(processes, known, parents.items[first].process) &&
			    !array_push(processes, parents.items[first].process))
				result = -ENOMEM;
	}
	array_free(&parents);
	return result;
}
