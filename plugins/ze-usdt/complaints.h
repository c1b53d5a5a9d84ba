/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about what other processes do, which could be without end: few lines, and a count of what was left out. */
#ifndef IAPROF_ZE_USDT_COMPLAINTS_H
#define IAPROF_ZE_USDT_COMPLAINTS_H

#include <iaprof/host.h>

/* Set host, the rest to zero. */
struct complaints {
	const struct iaprof_host *host;
	uint64_t begin;   /* of the present period */
	uint32_t printed; /* in this period */
	uint64_t left_out;
};

void complain(struct complaints *complaints, const char *format, ...) IAPROF_PRINTF(2, 3);
/* Says how many were left out. */
void complaints_finish(struct complaints *complaints);

#endif
