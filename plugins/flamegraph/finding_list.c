/* SPDX-License-Identifier: Apache-2.0 */
/* See finding_list.h. */
#include "finding_list.h"

#include <inttypes.h>

void finding_list_take(struct finding_list *findings, const struct iaprof_record_finding *record)
{
	for (uint32_t i = 0; i < findings->count; i++) {
		struct found *known = &findings->items[i];
		uint32_t severity = known->record.severity;
		if (known->record.header.source != record->header.source || known->record.name != record->name ||
		    known->record.pid != record->pid)
			continue;
		known->record = *record;
		known->count++;
		if (severity > record->severity)
			known->record.severity = severity;
		return;
	}
	if (findings->count == FINDINGS_MAX) {
		findings->dropped++;
		return;
	}
	findings->items[findings->count++] = (struct found){ .record = *record, .count = 1 };
}

static void append_finding(struct text *text, const struct found *found, const struct definitions *definitions)
{
	const struct iaprof_record_finding *record = &found->record;
	const struct iaprof_record_source *source =
		definitions_find(definitions, IAPROF_RECORD_SOURCE, 0, record->header.source);
	text_append_format(text, "{\"severity\":%" PRIu32 ",\"pid\":%" PRIu32 ",\"count\":%" PRIu64, record->severity,
			   record->pid, found->count);
	text_append_format(text, ",\"value\":%.17g,\"threshold\":%.17g,\"source\":", record->value, record->threshold);
	text_append_json(text, source ? definitions_text(definitions, source->name) : "");
	text_append_string(text, ",\"name\":");
	text_append_json(text, definitions_text(definitions, record->name));
	text_append_string(text, ",\"text\":");
	text_append_json(text, definitions_text(definitions, record->text));
	text_append_string(text, "}");
}

void finding_list_append(struct text *text, const struct finding_list *findings, const struct definitions *definitions)
{
	const char *between = "";
	text_append_format(text, "{\"dropped\":%" PRIu64 ",\"items\":[", findings->dropped);
	for (uint32_t severity = IAPROF_FINDING_PROBLEM + 1; severity-- > 0;)
		for (uint32_t i = 0; i < findings->count; i++) {
			const struct found *found = &findings->items[i];
			uint32_t known = found->record.severity <= IAPROF_FINDING_PROBLEM ? found->record.severity
											  : IAPROF_FINDING_PROBLEM;
			if (known != severity)
				continue;
			text_append_string(text, between);
			append_finding(text, found, definitions);
			between = ",";
		}
	text_append_string(text, "]}");
}
