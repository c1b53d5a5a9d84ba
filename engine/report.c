/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of an engine at the end of a run: see engine_state.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/host.h>

#include "base/log.h"
#include "engine_state.h"
#include "process/thread_table.h"
#include "profile/device_gaps.h"
#include "symbolizer/jit_runtime.h"
#include "stacks/profile_facts.h"
#include "text/plural.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "text/table_row.h"
#include "text/text.h"

/* Reports sampled processes whose memory maps could not be read. Returns false for any other loss. */
static bool report_unreadable_processes(const struct iaprof_lost *lost)
{
	if (strcmp(lost->reason, COLLECTOR_REASON_UNREADABLE) != 0 || lost->unknown)
		return false;
	log_message(IAPROF_LOG_WARNING, "cannot read the memory map of %" PRIu64 " sampled process%s (-v lists %s)",
		    lost->count, lost->count == 1 ? "" : "es", lost->count == 1 ? "it" : "them");
	return true;
}

/* Formats the lost value of a value type: " (cpu: 18.7 s)". */
static void lost_value_text(const struct iaprof_value_type *type, uint64_t value, char *text, size_t size)
{
	if (strcmp(type->unit, "nanoseconds") == 0)
		snprintf(text, size, " (%s: %s)", type->name, quantity_time((double)value).text);
	else
		snprintf(text, size, " (%s: %" PRIu64 " %s)", type->name, value, type->unit);
}

static void report_lost(const struct iaprof_profile *profile)
{
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		if (report_unreadable_processes(lost))
			continue;
		char count[LOST_COUNT_SIZE], value[128] = "";
		if (lost->value && lost->value_type != UINT32_MAX)
			lost_value_text(iaprof_profile_value_type(profile, lost->value_type), lost->value, value,
					sizeof value);
		log_message(IAPROF_LOG_WARNING, "lost: %s: %s: %s%s", lost->source, lost->reason,
			    lost_count_text(lost, count), value);
	}
}

/* One item of a list of missing data: "3 loads refused". */
struct missing_count {
	uint64_t count;
	const char *noun, *rest; /* "load", " refused"; the plural of noun ends in s */
};

static void report_missing(const char *subject, const struct missing_count *missing, size_t count)
{
	struct text text = { 0 };
	for (size_t i = 0; i < count; i++)
		if (missing[i].count)
			text_append_format(&text, "%s%" PRIu64 " %s%s%s", text.size ? ", " : "", missing[i].count,
					   missing[i].noun, plural(missing[i].count), missing[i].rest);
	if (text.size)
		log_message(IAPROF_LOG_WARNING, "%s: %s", subject, text_string(&text));
	text_free(&text);
}

static void report_device_code(const struct device_code_statistics *device)
{
	const struct missing_count missing[] = {
		{ device->unreadable, "image", " could not be read" },
		{ device->damaged, "image", " damaged in parts" },
		{ device->unplaced_units, "unit",
		  " of debug information without an address (it fits no kernel, or several)" },
		{ device->unplaced, "kernel", " without a known size" },
		{ device->refused, "load", " refused" },
		{ device->functions_over_limit, "function", " beyond the limit" },
		{ device->out_of_memory, "load", " dropped (out of memory)" },
	};
	report_missing("device code", missing, sizeof missing / sizeof *missing);
	if (device->code_objects || device->kernels || device->launches)
		log_notice("device code: %" PRIu64 " code object%s (%" PRIu64 " image%s), %" PRIu64
			   " kernel%s, %" PRIu64 " launch%s",
			   device->code_objects, plural(device->code_objects), device->images, plural(device->images),
			   device->kernels, plural(device->kernels), device->launches,
			   device->launches == 1 ? "" : "es");
}

static void report_devices(const struct collector *collector, const struct correlator_statistics *correlator)
{
	const struct missing_count missing[] = {
		{ correlator->launches_unknown, "launched kernel", " never announced" },
		{ correlator->launches_merged, "kernel launch record", " merged (too many call sites)" },
		{ correlator->kernels_refused, "kernel", " beyond the limit" },
		{ correlator->bases_refused, "instruction base", " beyond the limit" },
		{ correlator->activity_dropped, "activity record", " beyond the limit" },
		{ correlator->functions_unlisted, "code location",
		  " in functions that were not listed (limit reached)" },
		{ correlator->bytes_unlisted, "code byte", " not disassembled" },
		{ correlator->out_of_memory, "sample", " dropped (out of memory)" },
	};
	report_missing("device samples", missing, sizeof missing / sizeof *missing);
	size_t count = 0;
	const struct sampled_device *devices = collector_devices(collector, &count);
	for (size_t i = 0; i < count; i++) {
		const struct device_samples *samples = &devices[i].samples;
		char name[256], text[256];
		if (!samples->samples && !samples->rows && !samples->overflows)
			continue;
		device_samples_describe(samples, text, sizeof text);
		sampled_device_name(devices, count, i, name, sizeof name);
		log_notice("%s: %s", name, text);
		for (int reason = 0; reason < UNMATCHED_REASON_COUNT; reason++)
			if (samples->unmatched_reasons[reason])
				log_notice("%s: %s sample%s unmatched: %s", name,
					   quantity_sum(samples->unmatched_reasons[reason]).text,
					   plural(samples->unmatched_reasons[reason]), unmatched_reason_text(reason));
	}
}

/* Limit on lines about ignored files, so that they do not hide the rest of the summary. */
#define REFUSALS_SHOWN 64

static void report_refusals(const struct collector_statistics *statistics)
{
	uint64_t more = statistics->refused_more;
	for (size_t i = 0; i < statistics->refusal_count; i++) {
		const struct refusal *refusal = &statistics->refusals[i];
		char times[32] = "";
		if (i >= REFUSALS_SHOWN && log_level() < IAPROF_LOG_INFO) {
			more++;
			continue;
		}
		if (refusal->count > 1)
			snprintf(times, sizeof times, " (%" PRIu64 " times)", refusal->count);
		log_message(IAPROF_LOG_WARNING, "ignored %s: %s%s", path_end(refusal->path).text, refusal->reason,
			    times);
	}
	if (more)
		log_message(IAPROF_LOG_WARNING, "ignored %" PRIu64 " more file%s (-v lists them)", more, plural(more));
}

static void report_findings(const struct findings *findings)
{
	for (size_t i = 0; i < findings->items.count; i++) {
		const struct finding *finding = &findings->items.items[i];
		char times[64] = "", process[32] = "";
		if (finding_is_row(finding->severity, finding->text))
			continue;
		if (finding->count > 1)
			snprintf(times, sizeof times, " (%" PRIu64 " times)", finding->count);
		if (finding->pid)
			snprintf(process, sizeof process, "process %" PRIu32 ": ", finding->pid);
		if (finding->severity > IAPROF_FINDING_NOTE)
			log_message(IAPROF_LOG_WARNING, "%s: %s%s%s", finding->name, process, finding->text, times);
		else
			log_notice("%s: %s%s%s", finding->name, process, finding->text, times);
	}
	if (findings->dropped)
		log_message(IAPROF_LOG_WARNING, "%" PRIu64 " finding%s dropped (limit reached)", findings->dropped,
			    plural(findings->dropped));
}

static void report_unresolved(const struct collector_statistics *statistics)
{
	if (statistics->mappings_refused)
		log_message(IAPROF_LOG_WARNING,
			    "ignored %" PRIu64 " mapping%s: too many mappings in processes of user %" PRIu32,
			    statistics->mappings_refused, plural(statistics->mappings_refused),
			    statistics->mappings_refused_user);
	if (statistics->roots_refused)
		log_message(IAPROF_LOG_WARNING,
			    "ignored the files of %" PRIu64
			    " process%s by name: too many mount namespaces of user %" PRIu32,
			    statistics->roots_refused, statistics->roots_refused == 1 ? "" : "es",
			    statistics->roots_refused_user);
	if (statistics->mappings_dropped)
		log_message(IAPROF_LOG_WARNING,
			    "dropped %" PRIu64 " address range%s of a process with too many mappings",
			    statistics->mappings_dropped, plural(statistics->mappings_dropped));
	if (statistics->threads_merged)
		log_message(IAPROF_LOG_WARNING,
			    "merged %" PRIu64 " sample%s of threads by name: more than %u threads in a process",
			    statistics->threads_merged, plural(statistics->threads_merged), THREAD_TABLE_THREADS_MAX);
	if (statistics->spans_dropped)
		log_message(IAPROF_LOG_WARNING,
			    "dropped the span of %" PRIu64
			    " sample%s: more than %u spans (--continuous forgets those of past intervals)",
			    statistics->spans_dropped, plural(statistics->spans_dropped), FRAME_TABLE_SPANS_MAX);
	if (statistics->stacks_unknown)
		log_message(IAPROF_LOG_WARNING,
			    "%" PRIu64 " stack%s arrived too late to be resolved (shown as [stack expired])",
			    statistics->stacks_unknown, plural(statistics->stacks_unknown));
	if (statistics->event_stacks_missed)
		log_message(IAPROF_LOG_WARNING,
			    "%" PRIu64 " launch or call stack%s not resolved: process unknown, or stack expired",
			    statistics->event_stacks_missed, plural(statistics->event_stacks_missed));
	if (statistics->attributed_early)
		log_message(IAPROF_LOG_WARNING,
			    "attributed %" PRIu64 " sample%s or other records before all process events and device "
			    "code of their time were known: too many waited",
			    statistics->attributed_early, plural(statistics->attributed_early));
	if (statistics->late)
		log_message(IAPROF_LOG_INFO, "code objects, kernels and launches that arrived late: %" PRIu64,
			    statistics->late);
	if (statistics->definitions_refused)
		log_message(IAPROF_LOG_WARNING, "ignored %" PRIu64 " definition%s that contradict%s earlier ones",
			    statistics->definitions_refused, plural(statistics->definitions_refused),
			    statistics->definitions_refused == 1 ? "s" : "");
	if (statistics->addresses_nameless)
		log_message(IAPROF_LOG_WARNING,
			    "%" PRIu64
			    " address%s without a symbol in the capture, shown as [unknown] (a replay opens no other "
			    "files)",
			    statistics->addresses_nameless, statistics->addresses_nameless == 1 ? "" : "es");
	if (statistics->out_of_memory)
		log_message(IAPROF_LOG_WARNING, "out of memory: dropped %" PRIu64 " record%s",
			    statistics->out_of_memory, plural(statistics->out_of_memory));
}

/* Prints the runtimes that generated code without names, and the option that enables names. */
static void report_runtimes(uint32_t runtimes)
{
	for (uint32_t i = 0; i < jit_runtime_count; i++) {
		/* Several files of one runtime have one label. */
		bool is_again =
			i && !strcmp(jit_runtimes[i].label, jit_runtimes[i - 1].label) && runtimes >> (i - 1) & 1;
		if (runtimes >> i & 1 && !is_again)
			log_message(IAPROF_LOG_WARNING, "%s: generated code without names (for names: %s)",
				    jit_runtimes[i].label, jit_runtimes[i].remedy);
	}
}

/* Prints the idle time of devices between jobs of a process. */
static void report_gaps(const struct collector *collector)
{
	size_t count = 0;
	const struct device_gap_sum *sums = collector_gaps(collector, &count);
	for (size_t i = 0; i < count; i++)
		if (sums[i].gaps)
			log_notice("device %" PRIu32 ": idle for %s between jobs of process %" PRIu32 " (%" PRIu64
				   " gap%s, %" PRIu64 " job%s; value type device-idle)",
				   sums[i].key.device, quantity_time((double)sums[i].idle).text, sums[i].key.pid,
				   sums[i].gaps, plural(sums[i].gaps), sums[i].jobs, plural(sums[i].jobs));
}

void engine_report(const struct engine *engine)
{
	unwind_tables_report(engine);
	if (!engine->collector)
		return;
	const struct collector_statistics statistics = collector_statistics(engine->collector);
	if (engine->profile)
		report_lost(&engine->profile->profile);
	report_refusals(&statistics);
	if (statistics.symbolizer_warning)
		log_message(IAPROF_LOG_WARNING, "%s", statistics.symbolizer_warning);
	report_unresolved(&statistics);
	report_runtimes(statistics.runtimes);
	report_findings(collector_findings(engine->collector));
	report_gaps(engine->collector);
	report_device_code(&statistics.device);
	report_devices(engine->collector, &statistics.correlator);
}
