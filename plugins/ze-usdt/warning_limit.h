/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limit for warnings about other processes, which may be endless: few lines, and a count of those suppressed. */
#pragma once

#include <iaprof/host.h>

/* Set host; zero the rest. */
struct warning_limit {
	const struct iaprof_host *host;
	uint64_t begin;   /* start of the current period */
	uint32_t printed; /* in this period */
	uint64_t left_out;
};

void warning_limit_log(struct warning_limit *warnings, const char *format, ...) IAPROF_PRINTF(2, 3);
/* Reports the number of suppressed warnings. */
void warning_limit_report(struct warning_limit *warnings);
