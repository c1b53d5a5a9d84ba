/* SPDX-License-Identifier: Apache-2.0 */
/* The file of --status-file: a line with the result of the run, enum exit_status, as a number. */
#pragma once

#include "run/run.h"

/*
 * Checks that the file, if there is one, can be written. *identity: as of output_target_check(); NULL: none. Returns 0,
 * or a negative errno and sets error.
 */
int status_file_check(const char *path, char **identity, struct error *error);
/* Writes the file, with the guards of other outputs (output/output.h). Returns 0, or a negative errno and sets error.
 */
int status_file_write(const char *path, enum exit_status status, struct error *error);
