/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and reads what other users chose: files by path, files of their processes in /proc, and their memory. Each such
 * call can block forever (a FUSE server that does not reply, a network file system, a process whose lock of its address
 * space is held by a page fault), so it is made by a helper process, the broker, which is killed and restarted if it
 * does not answer in time. Only regular files on ordinary file systems are opened, with the permissions of a given
 * user. Owned by one thread; not locked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "base/deadline.h"
#include "broker/broker_message.h"
#include "broker/file_identity.h"
#include "process/process_rank.h"

struct broker;

/* Timeout for one file, in ns. On a local file system, opening takes about 30 us. */
#define BROKER_TIMEOUT UINT64_C(500000000)
/* Timeout for 64 KiB of a process, which take up to 1 ms, in ns. */
#define BROKER_READ_TIMEOUT UINT64_C(250000000)
/* Timeout for the start of the broker, in ns. */
#define BROKER_TIMEOUT_START UINT64_C(10000000000)

#define BROKER_OWN_RIGHTS ((uid_t)-1)

struct file_request {
	const char *path; /* as seen from root */
	int root;         /* O_PATH descriptor of a root folder; negative: iaprof's own */
	uid_t user;       /* user whose permissions apply, or BROKER_OWN_RIGHTS */
	gid_t group;
	bool follow_links; /* also a symbolic link at the end of the path */
	bool in_process;   /* path is as seen from the process, and has no symbolic link; root is ignored */
	bool is_folder;    /* a folder is opened, with O_PATH */
	bool is_path;      /* the file is opened with O_PATH, and not checked */
	bool has_device;   /* the device is known, and checked before the file is touched */
	/* The process that mapped the file, or that sees the path, and the device according to its mapping. 0: none */
	uint32_t pid, device_major, device_minor;
	bool user_mounts; /* the mount namespace may contain mounts of users */
};

struct broker *broker_new(void);
void broker_free(struct broker *broker);

/*
 * Opens a file for reading. Returns a descriptor, which the caller owns, and its identity; or a negative errno: -EINVAL
 * not a regular file, -EOPNOTSUPP not on an ordinary file system, -ETIMEDOUT its file system did not answer, -EACCES
 * not readable by the user.
 */
int broker_open(struct broker *broker, const struct file_request *request, const struct deadline *deadline,
		struct file_identity *identity);

/*
 * Opens the memory of a process for reading: /proc/PID/mem. Only children of the worker read it, because that can
 * block. Returns a descriptor or a negative errno.
 */
int broker_open_memory(struct broker *broker, uint32_t pid, const struct deadline *deadline);

/*
 * The functions below wait BROKER_READ_TIMEOUT at most, and return a negative errno: -ETIMEDOUT if there was no answer,
 * -EDQUOT if the process did not answer within the last ten seconds, or if processes of the same user have used up the
 * time for which they may be waited for: a second, and 1 % of the run; root, and all others together, two, and 5 %.
 */

/* A file of a process: by its mapping, or if there is none or it has changed, by its path. */
struct target_file_name {
	uint32_t pid;
	uint64_t start, length; /* of the mapping; 0: none */
	const char *path;       /* as seen from the process, without symbolic links; NULL: none */
};
/* Opens it as broker_open(), and fills in *status by fstat(). */
int broker_open_file(struct broker *broker, const struct target_file_name *name, struct stat *status);
/* The same for a folder, as an O_PATH descriptor. */
int broker_open_folder(struct broker *broker, uint32_t pid, const char *path);
/* An O_PATH descriptor of any mapped file, which must not be opened unless its file system is known to answer. */
int broker_open_mapped_path(struct broker *broker, uint32_t pid, uint64_t start, uint64_t length);

/*
 * Reads at most size bytes of a file in /proc/PID: BROKER_MAPS, BROKER_ENVIRONMENT or BROKER_COMMAND_LINE. is_next:
 * continues where the last call ended, otherwise at the beginning. Returns the number of bytes, fewer only at the end.
 */
ssize_t broker_read(struct broker *broker, uint32_t pid, enum broker_source file, bool is_next, void *bytes,
		    size_t size);
/*
 * Reads all of it, with a NUL appended, which the caller frees. Returns NULL if it cannot be read, and sets errno:
 * EFBIG if it has more than 16 MiB.
 */
char *broker_read_all(struct broker *broker, uint32_t pid, enum broker_source file, size_t *length);
/* Reads memory of a process. Returns 0, or -EFAULT if a part of it is not mapped. size: at most BROKER_BYTES_MAX. */
int broker_read_memory(struct broker *broker, uint32_t pid, uint64_t address, void *bytes, size_t size);
/*
 * Reads at most size bytes from a descriptor whose read() reads memory of a process, such as an iterator of BPF.
 * Returns their number, 0 at the end.
 */
ssize_t broker_read_descriptor(struct broker *broker, uint32_t pid, int descriptor, void *bytes, size_t size);

/* Limits on the numbers of processes and of mappings. */
#define BROKER_RANKS_MAX 4096u
#define BROKER_IDENTITIES_MAX 512u
/* Reads the ranks of processes, at most BROKER_RANKS_MAX at once. */
void broker_ranks(struct broker *broker, const uint32_t *pids, size_t count, struct process_rank *ranks);
/* Identifies files of mappings without opening them. inode 0: it has none, or is no regular file. Returns 0. */
int broker_identify(struct broker *broker, uint32_t pid, const struct broker_range *ranges, size_t count,
		    struct file_identity *identities);

/* Returns the CPU time of the broker, in ns. */
uint64_t broker_cpu_time(struct broker *broker);

/* Returns the reason why a file could not be opened, for the user: "not a regular file". */
const char *broker_reason(int code);
