/* SPDX-License-Identifier: Apache-2.0 */
/* Destination of an instance's outputs, and checks that it is writable. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Initialise with OUTPUT_TARGET_INIT, then output_target_set(). */
struct output_target {
	char *path;            /* owned; "-" standard output; NULL not set */
	const char *extension; /* the sink's extension: "folded" */
	int descriptor;        /* a non-regular file, opened before the run; -1: a regular file, or not opened */
	bool is_null_device;
	bool opened_stream;
	bool is_private;        /* files are readable only by their owner */
	char *written;          /* owned; name of the last regular file that is complete; NULL: none */
	uint64_t written_count; /* of such files */
	uint32_t run;           /* of those of this process that write to this path, from 1; 0: the only one */
	/*
	 * Returns the CLOCK_MONOTONIC time in ns until which a write that has waited for its reader since the given
	 * time may wait; UINT64_MAX, or a NULL callback: no limit. Any thread.
	 */
	uint64_t (*write_by)(void *context, uint64_t since);
	void *context;
	/* Increases with each write, and while one waits for a reader within the limit of write_by. */
	atomic_uint_least64_t activity;
};

#define OUTPUT_TARGET_INIT ((struct output_target){ .descriptor = -1 })

static inline bool is_standard_output(const char *path)
{
	return path[0] == '-' && !path[1];
}

/* Returns the name of an output for messages. */
static inline const char *output_path_shown(const char *path)
{
	return is_standard_output(path) ? "standard output" : path;
}

int output_target_set(struct output_target *target, const char *path, struct error *error);
void output_target_release(struct output_target *target);

/*
 * Checks before the run that a file can be written: the folder exists and is writable, the path is not a folder, and no
 * name controlled by another user leads to a device. Opens nothing. Sets *identity to a string that is equal for
 * targets that refer to the same file under different names; the caller frees it. NULL for /dev/null, which several
 * outputs may share.
 */
int output_target_check(const struct output_target *target, char **identity, struct error *error);
/* Opens a non-regular file, so that a run that cannot write does not start. Never waits for a reader. */
int output_target_hold(struct output_target *target, struct error *error);
/* Returns whether the output is a terminal, under any name. */
bool output_target_is_terminal(const struct output_target *target);
/* Returns whether all output of the sink goes to one stream. */
bool output_target_is_stream(const struct output_target *target);
