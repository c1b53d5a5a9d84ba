/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_reader.h. */
#include "bpf/stack_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <iaprof/record.h>

#include "bpf/slots.h"
#include "bpf/support.h"

_Static_assert(STACK_USER_MISSING == (int)IAPROF_SAMPLE_USER_STACK_MISSING &&
		       STACK_KERNEL_MISSING == (int)IAPROF_SAMPLE_KERNEL_STACK_MISSING &&
		       STACK_TRUNCATED == (int)IAPROF_SAMPLE_TRUNCATED &&
		       STACK_NO_TABLE == (int)IAPROF_SAMPLE_NO_UNWIND_TABLE &&
		       STACK_UNREADABLE == (int)IAPROF_SAMPLE_STACK_UNREADABLE,
	       "records have the flags of BPF programs");

int stack_reader_probe(struct stack_reader *reader, const struct iaprof_host *host, enum bpf_prog_type type)
{
	const char *reason = NULL;
	reader->use_tables = reader->user && reader->unwind != UNWIND_FRAME_POINTERS;
	if (!reader->use_tables || unwinder_is_supported(type, &reason))
		return 0;
	if (reader->unwind == UNWIND_TABLES)
		return host->fail(host, ENOTSUP, "unwind=tables: %s: use unwind=fp", reason);
	reader->use_tables = false;
	host->log(host, IAPROF_LOG_INFO, "user stacks are unwound by frame pointers alone: %s", reason);
	return 0;
}

int stack_reader_configure(struct stack_reader *reader, const struct iaprof_host *host,
			   const struct stack_reader_object *object)
{
	uint32_t buffers = bpf_processor_count(), elements = bpf_map__max_entries(object->scratch);
	if (bpf_map__type(object->scratch) != BPF_MAP_TYPE_PERCPU_ARRAY)
		elements = buffers *= SCRATCH_SLOTS;
	reader->host = host;
	reader->use_python = reader->use_tables && reader->python_choice != PYTHON_NATIVE && !reader->python_is_refused;
	reader->use_spans = reader->use_tables && reader->spans && thread_contexts_are_wanted(host);
	*object->stack_depth = stack_depth_read();
	reader->depth = reader->use_tables ? STACK_DEPTH_MAX : *object->stack_depth;
	*object->take_python = reader->use_python;
	*object->take_spans = reader->use_spans;
	if (getrandom(object->hash_seed, 2 * sizeof(uint64_t), 0) < 0)
		return host->fail(host, errno, "cannot get a random number: %s", strerror(errno));
	const struct bpf_map_size sizes[] = {
		{ object->scratch, elements, 0 },
		{ object->unwind_states, reader->use_tables ? elements : 1, 0 },
		{ object->python_states, reader->use_python ? elements : 1, 0 },
	};
	int result = bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof *sizes);
	if (result == 0)
		result = unwinder_set_sizes(host, &object->unwind, reader->use_tables);
	if (result == 0)
		result = python_stacks_set_sizes(host, &object->python, buffers, reader->use_python);
	return result ? result : thread_contexts_set_size(host, object->contexts, reader->use_spans);
}

bool stack_reader_reduce(struct stack_reader *reader, int error)
{
	const struct iaprof_host *host = reader->host;
	if (error == -EPERM || error == -EMFILE || error == -ENFILE)
		return false;
	if (reader->use_python) {
		reader->python_is_refused = true;
		host->log(host, IAPROF_LOG_WARNING,
			  "user stacks have no Python frames: the Linux kernel refuses the BPF program that reads "
			  "them: %s",
			  strerror(-error));
		return true;
	}
	if (!reader->use_tables || reader->unwind == UNWIND_TABLES)
		return false;
	reader->use_tables = false;
	host->log(host, IAPROF_LOG_INFO,
		  "user stacks are unwound by frame pointers alone: the Linux kernel refuses the other BPF program: %s",
		  strerror(-error));
	return true;
}

void stack_reader_read(struct stack_reader *reader)
{
	if (reader->unwinder.questions)
		unwinder_ask(&reader->unwinder);
	python_stacks_read(&reader->python);
}

static int ring_ready(const struct iaprof_host *host, void *instance, int fd, uint32_t ready)
{
	(void)host, (void)fd, (void)ready;
	stack_reader_read(instance);
	return 0;
}

static int tables_received(const struct iaprof_host *host, void *instance, const struct iaprof_unwind_table *table,
			   const struct iaprof_unwind_process *process)
{
	(void)host;
	struct stack_reader *reader = instance;
	/* The unwinder last, so that each complete stack has its Python frames and its span. */
	python_stacks_take(&reader->python, table, process);
	bool has_span = thread_contexts_take(&reader->contexts, table, process);
	int result = unwinder_take(&reader->unwinder, table, process);
	if (!result && process && reader->on_process)
		reader->on_process(reader, process, has_span);
	return result;
}

int stack_reader_open(struct stack_reader *reader, const struct stack_reader_object *object)
{
	if (!reader->use_tables)
		return 0;
	if (reader->use_spans)
		thread_contexts_open(&reader->contexts, object->contexts);
	int result = unwinder_open(&reader->unwinder, reader->host, &object->unwind, ring_ready, tables_received);
	if (result || !reader->use_python)
		return result;
	return python_stacks_open(&reader->python, reader->host, &object->python,
				  (enum python_choice)reader->python_choice, ring_ready);
}

void stack_reader_free(struct stack_reader *reader)
{
	unwinder_free(&reader->unwinder);
	python_stacks_free(&reader->python);
	thread_contexts_free(&reader->contexts);
	map_table_free(&reader->stacks);
	stack_index_free(&reader->index);
}

int stack_reader_drain(struct stack_reader *reader, const struct bpf_map *stacks, const struct drained_map *maps,
		       size_t count)
{
	const struct iaprof_host *host = reader->host;
	int result = map_table_drain(&reader->stacks, stacks);
	for (size_t i = 0; i < count && result == 0; i++)
		result = map_table_drain(maps[i].table, maps[i].map);
	if (result == 0 && !stack_index_build(&reader->index, &reader->stacks))
		result = -ENOMEM;
	/* BPF programs send the functions of a stack before they record what has it. */
	python_stacks_read(&reader->python);
	return result ? host->fail(host, result, "cannot read the maps of the BPF programs: %s", strerror(-result)) : 0;
}

uint32_t stack_reader_intern(struct stack_reader *reader, uint32_t process, uint64_t execution, uint32_t *flags,
			     const void *elements, uint64_t depth)
{
	return reader->python.ring
		       ? python_stacks_intern(&reader->python, process, execution, flags, elements, (uint32_t)depth)
		       : reader->host->intern_stack(reader->host, process, elements, depth);
}

uint32_t stack_reader_intern_user(struct stack_reader *reader, uint32_t process, uint64_t execution, uint64_t hash,
				  const struct stack_addresses *stack, uint32_t *flags)
{
	uint32_t id =
		stack ? stack_reader_intern(reader, process, execution, flags, stack->addresses, stack->depth) : 0;
	if (hash && !id)
		*flags |= STACK_USER_MISSING;
	return id;
}

void stack_reader_describe_limits(const struct stack_reader *reader)
{
	const struct iaprof_host *host = reader->host;
	if (reader->user && !reader->use_tables)
		host->metadata(host, "user stacks", "frame pointers");
	host->metadata(host, "deepest stack", "%" PRIu32 " addresses", reader->depth);
}

void stack_reader_describe(const struct stack_reader *reader, const struct stack_counts *counts, const char *name)
{
	const struct iaprof_host *host = reader->host;
	uint64_t sum = 0;
	for (size_t i = 0; i < sizeof counts->unwound / sizeof *counts->unwound; i++)
		sum += counts->unwound[i];
	/* Stacks from before the tables were ready were unwound by frame pointers. */
	if (sum)
		host->metadata(host, name,
			       ".eh_frame: %" PRIu64 " complete, %" PRIu64 " before tables were ready, %" PRIu64
			       " ended by code without a table, %" PRIu64 " not readable, %" PRIu64 " truncated",
			       (uint64_t)counts->unwound[UNWIND_COMPLETE], (uint64_t)counts->unwound[UNWIND_UNKNOWN],
			       (uint64_t)counts->unwound[UNWIND_NO_RULE], (uint64_t)counts->unwound[UNWIND_UNREADABLE],
			       (uint64_t)counts->unwound[UNWIND_TRUNCATED]);
	if (reader->use_tables)
		unwinder_describe(&reader->unwinder, host);
	python_stacks_describe(&reader->python, &counts->python);
	if (reader->python_is_refused)
		host->metadata(host, "Python stacks", "none: the Linux kernel refuses the BPF program that reads them");
	thread_contexts_describe(&reader->contexts, host, &counts->spans);
	if (counts->spans_dropped)
		host->metadata(host, "spans dropped", "%" PRIu64 " (raise map-size= or lower drain=)",
			       (uint64_t)counts->spans_dropped);
}
