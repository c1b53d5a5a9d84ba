/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies the contents of a file. */
#pragma once

#include <stdint.h>

/*
 * Only Linux sets the device and the time of the last change (ctime), so nobody can create another file with the
 * identity of an existing one. Zeroed before it is filled, so that it can be compared as bytes.
 */
struct file_identity {
	uint64_t device, inode, size;
	int64_t modified, changed, born; /* CLOCK_REALTIME ns; born 0: the file system does not record it */
	uint32_t owner, mode;            /* user id and permission bits */
};
