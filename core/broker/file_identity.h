/* SPDX-License-Identifier: Apache-2.0 */
/* What tells one content of one file from any other. */
#ifndef IAPROF_CORE_BROKER_FILE_IDENTITY_H
#define IAPROF_CORE_BROKER_FILE_IDENTITY_H

#include <stdint.h>

/*
 * The Linux kernel alone sets the device and the time of the last change (ctime), so nobody can make another file that
 * has the identity of one that was there before. All zero and then filled, so that it can be compared as bytes.
 */
struct file_identity {
	uint64_t device, inode, size;
	int64_t modified, changed, born; /* CLOCK_REALTIME ns; born 0: the file system does not record it */
	uint32_t owner, mode;            /* user id, and the permission bits */
};

#endif
