/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the file of a mapping and verifies that it is still the file that was mapped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "broker/broker.h"
#include "process/process.h"

struct mapped_file {
	int descriptor;
	struct file_identity identity;
	int root; /* in which it was found, as in struct process */
};

struct mapped_file_request {
	const struct process *process;
	const struct mapping *mapping;
	uint64_t latest; /* CLOCK_MONOTONIC ns at which the mapping existed: newer files are others; 0 if unknown */
	bool live;       /* the files of the process in /proc may be opened */
	const struct deadline *deadline;
};

/*
 * Opens the file. The caller closes the descriptor. Returns 0, or a negative errno: -ENOENT or -ESTALE if the file is
 * gone or was replaced, -ENODATA if it cannot be identified, and those of broker_open().
 */
int mapped_file_open(struct mapped_file *file, struct broker *broker, const struct mapped_file_request *request);

/* Returns whether a file is younger than the mapping (latest as in mapped_file_request), and thus another file. */
bool mapped_file_is_newer(const struct file_identity *identity, uint64_t latest);
/* Returns whether an open file is as it was when it was identified. */
bool mapped_file_is_unchanged(const struct file_identity *identity, int descriptor);
