/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as answers of the xe driver's queries; the first byte says of which. */
#include <stdint.h>
#include <stdlib.h>

#include "xe-eustall/query.h"

static void check(int good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct query_gts gts = { .count = 2, .gts = { { .id = 0, .main = true }, { .id = 1 } } };
	struct query_eu_stall eu_stall;
	uint16_t device_id;
	if (!size)
		return 0;
	uint8_t which = *bytes++ % 4;
	size--;
	switch (which) {
	case 0:
		(void)query_parse_device_id(bytes, size, &device_id);
		break;
	case 1:
		if (!query_parse_gts(bytes, size, &gts))
			check(gts.count <= QUERY_GTS_MAX && gts.count * 96 + 8 <= size);
		break;
	case 2:
		if (!query_parse_topology(bytes, size, &gts))
			check(gts.gts[0].xe_cores <= QUERY_XE_CORES_MAX && gts.gts[1].xe_cores <= 8 * size);
		break;
	default:
		if (query_parse_eu_stall(bytes, size, &eu_stall))
			break;
		check(eu_stall.row_size == 64 && eu_stall.buffer_size && eu_stall.buffer_size % 64 == 0);
		check(eu_stall.rate_count && eu_stall.rate_count <= QUERY_RATES_MAX);
		for (size_t i = 1; i < eu_stall.rate_count; i++)
			check(eu_stall.rates[i - 1] && eu_stall.rates[i - 1] < eu_stall.rates[i]);
	}
	return 0;
}
