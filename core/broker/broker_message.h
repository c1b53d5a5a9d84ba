/* SPDX-License-Identifier: Apache-2.0 */
/* Between iaprof and its broker: READY, then OPEN (with the root folder, if it is not iaprof's own) and OPENED. */
#ifndef IAPROF_CORE_BROKER_BROKER_MESSAGE_H
#define IAPROF_CORE_BROKER_BROKER_MESSAGE_H

#include <stdint.h>
#include "broker/file_identity.h"

#define BROKER_PROGRAM "iaprof-broker"

enum broker_message { BROKER_OPEN = 1, BROKER_OPENED, BROKER_READY };

/* OPEN: the path follows, without a NUL. */
struct broker_open {
	uint32_t user, group;  /* to open it as; UINT32_MAX: iaprof's own rights */
	uint32_t follow_links; /* 0: none at the end of the path */
	uint32_t pid;          /* of a process with the device mounted; 0 none */
	uint32_t has_root, has_device;
	uint32_t device_major, device_minor; /* of the file, where has_device */
	uint32_t user_mounts;
};

/* OPENED: with a descriptor when code is 0. */
struct broker_opened {
	int32_t code; /* 0 or a negative errno, as file_open() has them */
	uint32_t reserved;
	struct file_identity identity;
};

#endif
