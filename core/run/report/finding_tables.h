/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that sources send as notes (FINDING in iaprof/record.h), for the terminal. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "profile/findings.h"

/* Returns whether a finding is a row of a table. */
bool finding_is_row(const struct finding *finding);

/* Prints the tables, numbers aligned to the right and the names of rows last. */
void finding_tables_print(const struct findings *findings, FILE *file);
