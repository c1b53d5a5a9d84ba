/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files of sinks. A regular file is written under a temporary name in its folder and renamed when it is closed
 * or published, so that a failed run leaves no half of a file under the final name. "-" is standard output; what exists
 * and is no regular file (a pipe, /dev/null) is written to as it is, and waits for its reader only as long as the run
 * allows (output_target.h). An output is used on one thread.
 */
#ifndef IAPROF_CORE_RUN_OUTPUT_H
#define IAPROF_CORE_RUN_OUTPUT_H

#include <stddef.h>

#include "base/error.h"
#include "run/output_target.h"

struct iaprof_output;

/* variant: put before the extension; NULL none. NULL after a failure. target outlives the output. */
struct iaprof_output *output_open(struct output_target *target, const char *variant, struct error *error);
int output_write(struct iaprof_output *output, const void *data, size_t size, struct error *error);
int output_flush(struct iaprof_output *output, struct error *error);
/* Flushes, and gives a file its final name already: from here on it stays, whatever happens. */
int output_publish(struct iaprof_output *output, struct error *error);
/* Takes the file from all but its owner. */
int output_make_private(struct iaprof_output *output, struct error *error);
/* Both free the output. */
int output_close(struct iaprof_output *output, struct error *error);
void output_discard(struct iaprof_output *output);

/* Removes the temporary files of all open outputs. Async-signal-safe; for a run that is ended at once. */
void output_remove_temporary_files(void);

#endif
