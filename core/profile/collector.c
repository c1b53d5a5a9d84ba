/* SPDX-License-Identifier: Apache-2.0 */
/* Takes records off the bus into the tables of a profile: see collector.h. */
#include "profile/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "profile/sample_stack.h"

/* Process events of other CPUs may still come for this long after an exit was told. */
#define RETIRE_AFTER (2 * NANOSECONDS_PER_SECOND)

/* Samples that wait for the process events of their time; more than this are not held back. */
#define WAITING_COUNT_MAX 65536

/* From this many distinct raw stacks on they are resolved, whereby the many addresses of a function become one. */
#define RESOLVE_COUNT 16384

/* A stack id may be used for 5 s (iaprof/host.h); twice that is on the safe side of a bus that lags. */
#define STACK_EPOCH NANOSECONDS_PER_SECOND
#define STACK_EPOCHS 10
/* A replay does not see when its sources asked for a stack again, only the samples: at most 5 s and the bus later. */
#define STACK_EPOCHS_OF_REPLAY (3 * STACK_EPOCHS)

struct source_name {
	uint16_t number;
	const char *name;
};

/* A counter named COUNTER_KERNEL_SIDE_TIME. */
struct counter {
	uint16_t source;
	uint32_t id;
	double value;
};
#define COUNTER_KERNEL_SIDE_TIME "kernel-side-time"

/* More than any honest run has; a damaged capture must not make tables of its own size. */
#define KERNEL_SIDE_COUNTERS_MAX 64
#define VALUE_TYPES_MAX 256
#define SOURCES_MAX 1024

/* Texts of keys and values that a profile carries. */
#define METADATA_COUNT_MAX 512

struct collector {
	struct collector_options options;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct resolver *resolver;
	struct frame_table frames;
	struct value_table values;
	struct loss loss;
	struct sample_table samples; /* by program and raw stack */
	ARRAY(struct iaprof_record_sample) waiting;
	ARRAY(struct source_name) sources;
	ARRAY(struct counter) kernel_side_counters;
	ARRAY(uint32_t) value_type_ids; /* beside value_types */
	ARRAY(struct iaprof_value_type) value_types;
	ARRAY(const char *) metadata; /* key, value, ... */
	struct collector_statistics statistics;
	struct sample_stack_context stack_context;
	uint64_t stack_epoch_begin;
	uint64_t last_sync;
};

struct collector *collector_new(const struct collector_options *options)
{
	struct collector *collector = calloc(1, sizeof *collector);
	if (!collector)
		return NULL;
	collector->options = *options;
	collector->processes = process_table_new();
	collector->symbolizer = symbolizer_new(&(struct symbolizer_options){
		.lines = options->lines, .live = options->live, .kallsyms = options->kallsyms });
	collector->resolver = resolver_new(&(struct resolver_options){ .processes = collector->processes,
								       .symbolizer = collector->symbolizer,
								       .frames = &collector->frames,
								       .intern = options->intern,
								       .bus = options->frames_bus,
								       .lines = options->lines });
	if (collector->resolver)
		resolver_set_same_boot(collector->resolver, options->live);
	collector->stack_context = (struct sample_stack_context){ .processes = collector->processes,
								  .resolver = collector->resolver,
								  .frames = &collector->frames,
								  .intern = options->intern,
								  .pids = options->pids };
	if (!collector->processes || !collector->symbolizer || !collector->resolver) {
		collector_free(collector);
		return NULL;
	}
	return collector;
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	resolver_free(collector->resolver);
	symbolizer_free(collector->symbolizer);
	process_table_free(collector->processes);
	frame_table_free(&collector->frames);
	value_table_free(&collector->values);
	sample_table_free(&collector->samples);
	loss_free(&collector->loss);
	array_free(&collector->waiting);
	array_free(&collector->sources);
	array_free(&collector->kernel_side_counters);
	array_free(&collector->value_type_ids);
	array_free(&collector->value_types);
	array_free(&collector->metadata);
	free(collector);
}

static const char *text(const struct collector *collector, uint32_t id)
{
	return intern_text(collector->options.intern, id);
}

static const char *source_name(const struct collector *collector, uint16_t number)
{
	for (size_t i = 0; i < collector->sources.count; i++)
		if (collector->sources.items[i].number == number)
			return collector->sources.items[i].name;
	return number ? "[unknown source]" : "iaprof";
}

static void count_out_of_memory(struct collector *collector, uint64_t count)
{
	collector->statistics.out_of_memory = saturating_add(collector->statistics.out_of_memory, count);
}

/* The index of a value type by its id, LOSS_NO_VALUE_TYPE when there is none. */
static uint32_t find_value_type(const struct collector *collector, uint32_t id)
{
	for (size_t i = 0; i < collector->value_type_ids.count; i++)
		if (collector->value_type_ids.items[i] == id)
			return (uint32_t)i;
	return LOSS_NO_VALUE_TYPE;
}

static void add_loss(struct collector *collector, const char *source, const char *reason, uint32_t value_type,
		     uint64_t begin, uint64_t end, uint64_t count, uint64_t value)
{
	const struct loss_entry *entry =
		loss_add(&collector->loss, source, reason, value_type, begin, end, count, value);
	if (!entry)
		count_out_of_memory(collector, 1);
	if (!entry || !value || value_type == LOSS_NO_VALUE_TYPE)
		return;
	/* What was lost has a place in the picture too, so that the total stays what happened. */
	const char *const names[] = { "[lost]", entry->source, entry->reason };
	uint32_t frames[3];
	bool stored = true;
	for (size_t i = 0; i < 3; i++) {
		frames[i] = frame_table_add(&collector->frames,
					    &(struct iaprof_frame){ .name = names[i], .kind = IAPROF_FRAME_LOST });
		stored &= frames[i] != FRAME_NONE;
	}
	uint32_t stack = stored ? frame_table_add_stack(&collector->frames, frames, 3) : FRAME_NONE;
	if (stack == FRAME_NONE ||
	    !value_table_add(&collector->values, stack, value_type, value, count == IAPROF_COUNT_UNKNOWN ? 0 : count))
		count_out_of_memory(collector, 1);
}

static void resolve_entry(void *context, const struct sample_entry *entry)
{
	struct collector *collector = context;
	uint32_t stack = sample_stack_resolve(&collector->stack_context, entry);
	if (stack == FRAME_NONE ||
	    !value_table_add(&collector->values, stack, entry->key.value_type, entry->value, entry->count))
		count_out_of_memory(collector, entry->count);
}

/* Gives a sample to the program that ran at its time. */
static void place_sample(struct collector *collector, const struct iaprof_record_sample *sample)
{
	struct process *process = process_table_find(collector->processes, sample->pid, sample->header.time);
	/* Asking for the stacks keeps them from expiring before they are resolved. */
	intern_find_stack(collector->options.intern, sample->user_stack);
	intern_find_stack(collector->options.intern, sample->kernel_stack);
	struct sample_key key = { .process = process ? process->serial : 0,
				  .pid = collector->options.pids || !process ? sample->pid : 0,
				  .name = sample->name,
				  .user_stack = sample->user_stack,
				  .kernel_stack = sample->kernel_stack,
				  .value_type = find_value_type(collector, sample->value_type),
				  .flags = sample->flags & ~SAMPLE_USER_RESOLVED };
	if (key.value_type == LOSS_NO_VALUE_TYPE)
		add_loss(collector, source_name(collector, sample->header.source), COLLECTOR_REASON_VALUE_TYPE,
			 LOSS_NO_VALUE_TYPE, sample->first_time, sample->header.time, sample->count, 0);
	else if (!sample_table_add(&collector->samples, &key, sample->header.time, sample->value, sample->count))
		count_out_of_memory(collector, sample->count);
}

/* Places the samples of up to a time, and keeps the later ones waiting. */
static void place_waiting(struct collector *collector, uint64_t until)
{
	size_t kept = 0;
	for (size_t i = 0; i < collector->waiting.count; i++)
		if (collector->waiting.items[i].header.time <= until)
			place_sample(collector, &collector->waiting.items[i]);
		else
			collector->waiting.items[kept++] = collector->waiting.items[i];
	collector->waiting.count = kept;
}

void collector_resolve(struct collector *collector)
{
	sample_table_take_all(&collector->samples, resolve_entry, collector);
}

/*
 * Resolves what needs the process, which is about to be forgotten. The Linux kernel's part can wait: reading its
 * symbols is much work, and belongs after the measuring.
 */
static void resolve_user_part(void *context, const struct sample_entry *entry)
{
	struct collector *collector = context;
	struct sample_key key = { .user_stack = sample_stack_resolve_user(&collector->stack_context, entry),
				  .kernel_stack = entry->key.kernel_stack,
				  .value_type = entry->key.value_type,
				  .flags = entry->key.flags | SAMPLE_USER_RESOLVED };
	if (key.user_stack == FRAME_NONE ||
	    !sample_table_add(&collector->samples, &key, entry->last_time, entry->value, entry->count))
		count_out_of_memory(collector, entry->count);
}

static void process_gone(void *context, struct process *process)
{
	struct collector *collector = context;
	sample_table_take_process(&collector->samples, process->serial, resolve_user_part, collector);
}

static void take_sync(struct collector *collector, uint64_t time)
{
	place_waiting(collector, time);
	process_table_retire(collector->processes, time > RETIRE_AFTER ? time - RETIRE_AFTER : 0, process_gone,
			     collector);
	if (time - collector->stack_epoch_begin >= STACK_EPOCH) {
		collector->stack_epoch_begin = time;
		intern_begin_epoch(collector->options.intern);
		/* Stacks must not expire under samples that are not resolved yet. */
		if (collector->samples.entries.count >= RESOLVE_COUNT) {
			collector_resolve(collector);
			intern_expire_stacks(collector->options.intern,
					     collector->options.live ? STACK_EPOCHS : STACK_EPOCHS_OF_REPLAY);
		}
	}
}

static void take_sample(struct collector *collector, const struct iaprof_record_sample *sample)
{
	collector->statistics.samples = saturating_add(collector->statistics.samples, sample->count);
	if (collector->waiting.count >= WAITING_COUNT_MAX)
		place_waiting(collector, UINT64_MAX);
	if (!array_push(&collector->waiting, *sample))
		count_out_of_memory(collector, sample->count);
}

static void take_value_type(struct collector *collector, const struct iaprof_record_value_type *record)
{
	if (collector->value_types.count >= VALUE_TYPES_MAX ||
	    find_value_type(collector, record->id) != LOSS_NO_VALUE_TYPE)
		return;
	struct iaprof_value_type type = { .name = text(collector, record->name),
					  .unit = text(collector, record->unit),
					  .period = record->period };
	if (array_push(&collector->value_types, type) && !array_push(&collector->value_type_ids, record->id))
		collector->value_types.count--;
}

static void take_metadata(struct collector *collector, const char *key, const char *value)
{
	if (!collector->options.live && !strcmp(key, METADATA_BOOT_ID) && collector->options.boot_id)
		resolver_set_same_boot(collector->resolver, !strcmp(value, collector->options.boot_id));
	for (size_t i = 0; i + 1 < collector->metadata.count; i += 2)
		if (!strcmp(collector->metadata.items[i], key)) {
			collector->metadata.items[i + 1] = value;
			return;
		}
	if (collector->metadata.count < METADATA_COUNT_MAX &&
	    array_reserve(&collector->metadata, collector->metadata.count + 2)) {
		collector->metadata.items[collector->metadata.count++] = key;
		collector->metadata.items[collector->metadata.count++] = value;
	}
}

static void take_counter(struct collector *collector, const struct iaprof_record_counter *record)
{
	if (collector->kernel_side_counters.count < KERNEL_SIDE_COUNTERS_MAX &&
	    !strcmp(text(collector, record->name), COUNTER_KERNEL_SIDE_TIME))
		array_push(&collector->kernel_side_counters,
			   ((struct counter){ .source = record->header.source, .id = record->id }));
}

static void take_counter_value(struct collector *collector, const struct iaprof_record_counter_value *record)
{
	double sum = 0;
	for (size_t i = 0; i < collector->kernel_side_counters.count; i++) {
		struct counter *counter = &collector->kernel_side_counters.items[i];
		if (counter->source == record->header.source && counter->id == record->counter)
			counter->value = record->value;
		sum += counter->value;
	}
	collector->statistics.kernel_side_time = sum > 0 && sum < 1e18 ? (uint64_t)sum : 0;
}

static void take_source(struct collector *collector, const struct iaprof_record_source *record)
{
	for (size_t i = 0; i < collector->sources.count; i++)
		if (collector->sources.items[i].number == record->number)
			return;
	if (record->number == 0 || record->number > UINT16_MAX || collector->sources.count >= SOURCES_MAX)
		return;
	struct source_name source = { .number = (uint16_t)record->number, .name = text(collector, record->name) };
	if (!array_push(&collector->sources, source))
		count_out_of_memory(collector, 1);
}

static void count_definition(struct collector *collector, int result)
{
	if (result == -EINVAL)
		collector->statistics.definitions_refused++;
	else if (result)
		count_out_of_memory(collector, 1);
}

static void take_record(struct collector *collector, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		count_definition(collector, intern_define_string(collector->options.intern, (const void *)record));
		break;
	case IAPROF_RECORD_STACK:
		count_definition(collector, intern_define_stack(collector->options.intern, (const void *)record));
		break;
	case IAPROF_RECORD_SOURCE:
		take_source(collector, (const void *)record);
		break;
	case IAPROF_RECORD_METADATA: {
		const struct iaprof_record_metadata *metadata = (const void *)record;
		take_metadata(collector, text(collector, metadata->key), text(collector, metadata->value));
		break;
	}
	case IAPROF_RECORD_VALUE_TYPE:
		take_value_type(collector, (const void *)record);
		break;
	case IAPROF_RECORD_PROCESS: {
		const struct iaprof_record_process *process = (const void *)record;
		if (process_table_event(collector->processes, process, text(collector, process->name),
					collector->options.live))
			count_out_of_memory(collector, 1);
		if (process->event != IAPROF_PROCESS_NAME && process->event != IAPROF_PROCESS_EXIT)
			collector->statistics.processes++;
		break;
	}
	case IAPROF_RECORD_MAPPING: {
		const struct iaprof_record_mapping *mapping = (const void *)record;
		if (process_table_mapping(collector->processes, mapping, text(collector, mapping->path)))
			count_out_of_memory(collector, 1);
		break;
	}
	case IAPROF_RECORD_SAMPLE:
		take_sample(collector, (const void *)record);
		break;
	case IAPROF_RECORD_COUNTER:
		take_counter(collector, (const void *)record);
		break;
	case IAPROF_RECORD_COUNTER_VALUE:
		take_counter_value(collector, (const void *)record);
		break;
	case IAPROF_RECORD_LOST: {
		const struct iaprof_record_lost *lost = (const void *)record;
		add_loss(collector, source_name(collector, record->source), text(collector, lost->reason),
			 find_value_type(collector, lost->value_type), lost->begin, record->time, lost->count,
			 lost->value);
		break;
	}
	case IAPROF_RECORD_FRAMES:
		if (!collector->options.live)
			resolver_learn(collector->resolver, (const void *)record);
		break;
	default: /* devices, kernels, calls and counters are for sinks that take records */
		break;
	}
}

void collector_take(struct collector *collector, const struct iaprof_batch *batch,
		    void (*sync)(void *context, uint64_t time), void *context)
{
	collector->statistics.records += batch->count;
	for (const struct iaprof_record *record = iaprof_batch_next(batch, NULL); record;
	     record = iaprof_batch_next(batch, record)) {
		if (record->type != IAPROF_RECORD_SYNC) {
			take_record(collector, record);
			continue;
		}
		if (record->time < collector->last_sync)
			continue;
		collector->last_sync = record->time;
		take_sync(collector, record->time);
		if (sync)
			sync(context, record->time);
	}
}

void collector_finish(struct collector *collector)
{
	place_waiting(collector, UINT64_MAX);
	collector_resolve(collector);
}

struct snapshot *collector_snapshot(const struct collector *collector, bool total)
{
	return snapshot_new(&(struct snapshot_content){ .frames = &collector->frames,
							.values = &collector->values,
							.value_types = collector->value_types.items,
							.value_type_count = collector->value_types.count,
							.loss = &collector->loss,
							.metadata = collector->metadata.items,
							.metadata_count = collector->metadata.count,
							.total = total });
}

void collector_begin_interval(struct collector *collector)
{
	value_table_begin_interval(&collector->values);
	loss_begin_interval(&collector->loss);
}

uint64_t collector_realtime_offset(const struct collector *collector)
{
	for (size_t i = 0; i + 1 < collector->metadata.count; i += 2)
		if (!strcmp(collector->metadata.items[i], METADATA_REALTIME_OFFSET))
			return strtoull(collector->metadata.items[i + 1], NULL, 10);
	return 0;
}

struct collector_statistics collector_statistics(const struct collector *collector)
{
	struct collector_statistics statistics = collector->statistics;
	statistics.mappings_dropped = process_table_dropped(collector->processes);
	statistics.symbolizer_warning = symbolizer_warning(collector->symbolizer);
	statistics.stacks_unknown = collector->stack_context.stacks_unknown;
	return statistics;
}

uint64_t collector_lost_count(const struct collector *collector)
{
	uint64_t count = 0;
	for (size_t i = 0; i < collector->loss.entries.count; i++)
		count = saturating_add(count, collector->loss.entries.items[i].count);
	return count;
}
