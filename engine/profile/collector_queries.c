/* SPDX-License-Identifier: Apache-2.0 */
/* What a collector knows of its run: see collector.h. */
#include <stdlib.h>

#include "bus/engine.h"
#include "profile/collector_state.h"

void collector_end_by(struct collector *collector, uint64_t end)
{
	if (collector->symbolizer)
		symbolizer_end_by(collector->symbolizer, end);
}

uint64_t collector_helper_cost(const struct collector *collector)
{
	return collector->symbolizer ? symbolizer_cost(collector->symbolizer) : 0;
}

const char *collector_reading(const struct collector *collector)
{
	return collector->symbolizer ? symbolizer_reading(collector->symbolizer) : NULL;
}

const struct device_gap_sum *collector_gaps(const struct collector *collector, size_t *count)
{
	*count = collector->gaps.has_waits ? collector->gaps.sums.count : 0;
	return collector->gaps.sums.items;
}

uint64_t collector_realtime_offset(const struct collector *collector)
{
	const char *offset = run_metadata_find_metadata(&collector->facts, METADATA_REALTIME_OFFSET);
	return offset ? strtoull(offset, NULL, 10) : 0;
}

struct collector_statistics collector_statistics(const struct collector *collector)
{
	struct collector_statistics statistics = collector->statistics;
	statistics.mappings_refused = process_table_refused(collector->processes, &statistics.mappings_refused_user);
	statistics.roots_refused = process_table_roots_refused(collector->processes, &statistics.roots_refused_user);
	statistics.mappings_dropped = process_table_dropped(collector->processes);
	statistics.threads_merged = collector->threads.merged;
	statistics.spans_dropped = saturating_add(statistics.spans_dropped, collector->cpu_samples.spans_dropped);
	statistics.spans_dropped =
		saturating_add(statistics.spans_dropped, correlator_statistics(collector->correlator).spans_dropped);
	statistics.addresses_nameless = resolver_nameless(collector->resolver);
	statistics.runtimes = resolver_runtimes(collector->resolver);
	if (collector->symbolizer) {
		statistics.symbolizer_warning = symbolizer_warning(collector->symbolizer);
		statistics.refusals =
			symbolizer_refusals(collector->symbolizer, &statistics.refusal_count, &statistics.refused_more);
	}
	statistics.strings_refused = intern_refused_strings(collector->options.intern);
	statistics.kernel_side_time = collector->facts.kernel_side_time;
	statistics.late = collector->order.late;
	statistics.attributed_early = saturating_add(collector->order.early, collector->cpu_samples.early);
	statistics.event_stacks_missed = collector->event_stacks.missed;
	statistics.decoder_failed = code_workers_have_failed(collector->code_workers);
	statistics.device = device_code_statistics(collector->device_code);
	statistics.correlator = correlator_statistics(collector->correlator);
	statistics.samples = saturating_add(saturating_add(statistics.samples, collector->cpu_samples.taken),
					    statistics.correlator.samples);
	statistics.stacks_unknown = saturating_add(collector->cpu_samples.stack_context.stacks_unknown,
						   statistics.correlator.stacks_unknown);
	statistics.out_of_memory = saturating_add(statistics.out_of_memory, collector->cpu_samples.out_of_memory);
	statistics.out_of_memory = saturating_add(statistics.out_of_memory, collector->times.out_of_memory);
	statistics.out_of_memory = saturating_add(statistics.out_of_memory, collector->activity.out_of_memory);
	return statistics;
}

uint64_t collector_lost_count(const struct collector *collector)
{
	uint64_t count = 0;
	for (size_t i = 0; i < collector->loss.entries.count; i++)
		count = saturating_add(count, collector->loss.entries.items[i].count);
	return count;
}

const struct histograms *collector_histograms(const struct collector *collector)
{
	return &collector->histograms;
}

const struct findings *collector_findings(const struct collector *collector)
{
	return &collector->findings;
}

const struct call_tree *collector_calls(const struct collector *collector)
{
	return &collector->calls;
}

const struct sampled_device *collector_devices(const struct collector *collector, size_t *count)
{
	*count = collector->devices.items.count;
	return collector->devices.items.items;
}
