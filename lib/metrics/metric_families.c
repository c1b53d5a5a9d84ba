/* SPDX-License-Identifier: Apache-2.0 */
/* See metric_families.h. */
#include "metrics/metric_families.h"

#include <string.h>

#include "base/clock.h"
#include "base/saturating.h"

/* Names of OpenTelemetry's semantic conventions where there are any: process, hw. */
enum family {
	BUILD_INFO,
	INTERVALS,
	PROFILE_TIME,
	DROPPED_RECORDS,
	CPU,
	HELPER_CPU,
	BPF_CPU,
	BUDGET,
	CPU_USE,
	RATE,
	MEMORY,
	HELPER_MEMORY,
	START_TIME,
	SINK_ITEMS,
	SINK_WAITING_ITEMS,
	SINK_STORED_BYTES,
	SINK_PROFILE_AGE,
	SINK_BUSY_TIME,
	SINK_QUEUED_BYTES,
	SAMPLES,
	MATCHED,
	SAMPLED_TIME,
	LOST,
	LOST_UNKNOWN,
	BUSY,
	JOBS,
	STALLS,
	UTILIZATION,
	GPU_UTILIZATION,
	OTHER_UTILIZATION,
	DEVICE_MEMORY,
	GPU_MEMORY,
	OTHER_MEMORY,
	POWER,
};

static const struct metric_family families[] = {
	[BUILD_INFO] = { "iaprof_build_info", NULL, "1", METRIC_GAUGE, "Version of iaprof." },
	[INTERVALS] = { "iaprof_intervals_total", "iaprof.intervals", "{interval}", METRIC_COUNTER,
			"Profiles of intervals that are part of these metrics." },
	[PROFILE_TIME] = { "iaprof_profile_timestamp_seconds", "iaprof.profile.timestamp", "s", METRIC_GAUGE,
			   "End of the latest interval since the Unix epoch." },
	[DROPPED_RECORDS] = { "iaprof_metrics_dropped_records_total", "iaprof.metrics.dropped_records", "{record}",
			      METRIC_COUNTER, "Records that are missing in these metrics (limits, or out of memory)." },
	[CPU] = { "process_cpu_seconds_total", "process.cpu.time", "s", METRIC_COUNTER,
		  "CPU time of iaprof without its helper processes and BPF programs." },
	[HELPER_CPU] = { "iaprof_helper_cpu_seconds_total", "iaprof.helper.cpu.time", "s", METRIC_COUNTER,
			 "CPU time of the helper processes of iaprof." },
	[BPF_CPU] = { "iaprof_bpf_cpu_seconds_total", "iaprof.bpf.cpu.time", "s", METRIC_COUNTER,
		      "CPU time of the BPF programs of iaprof, as far as sources report it." },
	[BUDGET] = { "iaprof_cpu_budget_ratio", "iaprof.cpu.budget", "1", METRIC_GAUGE,
		     "Share of the CPU time of all CPUs that iaprof may use; 0: no limit." },
	[CPU_USE] = { "iaprof_cpu_use_ratio", "iaprof.cpu.use", "1", METRIC_GAUGE,
		      "Share of the CPU time of all CPUs that iaprof, its helper processes and BPF programs used in "
		      "the "
		      "latest interval." },
	[RATE] = { "iaprof_sampling_rate_ratio", "iaprof.sampling.rate", "1", METRIC_GAUGE,
		   "Sampling rate in effect, relative to the configured one: less than 1 to hold the budget." },
	[MEMORY] = { "process_resident_memory_bytes", "process.memory.usage", "By", METRIC_SUM,
		     "Resident memory of iaprof without its helper processes." },
	[HELPER_MEMORY] = { "iaprof_helper_resident_memory_bytes", "iaprof.helper.memory.usage", "By", METRIC_SUM,
			    "Resident memory of the helper processes of iaprof." },
	[START_TIME] = { "process_start_time_seconds", NULL, "s", METRIC_GAUGE,
			 "Start time of iaprof since the Unix epoch." },
	[SINK_ITEMS] = { "iaprof_sink_items_total", "iaprof.sink.items", "{item}", METRIC_COUNTER,
			 "Profiles, intervals or data points of a sink that were delivered (or written), refused by "
			 "the "
			 "receiver, or dropped." },
	[SINK_WAITING_ITEMS] = { "iaprof_sink_waiting_items", "iaprof.sink.waiting", "{item}", METRIC_SUM,
				 "Those that wait to be delivered, in memory or in the spool." },
	[SINK_STORED_BYTES] = { "iaprof_sink_stored_bytes", "iaprof.sink.stored", "By", METRIC_SUM,
				"Size of the files of a sink: its spool, or the ring." },
	[SINK_PROFILE_AGE] = { "iaprof_sink_profile_age_seconds", "iaprof.sink.profile.age", "s", METRIC_GAUGE,
			       "Time since the end of the newest profile that a sink has delivered, or since the run "
			       "began." },
	[SINK_BUSY_TIME] = { "iaprof_sink_busy_seconds_total", "iaprof.sink.busy.time", "s", METRIC_COUNTER,
			     "Time for which a sink was in a callback." },
	[SINK_QUEUED_BYTES] = { "iaprof_sink_queued_bytes", "iaprof.sink.queued", "By", METRIC_SUM,
				"Size of records and profiles that wait for a sink." },
	[SAMPLES] = { "iaprof_samples_total", "iaprof.samples", "{sample}", METRIC_COUNTER,
		      "Samples, executions, calls or other events by value type." },
	[MATCHED] = { "iaprof_matched_samples_total", "iaprof.samples.matched", "{sample}", METRIC_COUNTER,
		      "Those whose device kernel is known, or on a CPU the name of the innermost function." },
	[SAMPLED_TIME] = { "iaprof_sampled_seconds_total", "iaprof.samples.time", "s", METRIC_COUNTER,
			   "Time of value types that are a time: of samples of CPUs, executions on devices, or "
			   "waits." },
	[LOST] = { "iaprof_lost_events_total", "iaprof.events.lost", "{event}", METRIC_COUNTER,
		   "Events that were lost, by source and reason." },
	[LOST_UNKNOWN] = { "iaprof_losses_of_unknown_size_total", "iaprof.losses.unknown_size", "{loss}",
			   METRIC_COUNTER, "Losses whose number of events is not known, by source and reason." },
	[BUSY] = { "iaprof_device_busy_seconds_total", "iaprof.device.busy.time", "s", METRIC_COUNTER,
		   "Time that work of a container kept a device busy." },
	[JOBS] = { "iaprof_device_jobs_total", "iaprof.device.jobs", "{job}", METRIC_COUNTER,
		   "Jobs of a device that ended, by state." },
	[STALLS] = { "iaprof_stall_samples_total", "iaprof.device.stall.samples", "{sample}", METRIC_COUNTER,
		     "Stall samples of a device by reason." },
	/* The conventions have names for GPUs, and none for other devices. */
	[UTILIZATION] = { "iaprof_device_utilization_ratio", NULL, "1", METRIC_GAUGE,
			  "Utilization that a device reports, from 0 to 1." },
	[GPU_UTILIZATION] = { NULL, "hw.gpu.utilization", "1", METRIC_GAUGE,
			      "Utilization that a GPU reports, from 0 to 1." },
	[OTHER_UTILIZATION] = { NULL, "iaprof.device.utilization", "1", METRIC_GAUGE,
				"Utilization that a device other than a GPU reports, from 0 to 1." },
	[DEVICE_MEMORY] = { "iaprof_device_memory_bytes", NULL, "By", METRIC_SUM,
			    "Memory in use that a device reports." },
	[GPU_MEMORY] = { NULL, "hw.gpu.memory.usage", "By", METRIC_SUM, "Memory in use that a GPU reports." },
	[OTHER_MEMORY] = { NULL, "iaprof.device.memory.usage", "By", METRIC_SUM,
			   "Memory in use that a device other than a GPU reports." },
	[POWER] = { "iaprof_device_power_watts", "hw.power", "W", METRIC_GAUGE, "Power that a device reports." },
};

static void begin(const struct metric_visitor *visitor, enum family family)
{
	visitor->family(visitor->context, &families[family]);
}

static void visit(const struct metric_visitor *visitor, enum family family, const struct metric_label *labels,
		  struct metric_number number)
{
	static const struct metric_label none[] = { { NULL, NULL } };
	visitor->point(visitor->context, &families[family], labels ? labels : none, number);
}

static struct metric_number integer(uint64_t value)
{
	return (struct metric_number){ .type = METRIC_INTEGER, .integer = value };
}

static struct metric_number time_number(uint64_t nanoseconds)
{
	return (struct metric_number){ .type = METRIC_NANOSECONDS, .integer = nanoseconds };
}

static struct metric_number real(double value)
{
	return (struct metric_number){ .type = METRIC_REAL, .real = value };
}

/* A family of one point without labels. */
static void visit_one(const struct metric_visitor *visitor, enum family family, bool is_known,
		      struct metric_number number)
{
	begin(visitor, family);
	if (is_known)
		visit(visitor, family, NULL, number);
}

static void visit_run(const struct metric_visitor *visitor, const struct metrics *metrics, const struct own_cost *cost)
{
	begin(visitor, BUILD_INFO);
	visit(visitor, BUILD_INFO, (struct metric_label[]){ { "version", PLUGIN_VERSION }, { NULL, NULL } },
	      integer(1));
	visit_one(visitor, INTERVALS, true, integer(metrics->intervals));
	visit_one(visitor, PROFILE_TIME, metrics->profile_end, time_number(metrics->profile_end));
	visit_one(visitor, DROPPED_RECORDS, true, integer(metrics->dropped));
	visit_one(visitor, CPU, true, time_number(cost->cpu));
	visit_one(visitor, HELPER_CPU, true, time_number(cost->helper_cpu));
	visit_one(visitor, BPF_CPU, true, time_number(metrics_kernel_side_time(metrics)));
	static const enum family of_core[] = { [CORE_BUDGET] = BUDGET, [CORE_USE] = CPU_USE, [CORE_RATE] = RATE };
	for (uint32_t i = 0; i < CORE_READING_COUNT; i++)
		visit_one(visitor, of_core[i], metrics->has_core_reading[i], real(metrics->core_readings[i]));
	visit_one(visitor, MEMORY, cost->memory, integer(cost->memory));
	visit_one(visitor, HELPER_MEMORY, true, integer(cost->helper_memory));
	visit_one(visitor, START_TIME, cost->start_time > 0, real(cost->start_time));
}

static void visit_sink(const struct metric_visitor *visitor, enum family family, const struct metric_sink *sink,
		       enum sink_count what, const char *outcome)
{
	const struct metric_label labels[] = { { "sink", sink->name.text },
					       { outcome ? "outcome" : NULL, outcome },
					       { NULL, NULL } };
	if (sink->is_known[what])
		visit(visitor, family, labels, integer(sink->counts[what]));
}

/* A time of a sink, ns. */
static void visit_sink_time(const struct metric_visitor *visitor, enum family family, const struct metric_sink *sink,
			    enum sink_count what, uint64_t time)
{
	const struct metric_label labels[] = { { "sink", sink->name.text }, { NULL, NULL } };
	if (sink->is_known[what])
		visit(visitor, family, labels, time_number(time));
}

/* The age of a profile is that at the time of the visit, so that it grows while nothing else changes. */
static void visit_liveness(const struct metric_visitor *visitor, const struct metrics *metrics)
{
	uint64_t now = clock_read(CLOCK_REALTIME);
	begin(visitor, SINK_PROFILE_AGE);
	for (size_t i = 0; i < metrics->sinks.count && !metrics->recorded; i++) {
		uint64_t end = metrics->sinks.items[i].counts[SINK_PROFILE_END];
		visit_sink_time(visitor, SINK_PROFILE_AGE, &metrics->sinks.items[i], SINK_PROFILE_END,
				now > end ? now - end : 0);
	}
	begin(visitor, SINK_BUSY_TIME);
	for (size_t i = 0; i < metrics->sinks.count; i++)
		visit_sink_time(visitor, SINK_BUSY_TIME, &metrics->sinks.items[i], SINK_BUSY,
				metrics->sinks.items[i].counts[SINK_BUSY]);
	begin(visitor, SINK_QUEUED_BYTES);
	for (size_t i = 0; i < metrics->sinks.count; i++)
		visit_sink(visitor, SINK_QUEUED_BYTES, &metrics->sinks.items[i], SINK_QUEUED, NULL);
}

static void visit_sinks(const struct metric_visitor *visitor, const struct metrics *metrics)
{
	begin(visitor, SINK_ITEMS);
	for (size_t i = 0; i < metrics->sinks.count; i++) {
		visit_sink(visitor, SINK_ITEMS, &metrics->sinks.items[i], SINK_DELIVERED, "delivered");
		visit_sink(visitor, SINK_ITEMS, &metrics->sinks.items[i], SINK_REFUSED, "refused");
		visit_sink(visitor, SINK_ITEMS, &metrics->sinks.items[i], SINK_DROPPED, "dropped");
	}
	begin(visitor, SINK_WAITING_ITEMS);
	for (size_t i = 0; i < metrics->sinks.count; i++)
		visit_sink(visitor, SINK_WAITING_ITEMS, &metrics->sinks.items[i], SINK_WAITING, NULL);
	begin(visitor, SINK_STORED_BYTES);
	for (size_t i = 0; i < metrics->sinks.count; i++)
		visit_sink(visitor, SINK_STORED_BYTES, &metrics->sinks.items[i], SINK_STORED, NULL);
	visit_liveness(visitor, metrics);
}

static void visit_samples(const struct metric_visitor *visitor, const struct metrics *metrics)
{
	for (enum family family = SAMPLES; family <= SAMPLED_TIME; family++) {
		begin(visitor, family);
		for (size_t i = 0; i < metrics->types.count; i++) {
			const struct metric_type *type = &metrics->types.items[i];
			const struct metric_label labels[] = { { "type", type->name.text }, { NULL, NULL } };
			if (family != SAMPLED_TIME)
				visit(visitor, family, labels,
				      integer(family == SAMPLES ? type->samples : type->matched));
			else if (type->is_time)
				visit(visitor, family, labels, time_number(type->value));
		}
	}
}

static void visit_losses(const struct metric_visitor *visitor, const struct metrics *metrics)
{
	for (enum family family = LOST; family <= LOST_UNKNOWN; family++) {
		begin(visitor, family);
		for (size_t i = 0; i < metrics->losses.count; i++) {
			const struct metric_loss *loss = &metrics->losses.items[i];
			uint64_t count = family == LOST ? loss->count : loss->unknown;
			const struct metric_label labels[] = { { "source", loss->source.text },
							       { "reason", loss->reason.text },
							       { NULL, NULL } };
			if (count)
				visit(visitor, family, labels, integer(count));
		}
	}
}

/* A point of a device, with one more label. */
static void visit_device(const struct metric_visitor *visitor, enum family family, const struct metric_device *device,
			 const char *label, const char *value, struct metric_number number)
{
	const struct metric_label labels[] = { { "source", device->source.text },
					       { "device", device->name.text },
					       { "address", device->address.text },
					       { label, value },
					       { NULL, NULL } };
	visit(visitor, family, labels, number);
}

static void visit_work(const struct metric_visitor *visitor, const struct metrics *metrics)
{
	begin(visitor, BUSY);
	for (uint32_t i = 0; i < metrics->device_count; i++) {
		const struct metric_device *device = &metrics->devices[i];
		for (uint32_t k = 0; k < METRIC_CONTAINERS_MAX; k++)
			if (device->busy[k])
				visit_device(visitor, BUSY, device, "container", metrics->containers[k].name.text,
					     time_number(device->busy[k]));
	}
	begin(visitor, JOBS);
	for (uint32_t i = 0; i < metrics->device_count; i++) {
		const struct metric_device *device = &metrics->devices[i];
		if (device->jobs_done)
			visit_device(visitor, JOBS, device, "state", "done", integer(device->jobs_done));
		if (device->jobs_aborted)
			visit_device(visitor, JOBS, device, "state", "aborted", integer(device->jobs_aborted));
	}
}

static void visit_readings(const struct metric_visitor *visitor, const struct metrics *metrics)
{
	static const struct {
		enum family family;
		enum device_reading what;
		bool of_gpus, of_others;
	} shown[] = { { UTILIZATION, READING_UTILIZATION, true, true },
		      { GPU_UTILIZATION, READING_UTILIZATION, true, false },
		      { OTHER_UTILIZATION, READING_UTILIZATION, false, true },
		      { DEVICE_MEMORY, READING_MEMORY, true, true },
		      { GPU_MEMORY, READING_MEMORY, true, false },
		      { OTHER_MEMORY, READING_MEMORY, false, true },
		      { POWER, READING_POWER, true, true } };
	for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
		begin(visitor, shown[k].family);
		for (size_t i = 0; i < metrics->readings.count; i++) {
			const struct metric_reading *reading = &metrics->readings.items[i];
			if (reading->what == shown[k].what && reading->is_known &&
			    (reading->is_gpu ? shown[k].of_gpus : shown[k].of_others))
				visit_device(visitor, shown[k].family, &metrics->devices[reading->device], "engine",
					     reading->engine.text,
					     shown[k].what == READING_MEMORY ? integer((uint64_t)reading->value)
									     : real(reading->value));
		}
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

static void visit_stalls(const struct metric_visitor *visitor, const struct metrics *metrics)
{
	begin(visitor, STALLS);
	for (uint32_t i = 0; i < metrics->device_count; i++) {
		const struct metric_device *device = &metrics->devices[i];
		for (uint32_t k = 0; k < METRIC_REASONS_MAX; k++) {
			uint64_t sum = device->stalls[k];
			if (!sum || is_repeated(device, k))
				continue;
			for (uint32_t next = k + 1; next < METRIC_REASONS_MAX; next++)
				if (!strcmp(device->reasons[next].text, device->reasons[k].text))
					saturating_increase(&sum, device->stalls[next]);
			visit_device(visitor, STALLS, device, "reason", device->reasons[k].text, integer(sum));
		}
	}
}

void metric_families_visit(const struct metrics *metrics, const struct own_cost *cost,
			   const struct metric_visitor *visitor)
{
	visit_run(visitor, metrics, cost);
	visit_sinks(visitor, metrics);
	visit_samples(visitor, metrics);
	visit_losses(visitor, metrics);
	visit_work(visitor, metrics);
	visit_readings(visitor, metrics);
	visit_stalls(visitor, metrics);
}
