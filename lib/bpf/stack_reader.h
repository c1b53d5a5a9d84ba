/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For sources of stacks: what their BPF programs and their records need of user stacks. It sets up stack_reader.bpf.h,
 * passes unwind tables, Python interpreters and variables of spans on to it, and makes stack ids of what it recorded.
 * Loop thread, except for the functions with stacks and sets of maps, which one thread calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>
#include <iaprof/unwind.h>
#include "bpf/map_table.h"
#include "bpf/python_stacks.h"
#include "bpf/stack_counts.h"
#include "bpf/stack_index.h"
#include "bpf/thread_contexts.h"
#include "bpf/unwinder.h"

/* Values of an option unwind=; those of a source that always has tables, or never has to, are fewer. */
enum unwind_choice { UNWIND_AUTO = 0, UNWIND_FRAME_POINTERS = 1, UNWIND_TABLES = 2 };

/* The parts of a skeleton whose object includes stack_reader.bpf.h. */
struct stack_reader_object {
	struct unwinder_maps unwind;
	struct python_maps python;
	struct bpf_map *scratch, *unwind_states, *python_states, *contexts;
	void *hash_seed;
	uint32_t *stack_depth;
	bool *take_python, *take_spans;
};
#define STACK_READER_OBJECT(skeleton)                                                                                  \
	(&(const struct stack_reader_object){                                                                          \
		.unwind = UNWINDER_MAPS(skeleton),                                                                     \
		.python = PYTHON_MAPS(skeleton),                                                                       \
		.scratch = (skeleton)->maps.scratch,                                                                   \
		.unwind_states = (skeleton)->maps.unwind_states,                                                       \
		.python_states = (skeleton)->maps.python_states,                                                       \
		.contexts = (skeleton)->maps.thread_context_processes,                                                 \
		.hash_seed = (void *)(skeleton)->rodata->hash_seed,                                                    \
		.stack_depth = &(skeleton)->rodata->stack_depth,                                                       \
		.take_python = &(skeleton)->rodata->take_python,                                                       \
		.take_spans = &(skeleton)->rodata->take_spans,                                                         \
	})

/*
 * The first member of the instance of a source, since the host's callbacks receive nothing else. Initialise with {0};
 * stack_reader_free() accepts that.
 */
struct stack_reader {
	/* Options: */
	uint64_t unwind; /* enum unwind_choice */
	uint64_t python_choice;
	bool user, spans;

	/* How much of that the Linux kernel supports and sinks write: */
	bool use_tables, use_python, use_spans;
	bool python_is_refused; /* by the Linux kernel */
	uint32_t depth;         /* of the deepest stack that can be recorded */

	const struct iaprof_host *host;
	/* Optional: called for each process whose mappings have come; has_span: with the variable of spans, too. */
	void (*on_process)(struct stack_reader *reader, const struct iaprof_unwind_process *process, bool has_span);
	struct unwinder unwinder;
	struct python_stacks python;
	struct thread_contexts contexts;
	struct map_table stacks; /* of the set of maps that was drained last */
	struct stack_index index;
};

/* Rows of the table of options. of: which stacks, "user stacks". */
#define STACK_READER_PYTHON_OPTION(type, member, of)                                                                   \
	IAPROF_OPTION(type, member.python_choice, CHOICE, "python", "mixed",                                           \
		      "Python frames in " of ": mixed shows them in place of the interpreter's frames; python omits "  \
		      "native frames; native omits Python frames",                                                     \
		      .choices = python_choices)
#define STACK_READER_SPANS_OPTION(type, member)                                                                        \
	IAPROF_OPTION(type, member.spans, BOOL, "spans", "yes",                                                        \
		      "Record the trace and span that a thread works on, if its program publishes them "               \
		      "(OpenTelemetry's thread context; requires unwind tables)")

/*
 * For probe() or prepare(): decides whether programs of this type unwind by tables. Returns 0, or the result of
 * host->fail().
 */
int stack_reader_probe(struct stack_reader *reader, const struct iaprof_host *host, enum bpf_prog_type type);
/* Before the object is loaded: sets its maps and settings. Returns 0, or the result of host->fail(). */
int stack_reader_configure(struct stack_reader *reader, const struct iaprof_host *host,
			   const struct stack_reader_object *object);
/*
 * After the Linux kernel has refused the object: does without Python frames and, if there were none, without unwind
 * tables. Returns whether to open, configure and load it again.
 */
bool stack_reader_reduce(struct stack_reader *reader, int error);
/* For prepare(), after the object is loaded. Returns 0, or the result of host->fail(). */
int stack_reader_open(struct stack_reader *reader, const struct stack_reader_object *object);
/* Reads what the BPF programs have asked and sent, as the loop does whenever there is something. */
void stack_reader_read(struct stack_reader *reader);
void stack_reader_free(struct stack_reader *reader);

/* Drains a set of maps that no BPF program writes to, with its stacks. Returns 0, or the result of host->fail(). */
struct drained_map {
	struct map_table *table;
	const struct bpf_map *map;
};
int stack_reader_drain(struct stack_reader *reader, const struct bpf_map *stacks, const struct drained_map *maps,
		       size_t count);

/* As python_stacks_intern(), also without Python frames. */
uint32_t stack_reader_intern(struct stack_reader *reader, uint32_t process, uint64_t execution, uint32_t *flags,
			     const void *elements, uint64_t depth);
/*
 * Returns the id of a user stack that has a hash (0: none). stack: NULL if it is lost. *flags: enum stack_flag, to
 * which STACK_USER_MISSING is added if there should be a stack.
 */
uint32_t stack_reader_intern_user(struct stack_reader *reader, uint32_t process, uint64_t execution, uint64_t hash,
				  const struct stack_addresses *stack, uint32_t *flags);

/* For start() and finish(): send metadata, the latter sums of all CPUs. name: of the ends of user stacks. */
void stack_reader_describe_limits(const struct stack_reader *reader);
void stack_reader_describe(const struct stack_reader *reader, const struct stack_counts *counts, const char *name);
