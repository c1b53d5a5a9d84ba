/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of sources: see findings.h. */
#include "profile/findings.h"

/* Maximum number of findings. */
#define FINDINGS_MAX 256

void findings_free(struct findings *findings)
{
	array_free(&findings->items);
}

void findings_take(struct findings *findings, const struct iaprof_record_finding *record)
{
	struct finding found = {
		.source = record->header.source,
		.pid = record->pid,
		.severity = record->severity,
		.name = intern_text(findings->intern, record->name),
		.text = intern_text(findings->intern, record->text),
		.count = 1,
		.value = record->value,
		.threshold = record->threshold,
	};
	for (size_t i = 0; i < findings->items.count; i++) {
		struct finding *known = &findings->items.items[i];
		/* Interned: equal strings have the same address. */
		if (known->source != found.source || known->name != found.name || known->pid != found.pid)
			continue;
		known->text = found.text;
		known->value = found.value;
		known->threshold = found.threshold;
		known->count++;
		if (found.severity > known->severity)
			known->severity = found.severity;
		return;
	}
	if (findings->items.count >= FINDINGS_MAX || !array_push(&findings->items, found))
		findings->dropped++;
}
