/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of calls for the terminal: by family while the run is active, more detailed at its end. */
#pragma once

#include <stdio.h>

#include "profile/call_families.h"
#include "profile/histograms.h"

/* Prints calls by family, by function and as a tree; nothing without calls. duration: of the run, ns. */
void call_report_print(const struct call_tree *tree, uint64_t duration, FILE *file);

/* Prints count, quantiles and maximum of each distribution, and a summary of the jobs. */
void call_report_histograms(const struct histograms *histograms, FILE *file);

/*
 * Formats the table by family of the calls between two times, duration ns apart, without a newline after the last line.
 * Returns its length, less than size; 0 without calls.
 */
size_t call_report_live(const struct call_families *before, const struct call_families *now, uint64_t duration,
			char *text, size_t size);
