/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel_sums.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <iaprof/record.h>
#include "kernel_sums.h"
#include "npu/call_graph.h"
#include "npu/driver_functions.h"
#include "ivpu.bpf.skel.h"

void entry_counts_free(struct entry_counts *counts)
{
	keyed_array_free(&counts->sent);
	free(counts->values);
}

/* Returns the node of a function, or 0 when out of memory. */
static uint32_t node_of(struct call_drain *drain, const char *name, uint64_t time, struct call_place *place)
{
	char short_name[128];
	const struct ivpu_function *known = ivpu_function_find(name);

	call_name_shorten(name, short_name, sizeof short_name);
	const struct call_entry *entry = call_entry_find(short_name);
	place->place.phase = ivpu_phase_alone(known, short_name, call_entry_is_outermost(entry));
	uint32_t function = call_records_function(&drain->records, name, ivpu_family_name(known->family),
						  IAPROF_CALL_FUNCTION, time);
	return call_records_lone_node(&drain->records, function, entry, time);
}

static int count_send(struct entry_counts *counts, uint64_t key, uint64_t count, uint64_t now)
{
	struct call_drain *drain = counts->drain;
	const struct function_list *list = drain->probes->list;
	uint32_t index = key & (IVPU_FUNCTIONS_MAX - 1);
	struct call_place place = { 0 };

	/* Map contents are not trusted. */
	if (index >= list->count)
		return 0;
	struct calls calls = { .node = node_of(drain, list->functions[index].name, counts->last_time, &place),
			       .pid = (uint32_t)(key >> 32),
			       .count = count,
			       .first_time = counts->last_time,
			       .last_time = now };
	if (!calls.node)
		return drain->host->fail(drain->host, ENOMEM, "out of memory");
	drain->callback(drain->callback_context, index, &calls, &place);
	return call_records_add(&drain->records, &calls);
}

int entry_counts_turn(struct entry_counts *counts)
{
	struct call_drain *drain = counts->drain;
	const struct bpf_map *entries = drain->probes->skeleton->maps.entries;
	int map = bpf_map__fd(entries), cpus = libbpf_num_possible_cpus(), result = 0;
	uint64_t key, *before = NULL, now = drain->host->clock(drain->host);

	if (cpus <= 0 || (!counts->values && !(counts->values = calloc((size_t)cpus, sizeof *counts->values))))
		return drain->host->fail(drain->host, ENOMEM, "out of memory");
	counts->last_time = counts->last_time ? counts->last_time : now;
	/* Keys are only added, so the iteration sees each. The loop is bounded in case the map changes. */
	for (uint32_t i = 0; i < bpf_map__max_entries(entries) && !result && !bpf_map_get_next_key(map, before, &key);
	     i++) {
		const struct entry_count added = { .key = key };
		uint32_t position = keyed_array_add(&counts->sent, &added);
		uint64_t sum = 0;
		before = &key;
		if (position == POSITION_NONE)
			return drain->host->fail(drain->host, ENOMEM, "out of memory");
		if (bpf_map_lookup_elem(map, &key, counts->values))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			sum += counts->values[cpu];
		uint64_t *sent = &counts->sent.items[position].count;
		if (sum > *sent)
			result = count_send(counts, key, sum - *sent, now);
		*sent = sum;
	}
	counts->last_time = now;
	return result ? result : call_records_flush(&drain->records);
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
		result = record_batch_add_histogram(
			batch,
			&(struct record_histogram){ .name = function->name,
						    .unit = "nanoseconds",
						    .begin = begin,
						    .sum = histogram.sum,
						    .maximum = histogram.maximum,
						    .buckets = (const uint64_t *)histogram.buckets,
						    .bucket_count = IVPU_BUCKETS },
			time);
	}
	return result;
}

void buffer_sizes_read(const struct probes *probes, struct npu_use *use)
{
	const struct bpf_map *sizes = probes->skeleton->maps.buffer_sizes;
	uint64_t key = 0, bytes;

	/* Keys are only added, so the iteration sees each. The loop is bounded in case the map changes. */
	for (uint32_t i = 0; i < bpf_map__max_entries(sizes); i++) {
		if (bpf_map_get_next_key(bpf_map__fd(sizes), i ? &key : NULL, &key))
			break;
		if (!bpf_map_lookup_elem(bpf_map__fd(sizes), &key, &bytes))
			npu_use_add_allocated(use, (uint32_t)(key >> 32), (uint32_t)key, bytes);
	}
}
