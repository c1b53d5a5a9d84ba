/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest functions and stacks of a profile as tables for a terminal. */
#pragma once

#include <stdio.h>
#include <iaprof/profile.h>

/* Prints the tables of each value type, width columns wide (at least 40). */
void top_table_print(const struct iaprof_profile *profile, int width, FILE *file);
