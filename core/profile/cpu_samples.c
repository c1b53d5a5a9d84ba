/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples and calls on their way into the profile: see cpu_samples.h. */
#include "profile/cpu_samples.h"

#include "profile/loss.h"

/* Samples that wait for the process events of their time; more than this are not held back. */
#define WAITING_COUNT_MAX 65536

/* From this many distinct raw stacks on they are resolved, whereby the many addresses of a function become one. */
#define RESOLVE_COUNT 16384

void cpu_samples_free(struct cpu_samples *samples)
{
	sample_table_free(&samples->table);
	array_free(&samples->waiting);
}

static void count_out_of_memory(struct cpu_samples *samples, uint64_t count)
{
	samples->out_of_memory = saturating_add(samples->out_of_memory, count);
}

static void resolve_entry(void *context, const struct sample_entry *entry)
{
	struct cpu_samples *samples = context;
	uint32_t stack = sample_stack_resolve(&samples->stack_context, entry);
	if (stack == FRAME_NONE ||
	    !value_table_add(samples->values, stack, entry->key.value_type, entry->value, entry->count))
		count_out_of_memory(samples, entry->count);
	for (uint32_t i = stack == FRAME_NONE ? TIME_VALUE_NONE : entry->times; i != TIME_VALUE_NONE;) {
		const struct time_value *time = &samples->table.times.items.items[i];
		time_table_add(samples->times, stack, entry->key.value_type, time->begin, time->end, time->value);
		i = time->next;
	}
}

/* Gives a sample to the program that ran at its time. Nobody's calls are not those of the process 0, which idles. */
static void place(struct cpu_samples *samples, const struct waiting_sample *waiting)
{
	const struct iaprof_record_sample *sample = &waiting->record;
	const struct sample_stack_context *context = &samples->stack_context;
	struct process *process = sample->pid || !waiting->call
					  ? process_table_find(context->processes, sample->pid, sample->header.time)
					  : NULL;
	/* Asking for the stacks keeps them from expiring before they are resolved. */
	intern_find_stack(context->intern, sample->user_stack);
	intern_find_stack(context->intern, sample->kernel_stack);
	struct sample_key key = { .process = process ? process->serial : 0,
				  .pid = context->pids || !process ? sample->pid : 0,
				  .name = sample->name,
				  .user_stack = sample->user_stack,
				  .kernel_stack = sample->kernel_stack,
				  .call = waiting->call,
				  .value_type = run_facts_find_value_type(samples->facts, sample->value_type),
				  .flags = sample->flags & ~SAMPLE_USER_RESOLVED };
	if (!sample_table_add(&samples->table, &key, sample->first_time, sample->header.time, sample->value,
			      sample->count))
		count_out_of_memory(samples, sample->count);
}

void cpu_samples_place(struct cpu_samples *samples, uint64_t until)
{
	size_t kept = 0;
	for (size_t i = 0; i < samples->waiting.count; i++)
		if (samples->waiting.items[i].record.header.time <= until)
			place(samples, &samples->waiting.items[i]);
		else
			samples->waiting.items[kept++] = samples->waiting.items[i];
	samples->waiting.count = kept;
}

static bool take(struct cpu_samples *samples, const struct iaprof_record_sample *record, uint32_t call)
{
	if (run_facts_find_value_type(samples->facts, record->value_type) == LOSS_NO_VALUE_TYPE)
		return false;
	if (samples->waiting.count >= WAITING_COUNT_MAX)
		cpu_samples_place(samples, UINT64_MAX);
	if (!array_push(&samples->waiting, ((struct waiting_sample){ .record = *record, .call = call })))
		count_out_of_memory(samples, record->count);
	return true;
}

bool cpu_samples_take(struct cpu_samples *samples, const struct iaprof_record_sample *record)
{
	samples->taken = saturating_add(samples->taken, record->count);
	return take(samples, record, 0);
}

bool cpu_samples_take_call(struct cpu_samples *samples, const struct iaprof_record_call *record, uint32_t node,
			   uint32_t value_type, uint64_t value)
{
	struct iaprof_record_sample sample = {
		.header = record->header,
		.pid = record->pid,
		.tid = record->tid,
		.user_stack = record->user_stack,
		.value_type = value_type,
		.count = record->count,
		.value = value,
		.first_time = record->first_time,
	};
	return take(samples, &sample, node + 1);
}

void cpu_samples_resolve(struct cpu_samples *samples)
{
	sample_table_take_all(&samples->table, resolve_entry, samples);
	samples->ahead = 0;
}

static void look_ahead(const struct sample_stack_context *context, const struct sample_entry *entry,
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

void cpu_samples_look_ahead(struct cpu_samples *samples, const struct deadline *end)
{
	if (samples->ahead > samples->table.entries.count)
		samples->ahead = 0;
	while (samples->ahead < samples->table.entries.count && !deadline_has_passed(end))
		look_ahead(&samples->stack_context, &samples->table.entries.items[samples->ahead++], end, BUDGET_QUICK);
}

void cpu_samples_catch_up(struct cpu_samples *samples, const struct deadline *end)
{
	for (size_t i = 0; i < samples->table.entries.count && !deadline_has_passed(end); i++)
		look_ahead(&samples->stack_context, &samples->table.entries.items[i], end, BUDGET_FULL);
}

/*
 * Resolves what needs the process, which is about to be forgotten. The Linux kernel's part can wait: reading its
 * symbols is much work, and belongs after the measuring.
 */
static void resolve_user_part(void *context, const struct sample_entry *entry)
{
	struct cpu_samples *samples = context;
	struct sample_key key = { .user_stack = sample_stack_resolve_user(&samples->stack_context, entry),
				  .kernel_stack = entry->key.kernel_stack,
				  .call = entry->key.call,
				  .value_type = entry->key.value_type,
				  .flags = entry->key.flags | SAMPLE_USER_RESOLVED };
	if (key.user_stack == FRAME_NONE || !sample_table_put_back(&samples->table, &key, entry))
		count_out_of_memory(samples, entry->count);
}

void cpu_samples_end_process(void *samples, struct process *process)
{
	struct cpu_samples *context = samples;
	sample_table_take_process(&context->table, process->serial, resolve_user_part, context);
}

bool cpu_samples_are_too_many(const struct cpu_samples *samples)
{
	return samples->table.entries.count >= 4 * RESOLVE_COUNT;
}

bool cpu_samples_are_many(const struct cpu_samples *samples)
{
	return samples->table.entries.count >= RESOLVE_COUNT || samples->table.times.items.count >= TIME_VALUES_MANY;
}
