/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of intervals, and what a continuous run releases between them: see collector.h. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "profile/collector_state.h"

/*
 * Continuous runs: bytes of resolved stacks above which those without values are released after an interval, and above
 * which an interval ends early.
 */
#define FRAMES_MANY ((size_t)8 << 20)
#define FRAMES_TOO_MANY ((size_t)32 << 20)

struct snapshot *collector_snapshot(const struct collector *collector, bool total)
{
	bool has_activity = total || collector->options.activity;
	return snapshot_new(&(struct snapshot_content){ .frames = &collector->frames,
							.devices = &collector->devices,
							.values = &collector->values,
							.times = &collector->times,
							.value_types = collector->facts.value_types.items,
							.value_type_count = collector->facts.value_types.count,
							.loss = &collector->loss,
							.metadata = collector->facts.metadata.items,
							.metadata_count = collector->facts.metadata.count,
							.activity = has_activity ? &collector->activity : NULL,
							.timeline = total || collector->is_finished,
							.total = total });
}

struct moved_stacks {
	const struct frame_table *from;
	struct frame_table *to;
	uint32_t *stacks; /* by stack: its new index, FRAME_NONE: not moved */
};

static bool copy_stack(void *context, uint32_t *stack)
{
	struct moved_stacks *moved = context;
	if (moved->stacks[*stack] == FRAME_NONE)
		moved->stacks[*stack] = frame_table_add_from(moved->to, moved->from, *stack);
	return moved->stacks[*stack] != FRAME_NONE;
}

static bool renumber_stack(void *context, uint32_t *stack)
{
	*stack = ((struct moved_stacks *)context)->stacks[*stack];
	return true;
}

/* Releases all resolved stacks but those of launches that samples may still be attributed to. */
static void release_frames(struct collector *collector)
{
	struct frame_table kept = { .rules = collector->frames.rules };
	size_t count = collector->frames.stacks.count;
	struct moved_stacks moved = { .from = &collector->frames, .to = &kept };
	moved.stacks = malloc((count + 1) * sizeof *moved.stacks);
	if (moved.stacks)
		memset(moved.stacks, 0xff, count * sizeof *moved.stacks);
	correlator_forget_frames(collector->correlator);
	bool is_copied = moved.stacks && correlator_each_stack(collector->correlator, copy_stack, &moved);
	/* The collector's times and the stacks of ended processes have no values now. */
	if (is_copied) {
		correlator_each_stack(collector->correlator, renumber_stack, &moved);
		resolver_forget(collector->resolver);
		frame_table_free(&collector->frames);
		collector->frames = kept;
		collector->frames_kept = frame_table_size(&kept);
		malloc_trim(0);
	} else {
		frame_table_free(&kept);
		collector_count_out_of_memory(collector, 1);
	}
	free(moved.stacks);
}

static void report_refused_strings(struct collector *collector)
{
	uint64_t refused = intern_refused_strings(collector->options.intern);
	if (refused > collector->refused_reported)
		collector_add_loss(collector, "iaprof", COLLECTOR_REASON_STRINGS, LOSS_NO_VALUE_TYPE,
				   collector->last_sync, collector->last_sync, refused - collector->refused_reported,
				   0);
	collector->refused_reported = refused;
}

/* Called after an interval, when all of its samples are resolved. */
static void release(struct collector *collector)
{
	value_table_clear(&collector->values);
	time_table_clear(&collector->times);
	thread_table_free(&collector->threads);
	run_activity_clear(&collector->activity);
	process_table_trim_texts(collector->processes);
	/* The stacks that are kept must not cause a release after every interval. */
	if (frame_table_size(&collector->frames) > FRAMES_MANY + 2 * collector->frames_kept ||
	    collector->frames.spans.count > FRAME_TABLE_SPANS_MAX / 2)
		release_frames(collector);
	if (collector->symbolizer)
		symbolizer_trim(collector->symbolizer);
	report_refused_strings(collector);
}

void collector_begin_interval(struct collector *collector)
{
	value_table_begin_interval(&collector->values);
	loss_begin_interval(&collector->loss);
	if (collector->options.continuous && !collector->is_finished)
		release(collector);
}

bool collector_is_full(const struct collector *collector)
{
	return collector->options.continuous &&
	       frame_table_size(&collector->frames) > FRAMES_TOO_MANY + 2 * collector->frames_kept;
}

struct collector_memory collector_memory(const struct collector *collector)
{
	return (struct collector_memory){ .frames = frame_table_size(&collector->frames),
					  .strings = intern_string_count(collector->options.intern),
					  .stacks = intern_stack_count(collector->options.intern),
					  .processes = process_table_count(collector->processes) };
}
