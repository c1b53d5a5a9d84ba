/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a frame for tables on the terminal. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <iaprof/profile.h>

/* Prints the name, truncated to width columns, a marker of its kind, and a newline. */
void frame_text_print(const struct iaprof_frame *frame, int width, FILE *file);

/* Returns whether a frame is a function; instructions, stall reasons and producers belong to one. */
bool frame_text_is_function(const struct iaprof_frame *frame);
