/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files of sinks. A regular file is written under a temporary name in its folder and renamed when it is closed,
 * or flushed with IAPROF_OUTPUT_INCREMENTAL, so that a failed run leaves no partial file under the final name. "-" is
 * standard output; existing non-regular files (a pipe, /dev/null) are written in place, waiting for a reader only as
 * long as the run allows (output_target.h). An output is used by one thread.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "run/output/output_target.h"

struct iaprof_output;

/*
 * variant: inserted before the extension; NULL if none. flags: enum iaprof_output_flag. Returns NULL on failure. target
 * must outlive the output.
 */
struct iaprof_output *output_open(struct output_target *target, const char *variant, uint32_t flags,
				  struct error *error);
int output_write(struct iaprof_output *output, const void *data, size_t size, struct error *error);
int output_flush(struct iaprof_output *output, struct error *error);
/* Removes all permissions of users other than the owner. */
int output_make_private(struct iaprof_output *output, struct error *error);
/* Returns its final name, for messages. */
const char *output_name_shown(const struct iaprof_output *output);
/* Both free the output. */
int output_close(struct iaprof_output *output, struct error *error);
void output_discard(struct iaprof_output *output);

/* Removes the temporary files of all open outputs. Async-signal-safe; for a run that ends immediately. */
void output_remove_temporary_files(void);
