/* SPDX-License-Identifier: Apache-2.0 */
/* See process_cgroup.h. */
#include "process/process_cgroup.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/small_file.h"

void cgroup_names_read(const char *path, char container[CONTAINER_NAME_SIZE], char pod[POD_UID_SIZE])
{
	CLEANUP_FREE char *copy = strdup(path);
	char *rest = copy;
	container[0] = pod[0] = '\0';
	for (char *folder; copy && (folder = strsep(&rest, "/"));) {
		char name[CONTAINER_NAME_SIZE];
		if (container_name_read(folder, name))
			strcpy(container, name);
		/* "kubepods-burstable-podUID.slice" with '_' for '-', or "podUID". */
		const char *uid = strstr(folder, "pod");
		while (uid && !isxdigit((unsigned char)uid[3]))
			uid = strstr(uid + 3, "pod");
		size_t length = uid ? strspn(uid + 3, "0123456789abcdef-_") : 0;
		if (length != POD_UID_SIZE - 1)
			continue;
		for (size_t i = 0; i < length; i++)
			pod[i] = uid[3 + i] == '_' ? '-' : uid[3 + i];
		pod[length] = '\0';
	}
}

void process_cgroup_read(uint32_t pid, char container[CONTAINER_NAME_SIZE], char pod[POD_UID_SIZE])
{
	char path[64];
	CLEANUP_FREE char *lines = NULL;
	container[0] = pod[0] = '\0';
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/cgroup", pid);
	small_file_read(path, &lines);
	char *rest = lines;
	/* Each hierarchy of version 1 has a line; the first one with a name is used. */
	for (char *line; lines && (line = strsep(&rest, "\n"));) {
		char container_here[CONTAINER_NAME_SIZE], pod_here[POD_UID_SIZE];
		const char *colon = strchr(line, ':');
		colon = colon ? strchr(colon + 1, ':') : NULL;
		if (!colon)
			continue;
		cgroup_names_read(colon + 1, container_here, pod_here);
		if (!*container)
			strcpy(container, container_here);
		if (!*pod)
			strcpy(pod, pod_here);
	}
}
