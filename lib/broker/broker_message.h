/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between a process and its broker: READY, then OPEN (with the root folder, unless it is iaprof's own) and
 * OPENED, or READ (with a descriptor to read from, if that is wanted) and BYTES.
 */
#pragma once

#include <stdint.h>
#include "broker/file_identity.h"

#define BROKER_PROGRAM "iaprof-broker"

enum broker_message { BROKER_OPEN = 1, BROKER_OPENED, BROKER_READY, BROKER_READ, BROKER_BYTES };

/* Limit on what follows the struct of READ or BYTES. */
#define BROKER_BYTES_MAX ((uint32_t)64 << 10)

/* OPEN: followed by the path, without a NUL. */
struct broker_open {
	uint32_t user, group;  /* ids whose permissions apply; UINT32_MAX: iaprof's own */
	uint32_t follow_links; /* 0: not at the end of the path */
	uint32_t pid;          /* process that has mounted the device; 0 if none */
	uint32_t has_root, has_device;
	uint32_t device_major, device_minor; /* device of the file, if has_device */
	uint32_t user_mounts;
	uint32_t is_memory;  /* opens /proc/PID/mem of pid, instead of the path */
	uint32_t in_process; /* the root folder is that of the process, and no symbolic link is followed */
	uint32_t is_folder;  /* answered by an O_PATH descriptor of a folder */
	uint32_t is_path;    /* answered by an O_PATH descriptor of a file that is not checked */
};

/* OPENED: with a descriptor if code is 0. */
struct broker_opened {
	int32_t code; /* 0 or a negative errno of file_open() */
	uint32_t reserved;
	struct file_identity identity;
};

enum broker_source {
	BROKER_MAPS, /* /proc/PID/maps and the like */
	BROKER_ENVIRONMENT,
	BROKER_COMMAND_LINE,
	BROKER_MEMORY,     /* of the process */
	BROKER_DESCRIPTOR, /* the one sent along */
	BROKER_RANKS,      /* of many processes: followed by their ids; answered by struct process_rank */
	BROKER_IDENTITIES  /* of mapped files: followed by struct broker_range; answered by struct file_identity */
};

struct broker_read {
	uint32_t source; /* enum broker_source */
	uint32_t pid;
	uint64_t address; /* BROKER_MEMORY */
	uint32_t size;    /* bytes wanted */
	uint32_t is_next; /* of a file: continues where the last request ended */
};

struct broker_range {
	uint64_t start, end;
};

/* BYTES: followed by the bytes, fewer than wanted only at the end. */
struct broker_bytes {
	int32_t code; /* 0 or a negative errno */
	uint32_t reserved;
};
