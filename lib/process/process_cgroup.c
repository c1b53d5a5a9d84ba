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

#define CONTAINER_ID_LENGTH 64
#define CONTAINER_ID_SHOWN 12

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

/* Reads the cgroups of a process: a line for each hierarchy of version 1, or one. NULL if it has ended. */
static char *read_cgroups(uint32_t pid)
{
	char path[64], *lines = NULL;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/cgroup", pid);
	small_file_read(path, &lines);
	return lines;
}

/* Returns the path of the next cgroup; NULL if there are no more. */
static const char *next_cgroup(char **rest)
{
	for (char *line; *rest && (line = strsep(rest, "\n"));) {
		const char *colon = strchr(line, ':');
		colon = colon ? strchr(colon + 1, ':') : NULL;
		if (colon)
			return colon + 1;
	}
	return NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);
	return length > end_length && !strcmp(text + length - end_length, end);
}

void cgroup_service_read(const char *path, char service[CONTAINER_NAME_SIZE])
{
	char pod[POD_UID_SIZE];
	cgroup_names_read(path, service, pod);
	if (strspn(service, "0123456789abcdef") == CONTAINER_ID_LENGTH)
		service[CONTAINER_ID_SHOWN] = '\0';
	CLEANUP_FREE char *copy = *service ? NULL : strdup(path);
	char *rest = copy;
	for (char *folder; copy && (folder = strsep(&rest, "/"));)
		if ((ends_with(folder, ".service") || ends_with(folder, ".scope")) &&
		    strlen(folder) < CONTAINER_NAME_SIZE)
			strcpy(service, folder);
}

void process_service_read(uint32_t pid, char service[CONTAINER_NAME_SIZE])
{
	CLEANUP_FREE char *lines = read_cgroups(pid);
	char *rest = lines;
	service[0] = '\0';
	for (const char *path; !*service && (path = next_cgroup(&rest));)
		cgroup_service_read(path, service);
}

void process_cgroup_read(uint32_t pid, char container[CONTAINER_NAME_SIZE], char pod[POD_UID_SIZE])
{
	CLEANUP_FREE char *lines = read_cgroups(pid);
	char *rest = lines;
	container[0] = pod[0] = '\0';
	/* The first one with a name is used. */
	for (const char *path; (path = next_cgroup(&rest));) {
		char container_here[CONTAINER_NAME_SIZE], pod_here[POD_UID_SIZE];
		cgroup_names_read(path, container_here, pod_here);
		if (!*container)
			strcpy(container, container_here);
		if (!*pod)
			strcpy(pod, pod_here);
	}
}
