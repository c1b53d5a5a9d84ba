/* SPDX-License-Identifier: Apache-2.0 */
/* What was called, for the terminal: a table by family while the run goes on, and more tables when it has ended. */
#ifndef IAPROF_CORE_RUN_CALL_REPORT_H
#define IAPROF_CORE_RUN_CALL_REPORT_H

#include <stdio.h>

#include "profile/call_families.h"
#include "profile/histograms.h"

/* By family, by function and by nesting; nothing when nothing was called. duration is the run's, ns. */
void call_report_print(const struct call_tree *tree, uint64_t duration, FILE *file);

/* How many values there were, quantiles and the maximum; jobs. Nothing when there was none. */
void call_report_histograms(const struct histograms *histograms, FILE *file);

/*
 * The table by family of what was called between two times that lie duration ns apart: lines without a newline after
 * the last. Returns its length, less than size; 0 when nothing was called since the beginning.
 */
size_t call_report_live(const struct call_families *before, const struct call_families *now, uint64_t duration,
			char *text, size_t size);

#endif
