/* SPDX-License-Identifier: Apache-2.0 */
/* See thread_contexts.h. */
#include "bpf/thread_contexts.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <bpf/bpf.h>

#include "bpf/support.h"

#define PROCESSES_MAX 8192u

int thread_contexts_set_size(const struct iaprof_host *host, struct bpf_map *processes, bool use_spans)
{
	const struct bpf_map_size size = { processes, use_spans ? PROCESSES_MAX : 1, 0 };
	return bpf_map_sizes_set(host, &size, 1);
}

void thread_contexts_open(struct thread_contexts *contexts, struct bpf_map *processes)
{
	*contexts = (struct thread_contexts){ .processes = processes };
}

void thread_contexts_free(struct thread_contexts *contexts)
{
	keyed_array_free(&contexts->files);
	keyed_array_free(&contexts->targets);
	*contexts = (struct thread_contexts){ 0 };
}

static void take_table(struct thread_contexts *contexts, const struct iaprof_unwind_table *table)
{
	if (!table->thread_context || !(table->thread_context->access | table->thread_context->flags))
		return;
	const struct thread_context_file file = { .key = table->id, .context = *table->thread_context };
	(void)keyed_array_add(&contexts->files, &file);
}

/*
 * Sets context to the variable of a process. If several files define one, all use the same, which is the program's own
 * if it has one. Returns false if there is none.
 */
static bool find_variable(const struct thread_contexts *contexts, const struct iaprof_unwind_process *process,
			  struct iaprof_thread_context *context)
{
	uint32_t flags = 0;
	context->access = IAPROF_THREAD_CONTEXT_NONE;
	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct iaprof_unwind_mapping *mapping = &process->mappings[i];
		const struct thread_context_file *file = keyed_array_get(&contexts->files, &mapping->table);
		if (!file)
			continue;
		flags |= file->context.flags;
		bool is_better = context->access <= IAPROF_THREAD_CONTEXT_UNKNOWN ||
				 file->context.access == IAPROF_THREAD_CONTEXT_OFFSET;
		if (!file->context.access || !is_better)
			continue;
		*context = file->context;
		context->slot += mapping->bias;
	}
	context->flags = flags;
	return context->access != IAPROF_THREAD_CONTEXT_NONE;
}

static bool take_process(struct thread_contexts *contexts, const struct iaprof_unwind_process *process)
{
	struct thread_context_process found = { .execution = process->execution };
	int map = bpf_map__fd(contexts->processes);
	if (!contexts->files.count)
		return false;
	uint32_t position = keyed_array_find(&contexts->targets, &process->pid);
	if (!find_variable(contexts, process, &found.context)) {
		if (position == POSITION_NONE)
			return false;
		bpf_map_delete_elem(map, &process->pid);
		keyed_array_remove(&contexts->targets, position);
		return false;
	}
	bool good =
		keyed_array_add(&contexts->targets, &(struct thread_context_target){ process->pid }) != POSITION_NONE &&
		!bpf_map_update_elem(map, &process->pid, &found, BPF_ANY);
	contexts->refused += !good;
	return good;
}

bool thread_contexts_take(struct thread_contexts *contexts, const struct iaprof_unwind_table *table,
			  const struct iaprof_unwind_process *process)
{
	if (!contexts->processes)
		return false;
	if (table)
		take_table(contexts, table);
	return !table && process && take_process(contexts, process);
}

void thread_contexts_set_span(struct iaprof_record *record, struct iaprof_span *span, const __u64 *words)
{
	static_assert(sizeof *span == THREAD_CONTEXT_SPAN_WORDS * sizeof *words, "the same bytes");
	memcpy(span, words, sizeof *span);
	const char *end = (const char *)(iaprof_span_is_valid(span) ? span + 1 : span);
	record->size = (uint32_t)(end - (const char *)record);
}

void thread_contexts_describe(const struct thread_contexts *contexts, const struct iaprof_host *host,
			      const struct thread_context_counts *counts)
{
	uint64_t sum = counts->spans + counts->none + counts->invalid + counts->unreadable + counts->unsupported;
	if (sum || contexts->refused)
		host->metadata(host, "spans of threads",
			       "%" PRIu64 " samples with one, %" PRIu64 " without, %" PRIu64
			       " with an invalid record, %" PRIu64 " not readable, %" PRIu64
			       " with thread-local storage that is not supported; processes refused %" PRIu64,
			       (uint64_t)counts->spans, (uint64_t)counts->none, (uint64_t)counts->invalid,
			       (uint64_t)counts->unreadable, (uint64_t)counts->unsupported, contexts->refused);
}
