/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples and calls before they are part of the profile: see cpu_samples.h. */
#include "profile/cpu_samples.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/loss.h"

void cpu_samples_free(struct cpu_samples *samples)
{
	sample_table_free(&samples->table);
	wait_table_free(&samples->waits);
	waiting_samples_free(&samples->waiting);
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
				    const union waiting_key *key, uint32_t pid, uint64_t time)
{
	struct process **found = &recent->by_pid[pid % RECENT_COUNT];
	if (!pid && key->call)
		return NULL;
	if (!*found || (*found)->pid != pid || time < (*found)->begin || time >= (*found)->end)
		*found = process_table_find(samples->stack_context.processes, pid, time);
	return *found;
}

/* Narrows a placement to the lifetime of a program that was found for one of its samples. */
static void narrow(struct placement *placement, const struct process *process)
{
	if (process && process->begin > placement->begin)
		placement->begin = process->begin;
	if (process && process->end < placement->end)
		placement->end = process->end;
}

static uint32_t place_wait(struct cpu_samples *samples, struct recent_images *recent, struct placed_key *placed,
			   uint64_t time)
{
	struct wait_key wait = placed->key.wait;
	const struct process *waker = wait.waker ? find_process(samples, recent, &placed->key, wait.waker, time) : NULL;
	narrow(&placed->placement, waker);
	wait.waker = waker ? waker->serial : 0;
	return wait_table_add(&samples->waits, &wait);
}

/* Returns sample_key.span. */
static uint32_t place_span(struct cpu_samples *samples, struct placed_key *placed, uint64_t count)
{
	if (!samples->stack_context.spans || !iaprof_span_is_valid(&placed->key.span))
		return 0;
	uint32_t span = frame_table_add_span(samples->stack_context.frames, &placed->key.span);
	if (!span) {
		samples->spans_dropped = saturating_add(samples->spans_dropped, count);
		placed->placement.end = 0; /* each one is counted */
	}
	return span;
}

static struct thread_identity place_thread(struct cpu_samples *samples, struct placed_key *placed, uint32_t process,
					   uint64_t count)
{
	struct thread_table *threads = samples->stack_context.threads;
	if (!threads)
		return (struct thread_identity){ 0 };
	struct thread_identity thread = thread_table_place(threads, thread_table_process(process, placed->key.pid),
							   placed->key.tid, placed->key.thread_name, count);
	placed->placement.names = threads->changes;
	if (thread.tid != placed->key.tid)
		placed->placement.end = 0; /* each one is counted */
	return thread;
}

/* Processes whose memory maps cannot be read are a loss only if they are sampled. */
static void note_unreadable(struct cpu_samples *samples, struct process *process)
{
	samples->unreadable += process && process->is_unreadable && !process->is_reported;
	if (process)
		process->is_reported = process->is_unreadable;
}

/* Finds the entry of a sample, and the interval in which other samples with the same key have the same entry. */
static void place(struct cpu_samples *samples, struct recent_images *recent, struct placed_key *placed,
		  const struct waiting_value *sample)
{
	const union waiting_key *from = &placed->key;
	struct process *process = find_process(samples, recent, from, from->pid, sample->time);
	note_unreadable(samples, process);
	placed->placement = (struct placement){ .end = UINT64_MAX, .pass = samples->pass };
	narrow(&placed->placement, process);
	struct sample_key key = { .process = process ? process->serial : 0,
				  .pid = samples->stack_context.pids || !process ? from->pid : 0,
				  .name = from->name,
				  .user_stack = from->user_stack,
				  .kernel_stack = from->kernel_stack,
				  .call = from->call,
				  .value_type = from->value_type,
				  .flags = from->flags & ~WAITING_HAS_SPAN };
	if (from->wait.reason)
		key.wait = placed->placement.wait = place_wait(samples, recent, placed, sample->time);
	key.span = place_span(samples, placed, sample->count);
	key.thread = place_thread(samples, placed, key.process, sample->count);
	placed->placement.entry = sample_table_entry(&samples->table, &key);
}

static bool is_placed(const struct cpu_samples *samples, const struct placement *placement, uint64_t time)
{
	const struct thread_table *threads = samples->stack_context.threads;
	return placement->pass == samples->pass && time >= placement->begin && time < placement->end &&
	       (!threads || placement->names == threads->changes);
}

static void place_until(struct cpu_samples *samples, uint64_t until, uint64_t synced)
{
	struct recent_images recent = { 0 };
	struct waiting_value *values = samples->waiting.values.items;
	size_t kept = 0;
	samples->pass++;
	for (size_t i = 0; i < samples->waiting.values.count; i++) {
		const struct waiting_value *value = &values[i];
		if (value->time > until) {
			values[kept++] = *value;
			continue;
		}
		if (value->time > synced)
			samples->early = saturating_add(samples->early, value->count);
		struct placed_key *placed = &samples->waiting.keys.items[value->key];
		if (!is_placed(samples, &placed->placement, value->time))
			place(samples, &recent, placed, value);
		if (placed->placement.wait)
			wait_table_note_time(&samples->waits, placed->placement.wait, value->time);
		if (placed->placement.entry == SAMPLE_NONE ||
		    !sample_table_add(&samples->table, placed->placement.entry, value->first_time, value->time,
				      value->value, value->count))
			count_out_of_memory(samples, value->count);
	}
	samples->waiting.values.count = kept;
	count_out_of_memory(samples, waiting_samples_trim(&samples->waiting));
}

void cpu_samples_place(struct cpu_samples *samples, uint64_t until)
{
	samples->synced = until;
	place_until(samples, until, until);
}

static inline void add_sample(struct cpu_samples *samples, const union waiting_key *key, uint64_t first_time,
			      uint64_t time, uint64_t value, uint64_t count)
{
	if (waiting_samples_are_full(&samples->waiting))
		place_until(samples, UINT64_MAX, samples->synced);
	if (!waiting_samples_add(&samples->waiting, key, first_time, time, value, count))
		count_out_of_memory(samples, count);
}

void cpu_samples_add(struct cpu_samples *samples, const struct waiting_sample *sample)
{
	add_sample(samples, &sample->key, sample->first_time, sample->time, sample->value, sample->count);
}

/* threads, spans: whether samples of different ones have different keys. */
static inline void make_key(union waiting_key *key, const struct iaprof_record_sample *record, uint32_t value_type,
			    bool threads, bool spans)
{
	bool waits = iaprof_record_sample_has_wait(record);
	const struct iaprof_span *span = spans ? iaprof_record_sample_span(record) : NULL;
	uint32_t flags = (record->flags & ~WAITING_FLAGS) | (span ? WAITING_HAS_SPAN : 0);
	key->words[0] = waiting_key_pair(record->pid, threads ? record->tid : 0);
	key->words[1] = waiting_key_pair(record->name, threads ? iaprof_record_sample_thread_name(record) : 0);
	key->words[2] = waiting_key_pair(record->user_stack, record->kernel_stack);
	key->words[3] = waiting_key_pair(value_type, flags);
	key->words[4] = waiting_key_pair(0, waits ? record->reason : 0);
	key->words[5] = waits ? waiting_key_pair(record->waker, record->waker_name) : 0;
	key->words[6] = waits ? waiting_key_pair(record->waker_user_stack, record->waker_kernel_stack) : 0;
	key->span = span ? *span : (struct iaprof_span){ 0 };
}

bool cpu_samples_take(struct cpu_samples *samples, const struct iaprof_record_sample *record)
{
	uint32_t value_type = run_metadata_find_value_type(samples->facts, record->value_type);
	samples->taken = saturating_add(samples->taken, record->count);
	if (value_type == LOSS_NO_VALUE_TYPE)
		return false;
	union waiting_key key;
	make_key(&key, record, value_type, samples->stack_context.threads != NULL, samples->stack_context.spans);
	if (key.wait.reason)
		run_metadata_note_role(samples->facts, value_type, IAPROF_VALUE_WAIT);
	add_sample(samples, &key, record->first_time, record->header.time, record->value, record->count);
	return true;
}

struct waiting_sample cpu_samples_describe(const struct cpu_samples *samples, const struct iaprof_record_sample *record)
{
	uint32_t value_type = run_metadata_find_value_type(samples->facts, record->value_type);
	struct waiting_sample sample = { .first_time = record->first_time,
					 .time = record->header.time,
					 .value = record->value,
					 .count = record->count };
	make_key(&sample.key, record, value_type, true, samples->stack_context.spans);
	return sample;
}

bool cpu_samples_take_call(struct cpu_samples *samples, const struct iaprof_record_call *record, uint32_t node,
			   uint32_t value_type_id, uint64_t value)
{
	uint32_t value_type = run_metadata_find_value_type(samples->facts, value_type_id);
	if (value_type == LOSS_NO_VALUE_TYPE)
		return false;
	cpu_samples_add(samples, &(struct waiting_sample){ .key = { .pid = record->pid,
								    .tid = record->tid,
								    .user_stack = record->user_stack,
								    .value_type = value_type,
								    .call = node + 1 },
							   .first_time = record->first_time,
							   .time = record->header.time,
							   .value = value,
							   .count = record->count });
	return true;
}

void cpu_samples_resolve(struct cpu_samples *samples)
{
	sample_table_take_all(&samples->table, resolve_entry, samples);
	wait_table_free(&samples->waits);
	samples->prefetched = 0;
}

static void prefetch_entry(const struct stack_context *context, const struct sample_entry *entry,
			   const struct deadline *end, enum budget_patience patience)
{
	if (!entry->key.process || !entry->key.user_stack || entry->key.flags & SAMPLE_USER_RESOLVED)
		return;
	struct process *process = process_table_by_serial(context->processes, entry->key.process);
	struct interned_stack stack = intern_find_stack(context->intern, entry->key.user_stack);
	for (uint32_t i = 0; process && i < stack.count && !deadline_has_passed(end); i++)
		resolver_prefetch(context->resolver, process, entry->last_time, interned_stack_code(&stack, i),
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
 * Prefetches files for the entries from this position on, the most frequent stacks first, because time may run out.
 * Returns whether all were processed.
 */
static bool prefetch_from(struct cpu_samples *samples, size_t begin, const struct deadline *end,
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
		prefetch_entry(&samples->stack_context, &samples->table.entries.items[entries[done].position], end,
			       patience);
	return done == count;
}

void cpu_samples_prefetch(struct cpu_samples *samples, const struct deadline *end)
{
	if (samples->prefetched > samples->table.entries.count)
		samples->prefetched = 0;
	if (prefetch_from(samples, samples->prefetched, end, BUDGET_QUICK))
		samples->prefetched = samples->table.entries.count;
}

void cpu_samples_catch_up(struct cpu_samples *samples, const struct deadline *end)
{
	prefetch_from(samples, 0, end, BUDGET_FULL);
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

bool cpu_samples_are_many(const struct cpu_samples *samples)
{
	return samples->table.entries.count >= CPU_SAMPLES_MANY || samples->table.times.items.count >= TIME_VALUES_MANY;
}
