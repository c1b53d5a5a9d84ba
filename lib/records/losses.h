/* SPDX-License-Identifier: Apache-2.0 */
/* Reports losses that are known as growing totals. */
#pragma once

#include <iaprof/host.h>

/*
 * Reports by how much a total exceeds what was reported, which becomes the total. begin: time of the last report.
 * value_type: of which each loss is 1; 0: none.
 */
static inline void losses_report(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t total,
				 uint64_t *reported, uint32_t value_type)
{
	uint64_t count = total - *reported;

	if (count)
		host->lost(host, reason, begin, count, value_type, value_type ? count : 0);
	*reported = total;
}
