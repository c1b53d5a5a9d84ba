/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest functions and stacks of a profile as tables for a terminal. */
#ifndef IAPROF_CORE_RUN_REPORT_TOP_TABLE_H
#define IAPROF_CORE_RUN_REPORT_TOP_TABLE_H

#include <stdio.h>
#include <iaprof/profile.h>

/* Prints the tables of each value type, width columns wide (at least 40). */
void top_table_print(const struct iaprof_profile *profile, int width, FILE *file);

#endif
