/* SPDX-License-Identifier: Apache-2.0 */
/* Counts losses: see loss.h. */
#include "profile/loss.h"

#include <string.h>
#include <iaprof/record.h>

#include "base/saturating.h"

/*
 * Limit on entries; a source has a handful of reasons. Beyond it, a source's further reasons are combined, and beyond
 * twice the limit, further sources as well.
 */
#define ENTRIES_MAX 256
#define OTHER_REASONS "other reasons"
#define OTHER_SOURCES "other sources"

void loss_free(struct loss *loss)
{
	array_free(&loss->entries);
}

static struct loss_entry *find_entry(struct loss *loss, const char *source, const char *reason, uint32_t value_type)
{
	for (size_t i = 0; i < loss->entries.count; i++) {
		struct loss_entry *entry = &loss->entries.items[i];
		if (entry->value_type == value_type && !strcmp(entry->source, source) && !strcmp(entry->reason, reason))
			return entry;
	}
	return NULL;
}

const struct loss_entry *loss_add(struct loss *loss, const char *source, const char *reason, uint32_t value_type,
				  uint64_t begin, uint64_t end, uint64_t count, uint64_t value)
{
	struct loss_entry *entry = find_entry(loss, source, reason, value_type);
	if (!entry && loss->entries.count >= ENTRIES_MAX) {
		source = loss->entries.count >= 2 * ENTRIES_MAX ? OTHER_SOURCES : source;
		reason = OTHER_REASONS;
		entry = find_entry(loss, source, reason, value_type);
	}
	if (!entry) {
		struct loss_entry added = {
			.source = source, .reason = reason, .value_type = value_type, .begin = begin, .end = end
		};
		if (!array_push(&loss->entries, added))
			return NULL;
		entry = &loss->entries.items[loss->entries.count - 1];
	}
	if (count == IAPROF_COUNT_UNKNOWN) {
		entry->unknown++;
		entry->interval_unknown++;
	} else {
		entry->count = saturating_add(entry->count, count);
		entry->interval_count = saturating_add(entry->interval_count, count);
	}
	entry->value = saturating_add(entry->value, value);
	entry->interval_value = saturating_add(entry->interval_value, value);
	if (begin < entry->begin)
		entry->begin = begin;
	if (end > entry->end)
		entry->end = end;
	return entry;
}

void loss_begin_interval(struct loss *loss)
{
	for (size_t i = 0; i < loss->entries.count; i++) {
		struct loss_entry *entry = &loss->entries.items[i];
		entry->interval_value = entry->interval_count = entry->interval_unknown = 0;
	}
}
