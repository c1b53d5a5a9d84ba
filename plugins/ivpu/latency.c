/* SPDX-License-Identifier: Apache-2.0 */
/* See latency.h. */
#include <errno.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <iaprof/record.h>
#include "driver_functions.h"
#include "ivpu_shared.h"
#include "latency.h"
#include "ivpu.bpf.skel.h"

struct histogram_record {
	struct iaprof_record_histogram head;
	uint64_t buckets[IVPU_BUCKETS];
};

static int histogram_send(const struct ivpu_histogram *histogram, const char *function, struct record_batch *batch,
			  uint64_t begin, uint64_t time)
{
	struct histogram_record record = {
		.head = { .header = { .size = sizeof record, .type = IAPROF_RECORD_HISTOGRAM, .time = time },
			  .begin = begin,
			  .sum = histogram->sum,
			  .maximum = histogram->maximum,
			  .bucket_count = IVPU_BUCKETS },
	};

	for (uint32_t i = 0; i < IVPU_BUCKETS; i++) {
		record.buckets[i] = histogram->buckets[i];
		record.head.count += histogram->buckets[i];
	}
	if (!record.head.count)
		return 0;
	record.head.name = record_batch_text(batch, function);
	record.head.unit = record_batch_text(batch, "nanoseconds");
	return record_batch_append(batch, &record.head.header);
}

uint64_t latency_longest_boot(const struct probes *probes)
{
	int map = bpf_map__fd(probes->skeleton->maps.histograms);
	uint64_t longest = 0;

	for (uint32_t i = 0; i < probes->list->count; i++) {
		const struct listed_function *function = &probes->list->functions[i];
		enum ivpu_event event = ivpu_function_find(function->name)->event;
		struct ivpu_histogram histogram;
		uint32_t key = function->measured - 1;
		if (!function->measured || (event != IVPU_EVENT_BOOT && event != IVPU_EVENT_RESUME) ||
		    bpf_map_lookup_elem(map, &key, &histogram))
			continue;
		longest = histogram.maximum > longest ? histogram.maximum : longest;
	}
	return longest;
}

int latency_send(const struct probes *probes, struct record_batch *batch, uint64_t begin, uint64_t time)
{
	const struct iaprof_host *host = probes->host;
	int map = bpf_map__fd(probes->skeleton->maps.histograms), result = 0;

	for (uint32_t i = 0; i < probes->list->count && result == 0; i++) {
		const struct listed_function *function = &probes->list->functions[i];
		struct ivpu_histogram histogram;
		uint32_t key = function->measured - 1;
		if (!function->measured)
			continue;
		if (bpf_map_lookup_elem(map, &key, &histogram))
			return host->fail(host, errno, "cannot read the BPF histograms: %s", strerror(errno));
		result = histogram_send(&histogram, function->name, batch, begin, time);
	}
	return result;
}
