/* SPDX-License-Identifier: Apache-2.0 */
/* A difference on the terminal: what the totals are, and the functions that became more and less. */
#ifndef IAPROF_CORE_RUN_DIFFERENCE_TABLE_H
#define IAPROF_CORE_RUN_DIFFERENCE_TABLE_H

#include <stdio.h>
#include <iaprof/profile.h>

/* Writes the functions of each value type that grew most and shrank most, width columns wide (at least 60). */
void difference_table_print(const struct iaprof_profile *profile, int width, FILE *file);

/* The totals of each value type, and what earlier values are multiplied by, as messages. */
void difference_report(const struct iaprof_profile *profile);

#endif
