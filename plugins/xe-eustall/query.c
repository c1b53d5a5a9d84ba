/* SPDX-License-Identifier: Apache-2.0 */
/* See query.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "query.h"
#include "row_layout.h"
#include "xe_uapi.h"

/* Ring buffers have 128 to 512 KiB. */
#define BUFFER_SIZE_MAX (64u << 20)
#define RATE_MAX (1u << 24)

int query_parse_device_id(const void *answer, size_t size, uint16_t *device_id)
{
	struct xe_query_config head;
	uint64_t value;

	if (size < sizeof head + sizeof value)
		return -EINVAL;
	memcpy(&head, answer, sizeof head);
	if (head.num_params <= XE_CONFIG_DEVICE_ID)
		return -EINVAL;
	memcpy(&value, (const char *)answer + sizeof head, sizeof value);
	*device_id = (uint16_t)value;
	return 0;
}

int query_parse_gts(const void *answer, size_t size, struct query_gts *gts)
{
	struct xe_query_gt_list head;

	if (size < sizeof head)
		return -EINVAL;
	memcpy(&head, answer, sizeof head);
	if (head.num_gt > QUERY_GTS_MAX || head.num_gt > (size - sizeof head) / sizeof(struct xe_gt))
		return -EINVAL;
	*gts = (struct query_gts){ .count = head.num_gt };
	for (size_t i = 0; i < gts->count; i++) {
		struct xe_gt gt;
		memcpy(&gt, (const char *)answer + sizeof head + i * sizeof gt, sizeof gt);
		for (size_t k = 0; k < i; k++)
			if (gts->gts[k].id == gt.gt_id)
				return -EINVAL;
		gts->gts[i] = (struct query_gt){ .id = gt.gt_id,
						 .main = gt.type == XE_GT_MAIN,
						 .version_major = gt.ip_ver_major,
						 .version_minor = gt.ip_ver_minor };
	}
	return 0;
}

/* Counts the Xe-cores of one GT: some support only geometry, some only compute. */
static int count_xe_cores(const unsigned char *answer, size_t size, struct query_gt *gt)
{
	unsigned char cores[QUERY_XE_CORES_MAX / 8] = { 0 };

	while (size) {
		struct xe_query_topology_mask mask;
		if (size < sizeof mask)
			return -EINVAL;
		memcpy(&mask, answer, sizeof mask);
		answer += sizeof mask;
		size -= sizeof mask;
		if (mask.num_bytes > size)
			return -EINVAL;
		bool is_xe_cores = mask.type == XE_TOPOLOGY_GEOMETRY || mask.type == XE_TOPOLOGY_COMPUTE;
		for (uint32_t i = 0; is_xe_cores && mask.gt_id == gt->id && i < mask.num_bytes; i++) {
			if (i < sizeof cores)
				cores[i] |= answer[i];
			else if (answer[i])
				return -EINVAL;
		}
		answer += mask.num_bytes;
		size -= mask.num_bytes;
	}
	gt->xe_cores = 0;
	for (size_t i = 0; i < sizeof cores; i++)
		gt->xe_cores += (uint32_t)__builtin_popcount(cores[i]);
	return 0;
}

int query_parse_topology(const void *answer, size_t size, struct query_gts *gts)
{
	int result = 0;

	for (size_t i = 0; !result && i < gts->count; i++)
		result = count_xe_cores(answer, size, &gts->gts[i]);
	return result;
}

static int rate_compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

int query_parse_eu_stall(const void *answer, size_t size, struct query_eu_stall *eu_stall)
{
	struct xe_query_eu_stall head;

	*eu_stall = (struct query_eu_stall){ 0 };
	if (size < sizeof head)
		return -EINVAL;
	memcpy(&head, answer, sizeof head);
	if (head.record_size != ROW_SIZE || !head.per_xecore_buf_size || head.per_xecore_buf_size % ROW_SIZE ||
	    head.per_xecore_buf_size > BUFFER_SIZE_MAX || !head.num_sampling_rates ||
	    head.num_sampling_rates > QUERY_RATES_MAX ||
	    head.num_sampling_rates > (size - sizeof head) / sizeof(uint64_t))
		return -EINVAL;
	eu_stall->row_size = (uint32_t)head.record_size;
	eu_stall->buffer_size = (uint32_t)head.per_xecore_buf_size;
	for (size_t i = 0; i < head.num_sampling_rates; i++) {
		uint64_t rate;
		memcpy(&rate, (const char *)answer + sizeof head + i * sizeof rate, sizeof rate);
		if (!rate || rate > RATE_MAX)
			return -EINVAL;
		eu_stall->rates[i] = (uint32_t)rate;
	}
	qsort(eu_stall->rates, head.num_sampling_rates, sizeof *eu_stall->rates, rate_compare);
	for (size_t i = 0; i < head.num_sampling_rates; i++)
		if (!i || eu_stall->rates[i] != eu_stall->rates[i - 1])
			eu_stall->rates[eu_stall->rate_count++] = eu_stall->rates[i];
	return 0;
}
