/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files of sinks. A regular file is written under a temporary name in its folder and renamed when it is closed,
 * so that a failed run leaves no half of a file under the final name. "-" is standard output; what exists and is no
 * regular file (a pipe, /dev/null) is written to as it is. An output is used on one thread.
 */
#ifndef IAPROF_CORE_RUN_OUTPUT_H
#define IAPROF_CORE_RUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Where an instance's outputs go. Zeroed, then output_target_set() or output_target_set_default(). */
struct output_target {
	char *path;            /* owned; "-" standard output; NULL not set */
	const char *extension; /* of the sink: "folded" */
	bool opened_stdout;
};

int output_target_set(struct output_target *target, const char *path, struct error *error);
void output_target_release(struct output_target *target);

/*
 * Whether a file can be written there, before the run begins: the folder exists and can be written, the path is not a
 * folder. *identity is the same text for targets that are one file, whatever they are called; the caller frees it. It
 * is NULL for /dev/null, where nothing gets mixed up.
 */
int output_target_check(const struct output_target *target, char **identity, struct error *error);

struct iaprof_output;

/* variant: put before the extension; NULL none. NULL after a failure. */
struct iaprof_output *output_open(struct output_target *target, const char *variant, struct error *error);
int output_write(struct iaprof_output *output, const void *data, size_t size, struct error *error);
int output_flush(struct iaprof_output *output, struct error *error);
/* Both free the output. */
int output_close(struct iaprof_output *output, struct error *error);
void output_discard(struct iaprof_output *output);

/* Removes the temporary files of all open outputs. Async-signal-safe; for a run that is ended at once. */
void output_remove_temporary_files(void);

#endif
