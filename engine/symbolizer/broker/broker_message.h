/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between iaprof and its broker: READY, then OPEN (with the root folder, unless it is iaprof's own) and
 * OPENED.
 */
#pragma once

#include <stdint.h>
#include "symbolizer/broker/file_identity.h"

#define BROKER_PROGRAM "iaprof-broker"

enum broker_message { BROKER_OPEN = 1, BROKER_OPENED, BROKER_READY };

/* OPEN: followed by the path, without a NUL. */
struct broker_open {
	uint32_t user, group;  /* ids whose permissions apply; UINT32_MAX: iaprof's own */
	uint32_t follow_links; /* 0: not at the end of the path */
	uint32_t pid;          /* process that has mounted the device; 0 if none */
	uint32_t has_root, has_device;
	uint32_t device_major, device_minor; /* device of the file, if has_device */
	uint32_t user_mounts;
	uint32_t is_memory; /* opens /proc/PID/mem of pid, instead of the path */
};

/* OPENED: with a descriptor if code is 0. */
struct broker_opened {
	int32_t code; /* 0 or a negative errno of file_open() */
	uint32_t reserved;
	struct file_identity identity;
};
