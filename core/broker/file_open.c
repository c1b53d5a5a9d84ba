/* SPDX-License-Identifier: Apache-2.0 */
/* Opening one file that others chose: see file_open.h. */
#include "broker/file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/magic.h>
#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/clock.h"

/*
 * File systems that programs are on, by statfs(2): local disks, memory, images of containers, and network file systems
 * that an administrator mounts. Missing on purpose: FUSE, whose server can be any user's program; and /proc, /sys and
 * their like, where reading has effects. Numbers that linux/magic.h lacks are from each file system's source.
 */
static const uint32_t ordinary[] = {
	EXT4_SUPER_MAGIC,
	XFS_SUPER_MAGIC,
	BTRFS_SUPER_MAGIC,
	F2FS_SUPER_MAGIC,
	TMPFS_MAGIC,
	OVERLAYFS_SUPER_MAGIC,
	SQUASHFS_MAGIC,
	EROFS_SUPER_MAGIC_V1,
	RAMFS_MAGIC,
	ISOFS_SUPER_MAGIC,
	UDF_SUPER_MAGIC,
	MSDOS_SUPER_MAGIC,
	EXFAT_SUPER_MAGIC,
	REISERFS_SUPER_MAGIC,
	NFS_SUPER_MAGIC,
	CEPH_SUPER_MAGIC,
	SMB2_SUPER_MAGIC,
	CIFS_SUPER_MAGIC,
	V9FS_MAGIC,
	AFS_SUPER_MAGIC,
	HUGETLBFS_MAGIC,
	0x2fc12fc1 /* zfs */,
	0xca451a4e /* bcachefs */,
	0x3153464a /* jfs */,
	0x3434 /* nilfs */,
	0x7366746e /* ntfs3 */,
	0x0bd00bd0 /* lustre */,
	0x47504653 /* gpfs */,
	0x19830326 /* beegfs */,
	0x786f4256 /* vboxsf */,
	0xbacbacbc /* vmhgfs */,
};

/* The names of FUSE's kinds in mountinfo: "fuse", "fuse.sshfs", "fuseblk". virtiofs is the host's. */
static bool is_fuse_type(const char *type)
{
	return strncmp(type, "fuse", 4) == 0;
}

/*
 * An overlay that a user mounted can have a FUSE server below it, and close() of a file there waits for that without
 * end.
 */
static bool is_ordinary(int descriptor, bool user_mounts)
{
	struct statfs status;
	if (fstatfs(descriptor, &status) || (user_mounts && (uint32_t)status.f_type == OVERLAYFS_SUPER_MAGIC))
		return false;
	for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
		if ((uint32_t)status.f_type == ordinary[i])
			return true;
	return false;
}

/*
 * Whether a process has mounted this device as a file system that is not ordinary (proc_pid_mountinfo(5): "36 35 98:0
 * /root /mount options - type source options"). Asks no file system. Where the device is unknown, the file decides.
 */
static bool is_on_fuse(const struct broker_open *request)
{
	char path[64], line[4096];
	if (!request->has_device || request->device_major != 0)
		return false;
	snprintf(path, sizeof path, "/proc/%u/mountinfo", request->pid);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file)) {
		unsigned major, minor;
		const char *type = strstr(line, " - ");
		if (type && sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 && major == request->device_major &&
		    minor == request->device_minor)
			return is_fuse_type(type + 3);
	}
	return false;
}

static int64_t nanoseconds(const struct statx_timestamp *time)
{
	return time->tv_sec * (int64_t)NANOSECONDS_PER_SECOND + time->tv_nsec;
}

static int identify(int descriptor, struct file_identity *identity)
{
	struct statx status;
	if (statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status))
		return -errno;
	memset(identity, 0, sizeof *identity);
	identity->device = makedev(status.stx_dev_major, status.stx_dev_minor);
	identity->inode = status.stx_ino;
	identity->size = status.stx_size;
	identity->modified = nanoseconds(&status.stx_mtime);
	identity->changed = nanoseconds(&status.stx_ctime);
	identity->born = status.stx_mask & STATX_BTIME ? nanoseconds(&status.stx_btime) : 0;
	identity->owner = status.stx_uid;
	identity->mode = status.stx_mode & 07777;
	return S_ISREG(status.stx_mode) ? 0 : -EINVAL;
}

/* Opens for reading what an O_PATH descriptor stands for: looking at it first has no effect on a device or a FIFO. */
static int reopen(int found, bool user_mounts, struct file_identity *identity)
{
	int code = identify(found, identity);
	if (code)
		return code;
	if (!is_ordinary(found, user_mounts))
		return -EOPNOTSUPP;
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", found);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return descriptor < 0 ? -errno : descriptor;
}

/* What /proc/PID/map_files/START-END stands for is no path, so links are followed there, and nowhere else. */
static bool is_mapping_of_process(const char *path)
{
	unsigned pid;
	unsigned long start, end;
	int length = 0;
	return sscanf(path, "/proc/%u/map_files/%lx-%lx%n", &pid, &start, &end, &length) == 3 && !path[length];
}

static int open_path(const struct broker_open *request, int root, const char *path, struct file_identity *identity)
{
	struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | (request->follow_links ? 0 : O_NOFOLLOW)),
				.resolve = RESOLVE_NO_MAGICLINKS | (root >= 0 ? (uint64_t)RESOLVE_IN_ROOT : 0) };
	if (root < 0 && is_mapping_of_process(path))
		how = (struct open_how){ .flags = O_PATH | O_CLOEXEC };
	CLEANUP_CLOSE int found = (int)syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &how, sizeof how);
	/* Some containers lack the call; another root cannot be searched safely without it. */
	if (found < 0 && (errno == ENOSYS || errno == EPERM) && root < 0)
		found = open(path, (int)how.flags);
	return found < 0 ? -errno : reopen(found, request->user_mounts, identity);
}

int file_open(const struct broker_open *request, int root, const char *path, struct file_identity *identity)
{
	if (is_on_fuse(request))
		return -EOPNOTSUPP;
	bool as_user = request->user != UINT32_MAX && geteuid() == 0, is_user = true;
	if (as_user) {
		/* Another user than root has none of root's capabilities over files meanwhile (capabilities(7)). */
		setfsgid(request->group);
		setfsuid(request->user);
		/* They fail without a word where the capability or the id is missing. */
		is_user = (uid_t)setfsuid((uid_t)-1) == request->user && (gid_t)setfsgid((gid_t)-1) == request->group;
	}
	int descriptor = is_user ? open_path(request, root, path, identity) : -EPERM;
	if (as_user) {
		setfsuid(0);
		setfsgid(0);
	}
	return descriptor;
}
