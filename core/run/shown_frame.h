/* SPDX-License-Identifier: Apache-2.0 */
/* A frame as a line of a table on the terminal. */
#ifndef IAPROF_CORE_RUN_SHOWN_FRAME_H
#define IAPROF_CORE_RUN_SHOWN_FRAME_H

#include <stdbool.h>
#include <stdio.h>
#include <iaprof/profile.h>

/* Writes its name, cut off at width columns, a mark of its kind, and a newline. */
void shown_frame_print(const struct iaprof_frame *frame, int width, FILE *file);

/* Instructions and why they stalled are within a function; what they wait for is shown only by sinks that ask. */
bool shown_frame_is_function(const struct iaprof_frame *frame);

#endif
