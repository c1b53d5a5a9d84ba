/* SPDX-License-Identifier: Apache-2.0 */
/* See python_stacks.h. Stacks are merged in python_merge.c. */
#include "bpf/python_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "base/clock.h"
#include "bpf/python_code.h"
#include "bpf/support.h"
#include "text/text.h"

const char *const python_choices[] = { "mixed", "python", "native", NULL };

#define PROCESSES_MAX 8192u
/* Ring buffer for each CPU, and in total. A loop that reads within milliseconds needs a few KiB for a new function. */
#define RING_SIZE (1u << 20)
#define RING_SIZE_MAX (4u << 20)
/* Functions of a process that has ended are kept until its last stacks were read. */
#define KEEP_ENDED (3 * NANOSECONDS_PER_SECOND)
#define FUNCTION_COST (sizeof(struct python_function) + 64)

int python_stacks_set_sizes(const struct iaprof_host *host, const struct python_maps *maps, uint32_t buffers,
			    bool use_python)
{
	uint32_t ring_size = use_python ? bpf_ring_size((uint64_t)RING_SIZE * buffers, RING_SIZE, RING_SIZE_MAX)
					: (uint32_t)sysconf(_SC_PAGESIZE);
	const struct bpf_map_size sizes[] = {
		{ maps->processes, use_python ? PROCESSES_MAX : 1, 0 },
		{ maps->threads, use_python ? PYTHON_THREADS : 1, 0 },
		{ maps->seen, use_python ? PYTHON_SEEN : 1, 0 },
		{ maps->codes, ring_size, 0 },
		{ maps->buffers, use_python ? buffers : 1, 0 },
	};
	return bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof *sizes);
}

static int take_code(void *context, void *data, size_t size)
{
	python_stacks_add(context, data, size);
	return 0;
}

int python_stacks_open(struct python_stacks *stacks, const struct iaprof_host *host, const struct python_maps *maps,
		       enum python_choice choice, iaprof_on_fd *on_code)
{
	*stacks = (struct python_stacks){ .host = host, .maps = *maps, .choice = choice };
	pthread_mutex_init(&stacks->lock, NULL);
	struct bpf_log log = bpf_log_begin(host);
	stacks->ring = ring_buffer__new(bpf_map__fd(maps->codes), take_code, stacks, NULL);
	int result = stacks->ring ? 0 : -errno;
	bpf_log_end(&log);
	if (!result)
		result = host->on_fd(host, ring_buffer__epoll_fd(stacks->ring), EPOLLIN, on_code);
	return result ? host->fail(host, result, "cannot read Python functions: %s", strerror(-result)) : 0;
}

void python_stacks_free(struct python_stacks *stacks)
{
	if (!stacks->host)
		return;
	ring_buffer__free(stacks->ring);
	for (size_t i = 0; i < stacks->functions.count; i++)
		free(stacks->functions.items[i].lines);
	keyed_array_free(&stacks->functions);
	keyed_array_free(&stacks->interpreters);
	keyed_array_free(&stacks->targets);
	pthread_mutex_destroy(&stacks->lock);
	*stacks = (struct python_stacks){ 0 };
}

void python_stacks_read(struct python_stacks *stacks)
{
	if (!stacks->ring)
		return;
	pthread_mutex_lock(&stacks->lock);
	ring_buffer__consume(stacks->ring);
	pthread_mutex_unlock(&stacks->lock);
}

/* Removes the functions of processes that ended a while ago. */
static void forget_ended(struct python_stacks *stacks)
{
	uint64_t now = clock_monotonic();
	for (uint32_t i = (uint32_t)stacks->targets.count; i-- > 0;) {
		const struct python_target *target = &stacks->targets.items[i];
		uint32_t process = target->key;
		if (!target->ended || now - target->ended < KEEP_ENDED)
			continue;
		for (uint32_t j = (uint32_t)stacks->functions.count; j-- > 0;) {
			const struct python_function *function = &stacks->functions.items[j];
			if (function->key.process != process)
				continue;
			stacks->bytes -= FUNCTION_COST + function->line_bytes;
			free(function->lines);
			keyed_array_remove(&stacks->functions, j);
		}
		keyed_array_remove(&stacks->targets, i);
	}
}

static uint32_t intern_text(const struct python_stacks *stacks, const struct python_text *text, const uint8_t *bytes)
{
	struct text made = { 0 };
	python_text_append(&made, text, bytes);
	uint32_t id = made.failed || !made.size
			      ? 0
			      : stacks->host->intern_string(stacks->host, text_string(&made), made.size);
	text_free(&made);
	return id;
}

void python_stacks_add(struct python_stacks *stacks, const struct python_code *code, size_t size)
{
	if (size < offsetof(struct python_code, lines) || !python_code_is_valid(code, size)) {
		stacks->refused++;
		return;
	}
	struct python_function function = { .key = { code->execution, code->code, code->process, code->identity },
					    .first_line = code->first_line,
					    .line_format = code->line_format,
					    .line_bytes = code->line_bytes };
	struct python_target *target = keyed_array_get(&stacks->targets, &code->process);
	uint64_t cost = FUNCTION_COST + code->line_bytes;
	if (keyed_array_find(&stacks->functions, &function.key) != POSITION_NONE)
		return;
	if (!target || target->bytes + cost > PYTHON_BYTES_PROCESS || stacks->bytes + cost > PYTHON_BYTES_MAX) {
		stacks->refused++;
		return;
	}
	function.lines = malloc(code->line_bytes + 1);
	if (function.lines)
		memcpy(function.lines, code->lines, code->line_bytes);
	function.name = intern_text(stacks, &code->name, code->name_bytes);
	function.file = intern_text(stacks, &code->file, code->file_bytes);
	if (!function.lines || !function.name || keyed_array_add(&stacks->functions, &function) == POSITION_NONE) {
		free(function.lines);
		stacks->refused++;
		return;
	}
	target->bytes += cost;
	stacks->bytes += cost;
}

static void take_table(struct python_stacks *stacks, const struct iaprof_unwind_table *table)
{
	if (!table->python)
		return;
	const struct python_interpreter interpreter = { .key = table->id, .python = *table->python };
	(void)keyed_array_add(&stacks->interpreters, &interpreter);
}

/* Finds the mapping with the code of an interpreter; NULL if the process has none. */
static const struct iaprof_unwind_mapping *find_mapping(const struct python_stacks *stacks,
							const struct iaprof_unwind_process *process,
							const struct iaprof_python **python)
{
	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct iaprof_unwind_mapping *mapping = &process->mappings[i];
		const struct python_interpreter *found = keyed_array_get(&stacks->interpreters, &mapping->table);
		uint64_t loop = found ? mapping->bias + found->python.loop[0] : 0;
		if (found && found->python.loop[0] && loop >= mapping->start && loop < mapping->end) {
			*python = &found->python;
			return mapping;
		}
	}
	return NULL;
}

/* Finds the code of the module that switches C stacks. */
static void find_greenlet(const struct python_stacks *stacks, const struct iaprof_unwind_process *process,
			  uint64_t range[2])
{
	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct iaprof_unwind_mapping *mapping = &process->mappings[i];
		const struct python_interpreter *found = keyed_array_get(&stacks->interpreters, &mapping->table);
		if (found && found->python.flags & IAPROF_PYTHON_GREENLET) {
			range[0] = mapping->start;
			range[1] = mapping->end;
		}
	}
}

static void end_process(struct python_stacks *stacks, uint32_t process)
{
	struct python_target *target = keyed_array_get(&stacks->targets, &process);
	if (target && !target->ended) {
		target->ended = clock_monotonic();
		bpf_map_delete_elem(bpf_map__fd(stacks->maps.processes), &process);
	}
}

static void take_process(struct python_stacks *stacks, const struct iaprof_unwind_process *process)
{
	const struct iaprof_python *python;
	const struct iaprof_unwind_mapping *mapping = find_mapping(stacks, process, &python);
	forget_ended(stacks);
	if (!mapping) {
		end_process(stacks, process->pid);
		return;
	}
	struct python_target added = { .key = process->pid };
	uint32_t position = keyed_array_add(&stacks->targets, &added);
	if (position == POSITION_NONE)
		return;
	struct python_target *target = &stacks->targets.items[position];
	bool is_known = target->execution == process->execution && !target->ended &&
			target->image[0] == mapping->start && target->image[1] == mapping->end;
	*target = (struct python_target){ .key = process->pid,
					  .flags = python->flags,
					  .execution = process->execution,
					  .image = { mapping->start, mapping->end },
					  .bytes = target->bytes };
	find_greenlet(stacks, process, target->greenlet);
	for (size_t i = 0; i < 2; i++) {
		target->loop[i] = mapping->bias + python->loop[i];
		target->loop_end[i] = mapping->bias + python->loop_end[i];
	}
	struct python_process record = { .execution = process->execution,
					 .runtime = mapping->bias + python->runtime,
					 .code_type = mapping->bias + python->code_type,
					 .layout = python->layout };
	if (!is_known && !(python->flags & IAPROF_PYTHON_UNKNOWN_LAYOUT))
		bpf_map_update_elem(bpf_map__fd(stacks->maps.processes), &process->pid, &record, BPF_ANY);
}

void python_stacks_take(struct python_stacks *stacks, const struct iaprof_unwind_table *table,
			const struct iaprof_unwind_process *process)
{
	if (!stacks->ring)
		return;
	pthread_mutex_lock(&stacks->lock);
	if (table)
		take_table(stacks, table);
	else if (process)
		take_process(stacks, process);
	pthread_mutex_unlock(&stacks->lock);
}

void python_stacks_describe(const struct python_stacks *stacks, const struct python_counts *counts)
{
	if (!stacks->ring || !(counts->stacks | counts->unreadable | counts->unknown_layout | stacks->without))
		return;
	stacks->host->metadata(stacks->host, "Python stacks",
			       "%" PRIu64 ": %" PRIu64 " truncated, %" PRIu64 " not readable, %" PRIu64
			       " with unknown layout; %zu functions, %" PRIu64 " KiB; frames without a name %" PRIu64
			       ", functions not sent %" PRIu64 ", refused %" PRIu64
			       "; stacks in the interpreter without Python frames %" PRIu64,
			       (uint64_t)counts->stacks, (uint64_t)counts->truncated, (uint64_t)counts->unreadable,
			       (uint64_t)counts->unknown_layout, stacks->functions.count, stacks->bytes >> 10,
			       stacks->unnamed, (uint64_t)counts->codes_refused, stacks->refused, stacks->without);
}
