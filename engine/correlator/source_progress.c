/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of sources: see source_progress.h. */
#include "correlator/source_progress.h"

void source_progress_free(struct source_progress *progress)
{
	array_free(&progress->sources);
}

static struct code_source *find_source(struct source_progress *progress, uint16_t number)
{
	for (size_t i = 0; i < progress->sources.count; i++)
		if (progress->sources.items[i].number == number)
			return &progress->sources.items[i];
	return NULL;
}

void source_progress_take(struct source_progress *progress, const struct iaprof_record *record)
{
	struct code_source *source = find_source(progress, record->source);
	bool is_value = record->type == IAPROF_RECORD_COUNTER_VALUE, advances = record->type == IAPROF_RECORD_PROGRESS;
	if (!source && !is_value && progress->sources.count < PROGRESS_SOURCES_MAX &&
	    array_push(&progress->sources, (struct code_source){ .number = record->source }))
		source = &progress->sources.items[progress->sources.count - 1];
	if (!source || !(advances || (is_value && !source->advances)))
		return;
	/* The first PROGRESS record replaces the time of its counters, which may be later. */
	if (record->time > source->complete_until || source->advances != advances)
		source->complete_until = record->time;
	source->advances = advances;
}

bool source_progress_reached(const struct source_progress *progress, uint64_t time)
{
	for (size_t i = 0; i < progress->sources.count; i++)
		if (progress->sources.items[i].complete_until < time)
			return false;
	return true;
}
