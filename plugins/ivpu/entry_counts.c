/* SPDX-License-Identifier: Apache-2.0 */
/* See entry_counts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <iaprof/record.h>
#include "call_graph.h"
#include "driver_functions.h"
#include "entry_counts.h"
#include "trace_place.h"
#include "ivpu.bpf.skel.h"

void entry_counts_free(struct entry_counts *counts)
{
	keyed_array_free(&counts->sent);
	free(counts->values);
}

/* Returns the node of a function, or 0 when out of memory: only one that nothing else calls can be placed. */
static uint32_t node_of(struct call_drain *drain, const char *name, uint64_t time, struct call_place *place)
{
	char short_name[128];
	const struct ivpu_function *known = ivpu_function_find(name);

	call_name_shorten(name, short_name, sizeof short_name);
	const struct call_entry *entry = call_entry_find(short_name);
	bool is_outermost = entry && !entry->may_be_nested;
	if (is_outermost || known->event == IVPU_EVENT_PAGE_MAP)
		place->place.phase = ivpu_phase_of(IVPU_PHASE_UNKNOWN, short_name);
	uint32_t function = call_records_function(&drain->records, name, ivpu_family_name(known->family),
						  IAPROF_CALL_FUNCTION, time);
	uint32_t parent = is_outermost ? 0 : trace_context_node(&drain->records, TRACE_ORDER_UNKNOWN, time);
	return function && (is_outermost || parent) ? call_records_node(&drain->records, parent, function, time) : 0;
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
