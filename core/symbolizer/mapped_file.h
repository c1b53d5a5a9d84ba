/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file behind a mapping and makes sure that it still is the one that was mapped. */
#ifndef IAPROF_CORE_SYMBOLIZER_MAPPED_FILE_H
#define IAPROF_CORE_SYMBOLIZER_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include "broker/broker.h"
#include "process/process.h"

struct mapped_file {
	int descriptor;
	struct file_identity identity;
};

struct mapped_file_request {
	const struct process *process;
	const struct mapping *mapping;
	uint64_t latest; /* CLOCK_MONOTONIC ns at which the mapping was surely there, so a newer file is another one; 0:
			    not known */
	bool live;       /* the process may be asked for its files */
	const struct deadline *deadline;
};

/*
 * Opens the file. The caller closes the descriptor. Returns 0, or a negative errno: -ENOENT and -ESTALE when the file
 * is gone or another one is in its place, -ENODATA when nothing identifies it, and those of broker_open().
 */
int mapped_file_open(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request);

#endif
