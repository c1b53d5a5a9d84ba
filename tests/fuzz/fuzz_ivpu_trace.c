/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a text trace: each line is parsed, what is a call is placed and sent, and no call is lost. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "npu/driver_functions.h"
#include "npu/findings.h"
#include "calls.h"
#include "form.h"
#include "histograms.h"
#include "clock.h"
#include "npu/use_tables.h"

static uint32_t ids;
static uint64_t sent;

static uint64_t now(const struct iaprof_host *host)
{
	return 1000000000;
}

static uint32_t intern(const struct iaprof_host *host, const char *text, size_t length)
{
	return text && length ? ++ids : 0;
}

static uint32_t declare(const struct iaprof_host *host, const char *name, const char *unit, uint64_t period)
{
	return name && unit && period <= 1 ? 1 : 0;
}

static int take(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		const struct iaprof_record_call *call = (const void *)record;
		if (record->type != IAPROF_RECORD_CALL)
			continue;
		if (!call->count || call->first_time > record->time || call->depth >= IAPROF_CALL_DEPTH_MAX)
			abort();
		if (__builtin_add_overflow(sent, call->count, &sent))
			sent = UINT64_MAX;
	}
	return 0;
}

static void quiet(const struct iaprof_host *host, int level, const char *format, ...)
{
}

static void note(const struct iaprof_host *host, const char *key, const char *format, ...)
{
}

static void lose(const struct iaprof_host *host, const char *reason, uint64_t begin, uint64_t count,
		 uint32_t value_type, uint64_t value)
{
	if (!reason || !count || value != count)
		abort();
}

static void judge(void *context, const struct ivpu_finding *finding)
{
	if (!finding->name || !finding->text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct iaprof_host host = {
		.clock = now,
		.intern_string = intern,
		.declare_value_type = declare,
		.emit = take,
		.log = quiet,
		.metadata = note,
		.lost = lose,
	};
	static const struct ivpu_limits limits = IVPU_LIMITS_DEFAULT;
	struct trace_calls calls;
	ids = 0;
	sent = 0;
	if (trace_calls_init(&calls, &host, size % 2))
		abort();
	const char *text = (const char *)bytes, *end = text + size;
	uint64_t added = 0;
	static struct trace_form form;
	struct trace_units units = { 0 };
	memset(&form, 0, sizeof form);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((newline ? newline : end) - text);
		struct trace_line line;
		trace_form_parse(&form, text, length, &line);
		if (strnlen(line.name, sizeof line.name) == sizeof line.name ||
		    strnlen(line.comm, sizeof line.comm) == sizeof line.comm ||
		    strnlen(line.caller, sizeof line.caller) == sizeof line.caller)
			abort();
		bool is_named = line.kind == TRACE_LINE_CALL || line.kind == TRACE_LINE_COUNT;
		if (is_named && !line.name[0])
			abort();
		bool is_added = is_named || line.kind >= TRACE_LINE_RETURN;
		if (is_added && trace_calls_add(&calls, &line))
			abort();
		if (line.kind == TRACE_LINE_CALL && line.time_kind >= TRACE_TIME_SECONDS)
			trace_units_add(&units, &line, added % 2);
		added += line.kind == TRACE_LINE_CALL;
		text = newline ? newline + 1 : end;
	}
	char readings[300];
	trace_units_describe(&units, readings, sizeof readings);
	if (trace_units_decide(&units) && !trace_unit_is_plausible(&units, trace_units_decide(&units)))
		abort();
	struct ivpu_statistics statistics = ivpu_running_statistics(&calls.running);
	if (trace_calls_finish(&calls))
		abort();
	if ((added || !calls.is_summed) && sent + calls.returns_expected != added)
		abort();
	if (npu_use_emit(&calls.use.use, &calls.records.batch, &statistics, 1) ||
	    trace_histograms_emit(&form.histograms, &calls.records.batch, 1))
		abort();
	ivpu_findings(&statistics, &limits, judge, NULL);
	statistics = ivpu_running_statistics(&calls.running);
	npu_use_describe(&calls.use.use, &statistics);
	ivpu_findings(&statistics, &limits, judge, NULL);
	trace_calls_free(&calls);
	return 0;
}
