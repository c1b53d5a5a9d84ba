/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files whose paths, contents and file systems other users chose. open() can block forever (a FUSE server that
 * does not reply, a network file system), so it is called by a helper process, the broker, which is killed and
 * restarted if it does not answer in time. Only regular files on ordinary file systems are opened, with the permissions
 * of a given user. Owned by one thread; not locked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/deadline.h"
#include "symbolizer/broker/file_identity.h"

struct broker;

/* Timeout for one file, in ns. On a local file system, opening takes about 30 us. */
#define BROKER_TIMEOUT UINT64_C(500000000)
/* Timeout for the start of the broker, in ns. */
#define BROKER_TIMEOUT_START UINT64_C(10000000000)

#define BROKER_OWN_RIGHTS ((uid_t)-1)

struct file_request {
	const char *path; /* as seen from root */
	int root;         /* O_PATH descriptor of a root folder; negative: iaprof's own */
	uid_t user;       /* user whose permissions apply, or BROKER_OWN_RIGHTS */
	gid_t group;
	bool follow_links; /* also a symbolic link at the end of the path */
	/*
	 * A process and the device of the file according to its mapping: checked before the file is touched. pid 0:
	 * none.
	 */
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

/* Returns the CPU time of the broker, in ns. */
uint64_t broker_cpu_time(struct broker *broker);

/* Returns the reason why a file could not be opened, for the user: "not a regular file". */
const char *broker_reason(int code);
