/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a text trace: each line is parsed, what is a call is placed and sent, and no call is lost. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "families.h"
#include "findings.h"
#include "trace_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint32_t ids;
static uint64_t sent;

static uint64_t now(const struct iaprof_host *host)
{
	(void)host;
	return 1000000000;
}

static uint32_t intern(const struct iaprof_host *host, const char *text, size_t length)
{
	(void)host;
	return text && length ? ++ids : 0;
}

static uint32_t declare(const struct iaprof_host *host, const char *name, const char *unit, uint64_t period)
{
	(void)host;
	return name && unit && period <= 1 ? 1 : 0;
}

static int take(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	(void)host;
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
	(void)host;
	(void)level;
	(void)format;
}

static void note(const struct iaprof_host *host, const char *key, const char *format, ...)
{
	(void)host;
	(void)key;
	(void)format;
}

static void judge(void *context, const struct ivpu_finding *finding)
{
	(void)context;
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
	};
	static const struct ivpu_limits limits = IVPU_LIMITS_DEFAULT;
	struct trace_calls calls;
	ids = 0;
	sent = 0;
	if (trace_calls_init(&calls, &host, size % 2))
		abort();
	const char *text = (const char *)bytes, *end = text + size;
	uint64_t lines = 0, added = 0;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((newline ? newline : end) - text);
		struct trace_line line;
		trace_line_parse(text, length, &line);
		if (strnlen(line.name, sizeof line.name) == sizeof line.name)
			abort();
		bool is_call = line.kind == TRACE_LINE_CALL || line.kind == TRACE_LINE_COUNT;
		if (is_call && (!line.name[0] || trace_calls_add(&calls, &line, ++lines)))
			abort();
		added += line.kind == TRACE_LINE_CALL;
		text = newline ? newline + 1 : end;
	}
	struct ivpu_tally tally = ivpu_running_tally(&calls.running);
	if (trace_calls_finish(&calls) || (added && sent != added) || (!calls.is_summed && sent != added))
		abort();
	ivpu_findings(&tally, &limits, judge, NULL);
	tally = ivpu_running_tally(&calls.running);
	ivpu_findings(&tally, &limits, judge, NULL);
	trace_calls_free(&calls);
	return 0;
}
