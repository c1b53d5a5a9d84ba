/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples and calls before they are part of the profile: see cpu_samples.h. */
#include "profile/cpu_samples.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/loss.h"

/* Limit on samples that wait for the process events of their time; beyond it, they are attributed early. */
#define WAITING_COUNT_MAX 65536

/* Number of distinct raw stacks above which they are resolved, which merges the addresses of a function. */
#define RESOLVE_COUNT 16384

void cpu_samples_free(struct cpu_samples *samples)
{
	sample_table_free(&samples->table);
	wait_table_free(&samples->waits);
	array_free(&samples->waiting);
}

static void count_out_of_memory(struct cpu_samples *samples, uint64_t count)
{
	samples->out_of_memory = saturating_add(samples->out_of_memory, count);
}

static void resolve_entry(void *context, const struct sample_entry *entry)
{
	struct cpu_samples *samples = context;
	uint32_t stack = sample_stack_resolve(&samples->stack_context, samples->calls, &samples->waits, entry);
	if (stack == FRAME_NONE ||
	    !value_table_add(samples->values, stack, entry->key.value_type, entry->value, entry->count))
		count_out_of_memory(samples, entry->count);
	for (uint32_t i = stack == FRAME_NONE ? TIME_VALUE_NONE : entry->times; i != TIME_VALUE_NONE;) {
		const struct time_value *time = &samples->table.times.items.items[i];
		time_table_add(samples->times, stack, entry->key.value_type, time->begin, time->end, time->value);
		i = time->next;
	}
}

/* Cache of program images by pid. Used only during one pass, in which the process table does not change. */
#define RECENT_COUNT 64u
struct recent_images {
	struct process *by_pid[RECENT_COUNT];
};

/* Returns the program that ran at this time. Calls without a process do not belong to process 0, the idle task. */
static struct process *find_process(struct cpu_samples *samples, struct recent_images *recent,
				    const struct waiting_sample *waiting, uint32_t pid)
{
	struct process **found = &recent->by_pid[pid % RECENT_COUNT];
	if (!pid && waiting->key.call)
		return NULL;
	if (!*found || (*found)->pid != pid || waiting->time < (*found)->begin || waiting->time >= (*found)->end)
		*found = process_table_find(samples->stack_context.processes, pid, waiting->time);
	return *found;
}

static uint32_t place_wait(struct cpu_samples *samples, struct recent_images *recent,
			   const struct waiting_sample *waiting)
{
	struct wait_key wait = waiting->wait;
	const struct process *waker = wait.waker ? find_process(samples, recent, waiting, wait.waker) : NULL;
	wait.waker = waker ? waker->serial : 0;
	return wait_table_add(&samples->waits, &wait, waiting->time);
}

/* Returns sample_key.span. */
static uint32_t place_span(struct cpu_samples *samples, const struct waiting_sample *waiting)
{
	if (!samples->stack_context.spans || !iaprof_span_is_valid(&waiting->span))
		return 0;
	uint32_t span = frame_table_add_span(samples->stack_context.frames, &waiting->span);
	if (!span)
		samples->spans_dropped = saturating_add(samples->spans_dropped, waiting->count);
	return span;
}

static void place(struct cpu_samples *samples, struct recent_images *recent, const struct waiting_sample *waiting)
{
	const struct process *process = find_process(samples, recent, waiting, waiting->key.pid);
	struct sample_key key = waiting->key;
	if (waiting->wait.reason)
		key.wait = place_wait(samples, recent, waiting);
	key.span = place_span(samples, waiting);
	key.process = process ? process->serial : 0;
	key.pid = samples->stack_context.pids || !process ? key.pid : 0;
	struct thread_table *threads = samples->stack_context.threads;
	key.thread = threads ? thread_table_place(threads, thread_table_process(key.process, waiting->key.pid),
						  key.thread.tid, key.thread.name, waiting->count)
			     : (struct thread_identity){ 0 };
	if (!sample_table_add(&samples->table, &key, waiting->first_time, waiting->time, waiting->value,
			      waiting->count))
		count_out_of_memory(samples, waiting->count);
}

void cpu_samples_place(struct cpu_samples *samples, uint64_t until)
{
	struct recent_images recent = { 0 };
	size_t kept = 0;
	for (size_t i = 0; i < samples->waiting.count; i++)
		if (samples->waiting.items[i].time <= until)
			place(samples, &recent, &samples->waiting.items[i]);
		else
			samples->waiting.items[kept++] = samples->waiting.items[i];
	samples->waiting.count = kept;
}

/* Returns a slot for one more sample, which the caller fills in; NULL when out of memory. */
static struct waiting_sample *waiting_add(struct cpu_samples *samples, uint64_t count)
{
	if (samples->waiting.count >= WAITING_COUNT_MAX)
		cpu_samples_place(samples, UINT64_MAX);
	if (array_reserve(&samples->waiting, samples->waiting.count + 1))
		return &samples->waiting.items[samples->waiting.count++];
	count_out_of_memory(samples, count);
	return NULL;
}

bool cpu_samples_take(struct cpu_samples *samples, const struct iaprof_record_sample *record)
{
	uint32_t value_type = run_metadata_find_value_type(samples->facts, record->value_type);
	samples->taken = saturating_add(samples->taken, record->count);
	if (value_type == LOSS_NO_VALUE_TYPE)
		return false;
	struct waiting_sample *waiting = waiting_add(samples, record->count);
	if (waiting)
		*waiting = (struct waiting_sample){ .key = { .pid = record->pid,
							     .name = record->name,
							     .user_stack = record->user_stack,
							     .kernel_stack = record->kernel_stack,
							     .value_type = value_type,
							     .flags = record->flags & ~SAMPLE_USER_RESOLVED,
							     .thread = { record->tid,
									 iaprof_record_sample_thread_name(record) } },
						    .first_time = record->first_time,
						    .time = record->header.time,
						    .value = record->value,
						    .count = record->count };
	const struct iaprof_span *span = waiting ? iaprof_record_sample_span(record) : NULL;
	if (span)
		waiting->span = *span;
	if (waiting && iaprof_record_sample_has_wait(record))
		waiting->wait = (struct wait_key){ .reason = record->reason,
						   .waker = record->waker,
						   .waker_name = record->waker_name,
						   .waker_user_stack = record->waker_user_stack,
						   .waker_kernel_stack = record->waker_kernel_stack };
	return true;
}

const struct waiting_sample *cpu_samples_last(const struct cpu_samples *samples)
{
	return samples->waiting.count ? &samples->waiting.items[samples->waiting.count - 1] : NULL;
}

void cpu_samples_add(struct cpu_samples *samples, const struct waiting_sample *sample)
{
	struct waiting_sample *waiting = waiting_add(samples, sample->count);
	if (waiting)
		*waiting = *sample;
}

bool cpu_samples_take_call(struct cpu_samples *samples, const struct iaprof_record_call *record, uint32_t node,
			   uint32_t value_type_id, uint64_t value)
{
	uint32_t value_type = run_metadata_find_value_type(samples->facts, value_type_id);
	if (value_type == LOSS_NO_VALUE_TYPE)
		return false;
	struct waiting_sample *waiting = waiting_add(samples, record->count);
	if (waiting)
		*waiting = (struct waiting_sample){ .key = { .pid = record->pid,
							     .user_stack = record->user_stack,
							     .call = node + 1,
							     .value_type = value_type,
							     .thread = { .tid = record->tid } },
						    .first_time = record->first_time,
						    .time = record->header.time,
						    .value = value,
						    .count = record->count };
	return true;
}

void cpu_samples_resolve(struct cpu_samples *samples)
{
	sample_table_take_all(&samples->table, resolve_entry, samples);
	wait_table_free(&samples->waits);
	samples->ahead = 0;
}

static void look_ahead(const struct stack_context *context, const struct sample_entry *entry,
		       const struct deadline *end, enum budget_patience patience)
{
	if (!entry->key.process || !entry->key.user_stack || entry->key.flags & SAMPLE_USER_RESOLVED)
		return;
	struct process *process = process_table_by_serial(context->processes, entry->key.process);
	struct interned_stack stack = intern_find_stack(context->intern, entry->key.user_stack);
	for (uint32_t i = 0; process && i < stack.count && !deadline_has_passed(end); i++)
		resolver_look_ahead(context->resolver, process, entry->last_time, interned_stack_code(&stack, i),
				    patience);
}

struct weighted_entry {
	uint64_t count;
	size_t position;
};

static int compare_counts(const void *a, const void *b)
{
	const struct weighted_entry *first = a, *second = b;
	if (first->count != second->count)
		return first->count > second->count ? -1 : 1;
	return (first->position > second->position) - (first->position < second->position);
}

/*
 * Prefetches for the entries from this position on. The most frequent stacks come first: when time is short, they have
 * names. Returns whether time was enough for all.
 */
static bool look_ahead_from(struct cpu_samples *samples, size_t begin, const struct deadline *end,
			    enum budget_patience patience)
{
	size_t count = samples->table.entries.count - begin, done = 0;
	if (!count)
		return true;
	CLEANUP_FREE struct weighted_entry *entries = calloc(count, sizeof *entries);
	if (!entries)
		return false;
	for (size_t i = 0; i < count; i++)
		entries[i] = (struct weighted_entry){ samples->table.entries.items[begin + i].count, begin + i };
	qsort(entries, count, sizeof *entries, compare_counts);
	for (; done < count && !deadline_has_passed(end); done++)
		look_ahead(&samples->stack_context, &samples->table.entries.items[entries[done].position], end,
			   patience);
	return done == count;
}

void cpu_samples_look_ahead(struct cpu_samples *samples, const struct deadline *end)
{
	if (samples->ahead > samples->table.entries.count)
		samples->ahead = 0;
	if (look_ahead_from(samples, samples->ahead, end, BUDGET_QUICK))
		samples->ahead = samples->table.entries.count;
}

void cpu_samples_catch_up(struct cpu_samples *samples, const struct deadline *end)
{
	look_ahead_from(samples, 0, end, BUDGET_FULL);
}

/*
 * Resolves the user part, which requires the process. The Linux kernel part is resolved at the end, because reading its
 * symbols is expensive.
 */
static void resolve_user_part(void *context, const struct sample_entry *entry)
{
	struct cpu_samples *samples = context;
	struct sample_key key = { .user_stack = sample_stack_resolve_user(&samples->stack_context, entry),
				  .kernel_stack = entry->key.kernel_stack,
				  .call = entry->key.call,
				  .wait = entry->key.wait,
				  .value_type = entry->key.value_type,
				  .flags = entry->key.flags | SAMPLE_USER_RESOLVED };
	if (key.user_stack == FRAME_NONE || !sample_table_put_back(&samples->table, &key, entry))
		count_out_of_memory(samples, entry->count);
}

void cpu_samples_end_process(void *samples, struct process *process)
{
	struct cpu_samples *context = samples;
	sample_table_take_process(&context->table, process->serial, resolve_user_part, context);
	wait_table_end_process(&context->waits, &context->stack_context, process);
}

bool cpu_samples_are_too_many(const struct cpu_samples *samples)
{
	return samples->table.entries.count >= 4 * RESOLVE_COUNT;
}

bool cpu_samples_are_many(const struct cpu_samples *samples)
{
	return samples->table.entries.count >= RESOLVE_COUNT || samples->table.times.items.count >= TIME_VALUES_MANY;
}
