/* SPDX-License-Identifier: Apache-2.0 */
/* See file_open.h. */
#include "broker/file_open.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/magic.h>
#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/regular_file.h"
#include "broker/mount_trust.h"

/*
 * File systems that typically contain programs, by their statfs(2) type: local disks, memory, container images, and
 * network file systems that an administrator mounts. Intentionally missing: FUSE, whose server can be any user's
 * program; and /proc, /sys and the like, where reading has side effects. Numbers that linux/magic.h lacks are from the
 * sources of the file systems.
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

/* FUSE types in mountinfo: "fuse", "fuse.sshfs", "fuseblk". virtiofs is served by the host. */
static bool is_fuse_type(const char *type)
{
	return strncmp(type, "fuse", 4) == 0;
}

/*
 * An overlay that a user mounted can have a FUSE server below it, for which close() of a file would wait forever. Its
 * files reach processes of other mount namespaces, too, as open files: what counts is the mount of the file.
 */
static bool is_trusted_overlay(int descriptor, const struct broker_open *request, int root)
{
	if (request->user_mounts)
		return false;
	bool other_users = request->pid && mount_namespace_has_other_users(request->pid);
	return mount_is_trusted(descriptor, other_users ? -1 : root, other_users ? 0 : request->pid);
}

static bool is_ordinary(int descriptor, const struct broker_open *request, int root)
{
	struct statfs status;
	if (fstatfs(descriptor, &status) ||
	    ((uint32_t)status.f_type == OVERLAYFS_SUPER_MAGIC && !is_trusted_overlay(descriptor, request, root)))
		return false;
	for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
		if ((uint32_t)status.f_type == ordinary[i])
			return true;
	return false;
}

/*
 * Returns whether a process has mounted this device as FUSE (proc_pid_mountinfo(5): "36 35 98:0 /root /mount options -
 * type source options"), without calling any file system. If the device is unknown, the file itself decides.
 */
static bool is_on_fuse(const struct broker_open *request)
{
	char path[64], line[4096];
	if (!request->has_device || !request->pid || request->device_major != 0)
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

/* flags: of statx(2) */
static int identify(int folder, const char *path, int flags, struct file_identity *identity)
{
	struct statx status;
	if (statx(folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, &status))
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
	switch (status.stx_mode & S_IFMT) {
	case S_IFREG:
		return 0;
	case S_IFDIR:
		return -EISDIR;
	case S_IFLNK:
		return -ELOOP;
	default:
		return -EINVAL;
	}
}

void file_identify_mapped(uint32_t pid, const struct broker_range *range, struct file_identity *identity)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, range->start, range->end);
	/* A file server might not reply; a forged answer of it has its device, which no other file has. */
	if (identify(AT_FDCWD, path, AT_STATX_DONT_SYNC, identity))
		*identity = (struct file_identity){ 0 };
}

/* Opens the file of an O_PATH descriptor for reading; the checks before have no side effects on a device or a FIFO. */
static int reopen(int found, const struct broker_open *request, int root, struct file_identity *identity)
{
	int code = identify(found, "", AT_EMPTY_PATH, identity);
	if (request->is_folder)
		code = code == -EISDIR ? 0 : -ENOTDIR;
	if (code)
		return code;
	if (!is_ordinary(found, request, root))
		return -EOPNOTSUPP;
	if (request->is_folder)
		return fcntl(found, F_DUPFD_CLOEXEC, 0);
	return descriptor_reopen(found);
}

/* /proc/PID/map_files/START-END does not resolve through a path, so the link is followed there, and nowhere else. */
static bool is_mapping_of_process(const char *path)
{
	unsigned pid;
	unsigned long start, end;
	int length = 0;
	return sscanf(path, "/proc/%u/map_files/%lx-%lx%n", &pid, &start, &end, &length) == 3 && !path[length];
}

static int open_path(const struct broker_open *request, int root, const char *path, struct file_identity *identity)
{
	int flags = O_PATH | (request->follow_links ? 0 : O_NOFOLLOW);
	uint64_t resolve = RESOLVE_NO_MAGICLINKS | (root >= 0 ? (uint64_t)RESOLVE_IN_ROOT : 0) |
			   (request->in_process ? (uint64_t)RESOLVE_NO_SYMLINKS : 0);
	if (root < 0 && is_mapping_of_process(path)) {
		flags = O_PATH;
		resolve = 0;
	}
	CLEANUP_CLOSE int found = path_open(root >= 0 ? root : AT_FDCWD, path, flags, resolve);
	/* Some containers lack the call; without it another root cannot be searched safely. */
	if ((found == -ENOSYS || found == -EPERM) && root < 0) {
		found = open(path, flags | O_CLOEXEC);
		if (found < 0)
			return -errno;
	}
	if (found >= 0 && request->is_path)
		return STEAL_DESCRIPTOR(found);
	return found < 0 ? found : reopen(found, request, root, identity);
}

static int open_memory(uint32_t pid)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/%u/mem", pid);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	return descriptor < 0 ? -errno : descriptor;
}

int file_open(const struct broker_open *request, int given_root, const char *path, struct file_identity *identity)
{
	CLEANUP_CLOSE int process_root = -1;
	int root = given_root;
	if (request->is_memory)
		return open_memory(request->pid);
	if (is_on_fuse(request))
		return -EOPNOTSUPP;
	if (request->in_process) {
		root = process_root = process_root_open(request->pid);
		if (root < 0)
			return root == -ENOENT ? -ESRCH : root;
	}
	bool as_user = request->user != UINT32_MAX && geteuid() == 0, is_user = true;
	if (as_user) {
		/*
		 * Meanwhile, the process has none of root's capabilities over files, unless the user is root
		 * (capabilities(7)).
		 */
		setfsgid(request->group);
		setfsuid(request->user);
		/* They fail silently if the capability or the id is missing. */
		is_user = (uid_t)setfsuid((uid_t)-1) == request->user && (gid_t)setfsgid((gid_t)-1) == request->group;
	}
	int descriptor = is_user ? open_path(request, root, path, identity) : -EPERM;
	if (as_user) {
		setfsuid(0);
		setfsgid(0);
	}
	return descriptor;
}
