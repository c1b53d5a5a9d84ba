/* SPDX-License-Identifier: Apache-2.0 */
/* See cgroup_mounts.h. */
#include "run/cgroup_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular_file.h"

#define PROC_CGROUP_SIZE_MAX 65536

/*
 * Returns the id of a v1 hierarchy, 0 if it is unknown. Its mount options contain its controllers or its name, which
 * identify its line in /proc/self/cgroup: "ID:CONTROLLER,CONTROLLER:PATH" or "ID:name=NAME:PATH".
 */
static uint32_t hierarchy_of(const char *proc_cgroup, const struct mntent *mount)
{
	for (const char *line = proc_cgroup; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		unsigned id;
		char controller[256];
		if (sscanf(line, "%u:%255[^:,\n]", &id, controller) == 2 && id && hasmntopt(mount, controller))
			return id;
	}
	return 0;
}

static int mount_add(struct cgroup_mounts *mounts, const struct mntent *mount, const char *proc_cgroup)
{
	bool is_v2 = strcmp(mount->mnt_type, "cgroup2") == 0;
	struct stat status;
	if ((!is_v2 && strcmp(mount->mnt_type, "cgroup") != 0) || stat(mount->mnt_dir, &status))
		return 0;
	struct cgroup_mount added = { .device = status.st_dev,
				      .hierarchy = is_v2 ? 0 : hierarchy_of(proc_cgroup, mount) };
	if (!is_v2 && !added.hierarchy)
		return 0;
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->items[i].device == added.device)
			return 0; /* mounted elsewhere, too */
	added.folder = strdup(mount->mnt_dir);
	if (!added.folder || !array_push(mounts, added)) {
		free(added.folder);
		return -ENOMEM;
	}
	struct cgroup_mount *last = &mounts->items[mounts->count - 1];
	if (is_v2 && mounts->count > 1) {
		added = mounts->items[0];
		mounts->items[0] = *last;
		*last = added;
	}
	return 0;
}

int cgroup_mounts_read(struct cgroup_mounts *mounts)
{
	size_t size;
	CLEANUP_CLOSE int descriptor = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *proc_cgroup = descriptor < 0 ? NULL : file_read_all(descriptor, PROC_CGROUP_SIZE_MAX, &size);
	if (!proc_cgroup)
		return -errno;
	FILE *file = setmntent("/proc/self/mounts", "re");
	if (!file)
		return -errno;
	struct mntent mount;
	char text[16384];
	int result = 0;
	while (!result && getmntent_r(file, &mount, text, sizeof text))
		result = mount_add(mounts, &mount, proc_cgroup);
	endmntent(file);
	return result;
}

void cgroup_mounts_free(struct cgroup_mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++)
		free(mounts->items[i].folder);
	array_free(mounts);
}
