/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a profile, for a terminal. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <iaprof/profile.h>

#include "stacks/value_choice.h"

/* For these, only: a value type; VALUE_TYPE_NONE: each with values. */

/* Prints the hottest functions and stacks of a value type, width columns wide (at least 40). */
void hottest_tables_print(const struct iaprof_profile *profile, uint32_t only, int width, FILE *file);
/* Prints the functions that grew and shrank most in a value type, width columns wide (at least 60). */
void difference_tables_print(const struct iaprof_profile *profile, uint32_t only, int width, FILE *file);
/* Prints the totals of a value type in both runs, one line each, and warnings of what cannot be compared. */
void difference_totals_print(const struct iaprof_profile *profile, uint32_t only, FILE *file);

/* Prints calls by family, by function and as a tree; nothing without calls. duration: of the run, ns; 0: not known. */
void call_tables_print(const struct iaprof_activity *activity, uint64_t duration, FILE *file);
/* Prints count, quantiles and maximum of each distribution, and a summary of the jobs. */
void histogram_table_print(const struct iaprof_activity *activity, FILE *file);
/* Prints the tables that sources send as notes (text/table_row.h): numbers aligned to the right, names of rows last. */
void finding_tables_print(const struct iaprof_activity *activity, FILE *file);

/* Prints the name of a frame, truncated to width columns, a marker of its kind, and a newline. */
void frame_print(const struct iaprof_frame *frame, int width, FILE *file);
