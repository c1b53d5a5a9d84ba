/* SPDX-License-Identifier: Apache-2.0 */
/* See mount_trust.h. */
#include "broker/mount_trust.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <linux/nsfs.h>

#include "base/cleanup.h"

/* Returns the id of the mount of an open file, as in mountinfo; 0 if it is unknown. */
static uint64_t mount_of(int descriptor)
{
	struct statx status;
	if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status))
		return 0;
	return status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
}

/* proc_pid_mountinfo(5): "36 35 98:0 /root /mount options - type source options" */
static bool has_mount(const char *path, uint64_t mount)
{
	char line[4096];
	bool begins = true;
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file)) {
		uint64_t id;
		size_t length = strlen(line);
		if (begins && sscanf(line, "%" SCNu64, &id) == 1 && id == mount)
			return true;
		begins = length && line[length - 1] == '\n';
	}
	return false;
}

bool mount_is_trusted(int descriptor, int root, uint32_t pid)
{
	uint64_t mount = mount_of(descriptor);
	char path[64];
	if (!mount || (root >= 0 && mount == mount_of(root)) || has_mount("/proc/self/mountinfo", mount))
		return true;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/mountinfo", pid);
	return pid && has_mount(path, mount);
}

bool mount_namespace_has_other_users(uint32_t pid)
{
	char path[64];
	struct stat theirs, ours;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/ns/mnt", pid);
	CLEANUP_CLOSE int mounts = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int users = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
	return users < 0 || fstat(users, &theirs) || stat("/proc/self/ns/user", &ours) || theirs.st_ino != ours.st_ino;
}
