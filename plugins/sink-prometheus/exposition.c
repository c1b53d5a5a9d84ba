/* SPDX-License-Identifier: Apache-2.0 */
/* See exposition.h. */
#include "exposition.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/saturating.h"

struct label {
	const char *name, *value;
};

static void append_family(struct text *text, const char *name, const char *type, const char *help)
{
	text_append_format(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Appends a metric with its labels, up to one without a name. A label without a value is left out. */
static void append_name(struct text *text, const char *name, const struct label *labels)
{
	const char *separator = "{";
	text_append_string(text, name);
	for (; labels && labels->name; labels++) {
		if (!*labels->value)
			continue;
		text_append_format(text, "%s%s=", separator, labels->name);
		/* Quotes and backslashes are escaped as in JSON, and there are no line breaks. */
		text_append_json(text, labels->value);
		separator = ",";
	}
	text_append_string(text, *separator == ',' ? "} " : " ");
}

static void append_count(struct text *text, const char *name, const struct label *labels, uint64_t value)
{
	append_name(text, name, labels);
	text_append_format(text, "%" PRIu64 "\n", value);
}

static void append_seconds(struct text *text, const char *name, const struct label *labels, uint64_t nanoseconds)
{
	append_name(text, name, labels);
	text_append_format(text, "%" PRIu64 ".%09" PRIu64 "\n", nanoseconds / NANOSECONDS_PER_SECOND,
			   nanoseconds % NANOSECONDS_PER_SECOND);
}

static void append_cost(struct text *text, const struct metrics *metrics, const struct own_cost *cost)
{
	static const char cpu[] = "process_cpu_seconds_total", memory[] = "process_resident_memory_bytes";
	static const char start[] = "process_start_time_seconds";
	static const char bpf[] = "iaprof_bpf_cpu_seconds_total";
	static const char helper_cpu[] = "iaprof_helper_cpu_seconds_total";
	static const char helper_memory[] = "iaprof_helper_resident_memory_bytes";
	append_family(text, cpu, "counter", "CPU time of iaprof without its helper processes and BPF programs.");
	append_seconds(text, cpu, NULL, cost->cpu);
	append_family(text, helper_cpu, "counter", "CPU time of the helper processes of iaprof.");
	append_seconds(text, helper_cpu, NULL, cost->helper_cpu);
	append_family(text, bpf, "counter", "CPU time of the BPF programs of iaprof, as far as sources report it.");
	append_seconds(text, bpf, NULL, metrics_kernel_side_time(metrics));
	append_family(text, memory, "gauge", "Resident memory of iaprof without its helper processes.");
	if (cost->memory)
		append_count(text, memory, NULL, cost->memory);
	append_family(text, helper_memory, "gauge", "Resident memory of the helper processes of iaprof.");
	append_count(text, helper_memory, NULL, cost->helper_memory);
	append_family(text, start, "gauge", "Start time of iaprof since the Unix epoch.");
	if (cost->start_time > 0)
		text_append_format(text, "%s %.2f\n", start, cost->start_time);
}

static void append_run(struct text *text, const struct metrics *metrics)
{
	static const char info[] = "iaprof_build_info", intervals[] = "iaprof_intervals_total";
	static const char time[] = "iaprof_profile_timestamp_seconds",
			  dropped[] = "iaprof_metrics_dropped_records_total";
	const struct label labels[] = { { "version", PLUGIN_VERSION }, { NULL, NULL } };
	append_family(text, info, "gauge", "Version of iaprof.");
	append_count(text, info, labels, 1);
	append_family(text, intervals, "counter", "Profiles of intervals that are part of these metrics.");
	append_count(text, intervals, NULL, metrics->intervals);
	append_family(text, time, "gauge", "End of the latest interval since the Unix epoch.");
	if (metrics->profile_end)
		append_seconds(text, time, NULL, metrics->profile_end);
	append_family(text, dropped, "counter",
		      "Records that are missing in these metrics (limits, or out of memory).");
	append_count(text, dropped, NULL, metrics->dropped);
}

static void append_samples(struct text *text, const struct metrics *metrics)
{
	static const char samples[] = "iaprof_samples_total", matched[] = "iaprof_matched_samples_total";
	static const char time[] = "iaprof_sampled_seconds_total";
	append_family(text, samples, "counter", "Samples, calls or other events by value type.");
	for (size_t i = 0; i < metrics->types.count; i++) {
		const struct metric_type *type = &metrics->types.items[i];
		append_count(text, samples, (struct label[]){ { "type", type->name.text }, { NULL, NULL } },
			     type->samples);
	}
	append_family(text, matched, "counter",
		      "Those whose GPU kernel is known, or on a CPU the name of the innermost function.");
	for (size_t i = 0; i < metrics->types.count; i++) {
		const struct metric_type *type = &metrics->types.items[i];
		append_count(text, matched, (struct label[]){ { "type", type->name.text }, { NULL, NULL } },
			     type->matched);
	}
	append_family(text, time, "counter", "Time that samples stand for, of value types that are a time.");
	for (size_t i = 0; i < metrics->types.count; i++) {
		const struct metric_type *type = &metrics->types.items[i];
		if (type->is_time)
			append_seconds(text, time, (struct label[]){ { "type", type->name.text }, { NULL, NULL } },
				       type->value);
	}
}

static void append_losses(struct text *text, const struct metrics *metrics)
{
	static const char lost[] = "iaprof_lost_events_total", unknown[] = "iaprof_losses_of_unknown_size_total";
	for (int pass = 0; pass < 2; pass++) {
		append_family(text, pass ? unknown : lost, "counter",
			      pass ? "Losses whose number of events is not known, by source and reason."
				   : "Events that were lost, by source and reason.");
		for (size_t i = 0; i < metrics->losses.count; i++) {
			const struct metric_loss *loss = &metrics->losses.items[i];
			const struct label labels[] = { { "source", loss->source.text },
							{ "reason", loss->reason.text },
							{ NULL, NULL } };
			if (pass ? loss->unknown : loss->count)
				append_count(text, pass ? unknown : lost, labels, pass ? loss->unknown : loss->count);
		}
	}
}

/* The labels of a device, with one more. */
#define DEVICE_LABELS(of, key, text_of_it)                                                                             \
	((struct label[]){ { "source", (of)->source.text },                                                            \
			   { "device", (of)->name.text },                                                              \
			   { "address", (of)->address.text },                                                          \
			   { (key), (text_of_it) },                                                                    \
			   { NULL, NULL } })

static void append_busy(struct text *text, const struct metrics *metrics)
{
	static const char busy[] = "iaprof_device_busy_seconds_total", jobs[] = "iaprof_device_jobs_total";
	static const char ratio[] = "iaprof_device_utilization_ratio";
	append_family(text, busy, "counter", "Time that work of a container kept a device busy.");
	for (uint32_t i = 0; i < metrics->device_count; i++) {
		const struct metric_device *device = &metrics->devices[i];
		for (uint32_t k = 0; k < METRIC_CONTAINERS_MAX; k++)
			if (device->busy[k])
				append_seconds(text, busy,
					       DEVICE_LABELS(device, "container", metrics->containers[k].name.text),
					       device->busy[k]);
	}
	append_family(text, ratio, "gauge", "Utilization that a device reports, from 0 to 1.");
	for (size_t i = 0; i < metrics->engines.count; i++) {
		const struct metric_engine *engine = &metrics->engines.items[i];
		if (!engine->is_known)
			continue;
		append_name(text, ratio,
			    DEVICE_LABELS(&metrics->devices[engine->device], "engine", engine->engine.text));
		text_append_format(text, "%.6g\n", engine->ratio);
	}
	append_family(text, jobs, "counter", "Jobs of a device that ended, by state.");
	for (uint32_t i = 0; i < metrics->device_count; i++) {
		const struct metric_device *device = &metrics->devices[i];
		if (device->jobs_done)
			append_count(text, jobs, DEVICE_LABELS(device, "state", "done"), device->jobs_done);
		if (device->jobs_aborted)
			append_count(text, jobs, DEVICE_LABELS(device, "state", "aborted"), device->jobs_aborted);
	}
}

/* Returns whether an earlier reason of a device has the same name. */
static bool is_repeated(const struct metric_device *device, uint32_t reason)
{
	for (uint32_t i = 0; i < reason; i++)
		if (device->stalls[i] && !strcmp(device->reasons[i].text, device->reasons[reason].text))
			return true;
	return false;
}

static void append_stalls(struct text *text, const struct metrics *metrics)
{
	static const char stalls[] = "iaprof_stall_samples_total";
	append_family(text, stalls, "counter", "Stall samples of a device by reason.");
	for (uint32_t i = 0; i < metrics->device_count; i++) {
		const struct metric_device *device = &metrics->devices[i];
		for (uint32_t k = 0; k < METRIC_REASONS_MAX; k++) {
			uint64_t sum = device->stalls[k];
			if (!sum || is_repeated(device, k))
				continue;
			for (uint32_t next = k + 1; next < METRIC_REASONS_MAX; next++)
				if (!strcmp(device->reasons[next].text, device->reasons[k].text))
					saturating_increase(&sum, device->stalls[next]);
			append_count(text, stalls, DEVICE_LABELS(device, "reason", device->reasons[k].text), sum);
		}
	}
}

void exposition_append(struct text *text, const struct metrics *metrics, const struct own_cost *cost)
{
	append_run(text, metrics);
	append_cost(text, metrics, cost);
	append_samples(text, metrics);
	append_losses(text, metrics);
	append_busy(text, metrics);
	append_stalls(text, metrics);
}
