/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells a BPF program that reads the spans of threads (thread_context.bpf.h) which processes have the variable, and
 * where. Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>
#include <iaprof/record.h>
#include <iaprof/unwind.h>
#include "base/keyed_array.h"
#include "bpf/thread_context.h"

/* A file that defines the variable, or of glibc. */
struct thread_context_file {
	uint32_t key; /* id of its unwind table */
	struct iaprof_thread_context context;
};

/* A process in the map. */
struct thread_context_target {
	uint32_t key; /* process id */
};

/* Initialise with {0}. */
struct thread_contexts {
	struct bpf_map *processes; /* NULL: not open */
	KEYED_ARRAY(struct thread_context_file) files;
	KEYED_ARRAY(struct thread_context_target) targets;
	uint64_t refused; /* updates that did not fit into the map */
};

/* Returns whether a sink requested spans. */
static inline bool thread_contexts_are_wanted(const struct iaprof_host *host)
{
	return host->target(host)->flags & IAPROF_TARGET_SPANS;
}

/* Before the object is loaded. Without use_spans, the map stays small. Returns 0, or the result of host->fail(). */
int thread_contexts_set_size(const struct iaprof_host *host, struct bpf_map *processes, bool use_spans);
/* Behind that, in prepare(). */
void thread_contexts_open(struct thread_contexts *contexts, struct bpf_map *processes);
void thread_contexts_free(struct thread_contexts *contexts);

/*
 * The arguments of iaprof_on_unwind. Does nothing before thread_contexts_open(). Returns whether a process that
 * has the variable was passed to the BPF program.
 */
bool thread_contexts_take(struct thread_contexts *contexts, const struct iaprof_unwind_table *table,
			  const struct iaprof_unwind_process *process);
/* Copies the words of the BPF program into the last member of a record, which lacks it without a span. */
void thread_contexts_set_span(struct iaprof_record *record, struct iaprof_span *span, const __u64 *words);

/* For finish(): sends counts of all CPUs as metadata, if there were any. */
void thread_contexts_describe(const struct thread_contexts *contexts, const struct iaprof_host *host,
			      const struct thread_context_counts *counts);
