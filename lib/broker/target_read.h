/* SPDX-License-Identifier: Apache-2.0 */
/* Reads processes, on behalf of iaprof: each function may wait for them forever. Only iaprof-broker calls them. */
#pragma once

#include <sys/types.h>

#include "broker/broker_message.h"

/* The file that is read piece by piece. */
struct target_file {
	int descriptor; /* -1: none */
	uint32_t source, pid;
};

/*
 * Answers a request. list: what follows it, of list_size bytes. descriptor: the one sent along, or -1. bytes: room for
 * BROKER_BYTES_MAX bytes. Returns the number of bytes or a negative errno.
 */
ssize_t target_read(struct target_file *file, const struct broker_read *request, const void *list, size_t list_size,
		    int descriptor, void *bytes);
