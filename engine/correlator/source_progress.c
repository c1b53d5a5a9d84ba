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

void source_progress_add(struct source_progress *progress, uint16_t number)
{
	struct code_source source = { .number = number };
	if (!find_source(progress, number) && progress->sources.count < PROGRESS_SOURCES_MAX)
		(void)array_push(&progress->sources, source);
}

void source_progress_take_counter(struct source_progress *progress, uint16_t number, uint64_t time)
{
	struct code_source *source = find_source(progress, number);
	if (source && !source->advances && time > source->complete_until)
		source->complete_until = time;
}

void source_progress_advance(struct source_progress *progress, uint16_t number, uint64_t time)
{
	source_progress_add(progress, number);
	struct code_source *source = find_source(progress, number);
	if (!source)
		return;
	/* The first PROGRESS record replaces the time of its counters, which may be later. */
	source->complete_until = source->advances && source->complete_until > time ? source->complete_until : time;
	source->advances = true;
}

bool source_progress_reached(const struct source_progress *progress, uint64_t time)
{
	for (size_t i = 0; i < progress->sources.count; i++)
		if (progress->sources.items[i].complete_until < time)
			return false;
	return true;
}
