/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a differential profile on the terminal: totals, and the functions that grew and shrank most. */
#pragma once

#include <stdio.h>
#include <iaprof/profile.h>

/* Prints the functions of each value type that grew and shrank most, width columns wide (at least 60). */
void difference_table_print(const struct iaprof_profile *profile, int width, FILE *file);

/* Prints the totals of each value type, and the factor of the earlier values, as messages. */
void difference_report(const struct iaprof_profile *profile);
