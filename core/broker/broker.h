/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files whose paths, contents and file systems other users chose. The call itself can block for ever (a FUSE
 * server that does not reply, a network file system), so it is made by a helper process, the broker, which is ended and
 * started anew when it does not answer in time. Only regular files on ordinary file systems are opened, with the rights
 * of a given user. Belongs to one thread; not locked.
 */
#ifndef IAPROF_CORE_BROKER_BROKER_H
#define IAPROF_CORE_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/deadline.h"
#include "broker/file_identity.h"

struct broker;

/* The longest wait for one file, in ns. On a local file system it takes some 30 us. */
#define BROKER_TIMEOUT UINT64_C(500000000)
/* The longest wait for a broker that is only starting, which needs files of its own. */
#define BROKER_TIMEOUT_START UINT64_C(10000000000)

#define BROKER_OWN_RIGHTS ((uid_t)-1)

struct file_request {
	const char *path; /* as seen from root */
	int root;         /* O_PATH descriptor of a root folder; negative: iaprof's own */
	uid_t user;       /* to open it as, or BROKER_OWN_RIGHTS */
	gid_t group;
	bool follow_links; /* also one at the end of the path */
	/* A process, and the device that it says the file is on: looked up before the file is touched. pid 0 none. */
	uint32_t pid, device_major, device_minor;
	bool user_mounts; /* seen through a mount namespace where a user may have mounted anything */
};

struct broker *broker_new(void);
void broker_free(struct broker *broker);

/*
 * Opens a file for reading. Returns a descriptor, which the caller owns, and its identity; or a negative errno: -EINVAL
 * not a regular file, -EOPNOTSUPP not on an ordinary file system, -ETIMEDOUT the file system did not answer, -EACCES
 * the user may not read it.
 */
int broker_open(struct broker *broker, const struct file_request *request, const struct deadline *deadline,
		struct file_identity *identity);

/* ns of CPU time that it used. */
uint64_t broker_cpu_time(const struct broker *broker);

/* Why a file could not be opened, for the user: "not a regular file". */
const char *broker_reason(int code);

#endif
