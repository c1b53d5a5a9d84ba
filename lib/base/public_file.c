/* SPDX-License-Identifier: Apache-2.0 */
/* See public_file.h. */
#include "base/public_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular_file.h"

/* Local file systems: served only by the Linux kernel. */
static const char *const local_file_systems[] = { "bcachefs", "btrfs", "erofs", "ext2",    "ext3",  "ext4",
						  "f2fs",     "jfs",   "ntfs3", "overlay", "ramfs", "squashfs",
						  "tmpfs",    "vfat",  "exfat", "iso9660", "xfs",   "zfs" };

/* Reads the mount id of a descriptor, without calling its file system. Returns false if unknown. */
static bool mount_of(int descriptor, uint64_t *id)
{
	char path[64], line[256];
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	bool found = false;
	while (file && !found && fgets(line, sizeof line, file))
		found = sscanf(line, "mnt_id: %" SCNu64, id) == 1;
	return found;
}

/* "36 35 98:0 /root /place rw,noatime master:1 - ext4 /dev/root rw": the type follows the "-" (proc(5)). */
static bool is_local_type(char *line)
{
	char *type = strstr(line, " - ");
	if (!type)
		return false;
	type += 3;
	type[strcspn(type, " ")] = '\0';
	for (size_t i = 0; i < sizeof local_file_systems / sizeof *local_file_systems; i++)
		if (!strcmp(type, local_file_systems[i]))
			return true;
	return false;
}

/* A component of a path. Its descriptor pins the mount: the id stays valid. */
struct place {
	int descriptor; /* O_PATH; -1: none */
	uint64_t mount;
};

static bool is_local(uint64_t mount)
{
	CLEANUP_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;
	uint64_t id;
	bool local = false;
	while (file && !local && getline(&line, &capacity, file) > 0)
		local = sscanf(line, "%" SCNu64 " ", &id) == 1 && id == mount && is_local_type(line);
	return local;
}

/* Checks a component of a path; parent is on a local file system (NULL: the root folder). */
static int check(struct place *place, const struct place *parent, bool is_last, const char **why)
{
	struct stat status;
	*why = "not on a local file system (set sources=FOLDER)";
	if (!mount_of(place->descriptor, &place->mount) ||
	    (!(parent && parent->mount == place->mount) && !is_local(place->mount)))
		return -EACCES;
	*why = "not found";
	if (fstat(place->descriptor, &status))
		return -errno;
	*why = "path contains a symbolic link (set sources=FOLDER)";
	if (S_ISLNK(status.st_mode))
		return -ELOOP;
	*why = is_last ? "not a regular file" : "not found";
	if (is_last ? !S_ISREG(status.st_mode) : !S_ISDIR(status.st_mode))
		return -EINVAL;
	*why = "not readable by all users (set sources=FOLDER)";
	return status.st_mode & (is_last ? S_IROTH : S_IXOTH) ? 0 : -EACCES;
}

/* Advances to an entry of a folder. */
static int step(struct place *place, const char *name, bool is_last, const char **why)
{
	*why = "not found";
	if (!strcmp(name, ".."))
		return -EINVAL;
	/* Without O_DIRECTORY, no file system is mounted on demand (automount). */
	struct place next = { .descriptor = openat(place->descriptor, name, O_PATH | O_NOFOLLOW | O_CLOEXEC) };
	if (next.descriptor < 0)
		return -errno;
	int result = check(&next, place, is_last, why);
	close(place->descriptor);
	*place = next;
	return result;
}

int public_file_open(const char *path, const char **why)
{
	struct place place = { .descriptor = open("/", O_PATH | O_CLOEXEC) };
	*why = "open error";
	int result = place.descriptor < 0 ? -errno : check(&place, NULL, false, why);
	bool is_file = false;
	if (!result && *path != '/') {
		*why = "path is not absolute (set sources=FOLDER)";
		result = -EINVAL;
	}
	while (!result && *(path += strspn(path, "/"))) {
		char name[NAME_MAX + 1] = "";
		size_t length = strcspn(path, "/");
		is_file = !path[length];
		if (length <= NAME_MAX)
			memcpy(name, path, length);
		result = step(&place, name, is_file, why);
		path += length;
	}
	if (!result && !is_file) {
		*why = "not a regular file";
		result = -EISDIR;
	}
	if (!result) {
		*why = "open error";
		result = descriptor_reopen(place.descriptor);
	}
	if (place.descriptor >= 0)
		close(place.descriptor);
	return result;
}
