/* SPDX-License-Identifier: Apache-2.0 */
/* See resolver.h. */
#include "symbolizer/resolver.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbolizer/frame_record.h"
#include "symbolizer/jit_runtime.h"

/*
 * Limit on cached addresses, after which the cache is cleared, so that memory stays bounded in runs that last for days.
 * Frames of a replayed run are kept, because they cannot be resolved again.
 */
#define CACHE_COUNT_MAX 262144

/* Processes whose runtime is remembered. */
#define RUNTIME_SLOTS 64u

struct answer {
	uint32_t process, mapping; /* serial numbers; 0: Linux kernel */
	uint64_t address;
	uint32_t first; /* position of the first frame id in resolver.frame_ids */
	uint32_t count;
	bool has_module; /* the build id of the mapping's record is in the frame table */
};

struct resolver {
	struct resolver_options options;
	ARRAY(struct answer) answers;
	ARRAY(uint32_t) frame_ids;
	struct hash_index index;
	bool has_learned;
	uint64_t nameless;
	struct runtime_of_process {
		uint32_t process; /* serial number, 0 if none */
		uint32_t runtime; /* number in jit_runtimes */
	} runtimes[RUNTIME_SLOTS];
	uint32_t runtimes_seen; /* bit n: runtime n has generated code without a name */
};

struct resolver *resolver_new(const struct resolver_options *options)
{
	struct resolver *resolver = calloc(1, sizeof *resolver);
	if (resolver)
		resolver->options = *options;
	return resolver;
}

static void clear(struct resolver *resolver)
{
	array_free(&resolver->answers);
	array_free(&resolver->frame_ids);
	hash_index_free(&resolver->index);
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	clear(resolver);
	free(resolver);
}

void resolver_forget(struct resolver *resolver)
{
	clear(resolver);
}

static uint64_t key_hash(uint32_t process, uint32_t mapping, uint64_t address)
{
	return hash_pair((uint64_t)process << 32 | mapping, address);
}

static struct answer *find_answer(const struct resolver *resolver, uint32_t process, uint32_t mapping, uint64_t address)
{
	hash_index_each (probe, &resolver->index, key_hash(process, mapping, address)) {
		struct answer *answer = &resolver->answers.items[probe.position];
		if (answer->process == process && answer->mapping == mapping && answer->address == address)
			return answer;
	}
	return NULL;
}

/* Starts an answer, whose frame ids are pushed next; NULL if out of memory. */
static struct answer *begin_answer(struct resolver *resolver, uint32_t process, uint32_t mapping, uint64_t address)
{
	if (resolver->answers.count >= CACHE_COUNT_MAX && !resolver->has_learned)
		clear(resolver);
	struct answer answer = {
		.process = process, .mapping = mapping, .address = address, .first = (uint32_t)resolver->frame_ids.count
	};
	if (!hash_index_push(&resolver->index, key_hash(process, mapping, address), &resolver->answers, answer))
		return NULL;
	return &resolver->answers.items[resolver->answers.count - 1];
}

static bool push_frame(struct resolver *resolver, struct answer *answer, const struct iaprof_frame *frame)
{
	uint32_t id = frame_table_add(resolver->options.frames, frame);
	if (id == FRAME_NONE || !array_push(&resolver->frame_ids, id))
		return false;
	answer->count++;
	return true;
}

void resolver_learn(struct resolver *resolver, const struct iaprof_record_frames *record)
{
	if (find_answer(resolver, record->process, record->mapping, record->address))
		return;
	struct answer *answer = begin_answer(resolver, record->process, record->mapping, record->address);
	if (!answer)
		return;
	resolver->has_learned = true;
	for (uint32_t i = 0; i < record->frame_count; i++) {
		const struct iaprof_record_frame *recorded = iaprof_record_frames_frame(record, i);
		bool lines = resolver->options.lines;
		if (!lines && (recorded->flags & IAPROF_FRAME_INLINED))
			continue;
		struct iaprof_frame frame = frame_from_record(recorded, resolver->options.intern);
		frame.address = frame.offset = frame.pid = 0;
		if (!lines) {
			frame.file = NULL;
			frame.line = 0;
		}
		push_frame(resolver, answer, &frame);
	}
}

void resolver_learn_module(struct resolver *resolver, const struct iaprof_record_module *record)
{
	const char *path = intern_text(resolver->options.intern, record->path);
	if (*path)
		frame_table_add_module(resolver->options.frames, path, iaprof_record_module_build_id(record),
				       record->build_id_size);
}

/* Stores the build id of the file that contains a symbol, and sends it once. */
static void add_module(struct resolver *resolver, const struct symbol *symbol)
{
	struct {
		struct iaprof_record_module head;
		uint8_t build_id[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
	} record = { .head = { .header = { .type = IAPROF_RECORD_MODULE, .time = clock_monotonic() },
			       .build_id_size = symbol->build_id_size } };
	if (!symbol->build_id || !symbol->module || !symbol->build_id_size ||
	    !frame_table_add_module(resolver->options.frames, symbol->module, symbol->build_id,
				    symbol->build_id_size) ||
	    !result_stream_is_read(resolver->options.results))
		return;
	record.head.path = result_stream_text(resolver->options.results, symbol->module);
	memcpy(record.build_id, symbol->build_id, symbol->build_id_size);
	record.head.header.size = (uint32_t)(sizeof record.head + ((symbol->build_id_size + 7u) & ~7u));
	result_stream_send(resolver->options.results, &record.head.header);
}

/* Returns the frame of the profile, which is a function rather than an address, so that the profile stays small. */
static struct iaprof_frame frame_of(const struct symbol *symbol)
{
	return (struct iaprof_frame){ .name = symbol->name,
				      .module = symbol->module,
				      .file = symbol->file,
				      .line = symbol->line,
				      .kind = symbol->kind,
				      .flags = symbol->flags };
}

/* Sends the symbolizer's answer. */
static void send_frames(struct resolver *resolver, const struct answer *answer, const struct symbol *symbols,
			size_t count)
{
	struct {
		struct iaprof_record_frames head;
		struct iaprof_record_frame frames[SYMBOLIZER_INLINE_DEPTH_MAX];
	} record = { .head = { .header = { .type = IAPROF_RECORD_FRAMES, .time = clock_monotonic() },
			       .address = answer->address,
			       .process = answer->process,
			       .mapping = answer->mapping,
			       .frame_count = (uint32_t)count,
			       .flags = resolver->options.lines ? IAPROF_FRAMES_HAVE_LINES : 0 } };
	for (size_t i = 0; i < count; i++) {
		struct iaprof_frame frame = frame_of(&symbols[i]);
		frame.offset = symbols[i].offset;
		frame.address = symbols[i].address;
		record.frames[i] = frame_to_record(&frame, resolver->options.results);
	}
	record.head.header.size = (uint32_t)(sizeof record.head + count * sizeof record.frames[0]);
	result_stream_send(resolver->options.results, &record.head.header);
}

/* An address without a name in a replayed run: no file is opened for it, because the paths come from the capture. */
static void set_nameless(struct resolver *resolver, const struct process *process, const struct mapping *mapping,
			 uint64_t address, struct symbol *symbol)
{
	resolver->nameless++;
	*symbol = (struct symbol){ .name = "[unknown]",
				   .module = mapping ? mapping->path : NULL,
				   .kind = process ? IAPROF_FRAME_USER : IAPROF_FRAME_LINUX_KERNEL,
				   .flags = IAPROF_FRAME_UNKNOWN,
				   .address = address };
}

/* Names generated code that is in no perf map after the runtime that has generated it. */
static void set_runtime(struct resolver *resolver, struct process *process, uint64_t time, struct symbol *symbol)
{
	struct runtime_of_process *known = &resolver->runtimes[process->serial % RUNTIME_SLOTS];
	if (known->process != process->serial)
		*known = (struct runtime_of_process){ process->serial,
						      jit_runtime_find(resolver->options.processes, process, time) };
	resolver->runtimes_seen |= UINT32_C(1) << known->runtime;
	symbol->name = jit_runtimes[known->runtime].label;
	symbol->kind = IAPROF_FRAME_JIT;
}

static struct answer *ask_symbolizer(struct resolver *resolver, struct process *process, const struct mapping *mapping,
				     uint64_t time, uint64_t address)
{
	struct symbol symbols[SYMBOLIZER_INLINE_DEPTH_MAX];
	size_t count = 1;
	if (!resolver->options.symbolizer)
		set_nameless(resolver, process, mapping, address, &symbols[0]);
	else if (process)
		count = symbolizer_resolve_user(resolver->options.symbolizer, process, mapping, address, symbols,
						SYMBOLIZER_INLINE_DEPTH_MAX);
	else
		count = symbolizer_resolve_kernel(resolver->options.symbolizer, address, symbols,
						  SYMBOLIZER_INLINE_DEPTH_MAX);
	if (process && symbols[0].flags & IAPROF_FRAME_UNKNOWN && symbols[0].kind == IAPROF_FRAME_JIT)
		set_runtime(resolver, process, time, &symbols[0]);
	struct answer *answer =
		begin_answer(resolver, process ? process->serial : 0, mapping ? mapping->serial : 0, address);
	if (!answer)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		struct iaprof_frame frame = frame_of(&symbols[i]);
		if (!push_frame(resolver, answer, &frame))
			break;
	}
	add_module(resolver, &symbols[0]);
	if (result_stream_is_read(resolver->options.results))
		send_frames(resolver, answer, symbols, count);
	return answer;
}

/* Returns 1, or 0 if the frame is unknown. */
static size_t resolve_named(struct resolver *resolver, uint64_t element, bool lines, uint32_t *id)
{
	struct intern *intern = resolver->options.intern;
	struct iaprof_named_frame named;
	if (!intern_find_frame(intern, element, &named))
		return 0;
	const struct iaprof_frame frame = { .name = intern_text(intern, named.name),
					    .file = named.file ? intern_text(intern, named.file) : NULL,
					    .line = lines || resolver->options.lines ? named.line : 0,
					    .kind = named.kind,
					    .flags = named.flags };
	*id = frame_table_add(resolver->options.frames, &frame);
	return *id != FRAME_NONE;
}

size_t resolver_resolve(struct resolver *resolver, struct process *process, uint64_t time, uint64_t address,
			bool named_lines, uint32_t *frames, size_t capacity)
{
	/* Otherwise it is an address, of a stack that was overwritten. */
	if (process && capacity && interned_stack_is_named(address) &&
	    resolve_named(resolver, address, named_lines, frames))
		return 1;
	const struct mapping *mapping =
		process ? process_mapping_at(resolver->options.processes, process, address, time) : NULL;
	struct answer *answer =
		find_answer(resolver, process ? process->serial : 0, mapping ? mapping->serial : 0, address);
	if (!answer)
		answer = ask_symbolizer(resolver, process, mapping, time, address);
	if (!answer || !answer->count)
		return 0;
	/* Captures of older versions have build ids in their MAPPING records. */
	if (mapping && mapping->build_id_size && *mapping->path && !answer->has_module) {
		answer->has_module = true;
		frame_table_add_module(resolver->options.frames, mapping->path, mapping->build_id,
				       mapping->build_id_size);
	}
	size_t count = answer->count < capacity ? answer->count : capacity;
	memcpy(frames, resolver->frame_ids.items + answer->first, count * sizeof *frames);
	return count;
}

void resolver_prefetch(struct resolver *resolver, struct process *process, uint64_t time, uint64_t address,
		       enum budget_patience patience)
{
	const struct mapping *mapping = process_mapping_at(resolver->options.processes, process, address, time);
	if (mapping)
		symbolizer_prefetch(resolver->options.symbolizer, process, mapping, address, patience);
}

uint32_t resolver_runtimes(const struct resolver *resolver)
{
	return resolver->runtimes_seen;
}

uint64_t resolver_nameless(const struct resolver *resolver)
{
	return resolver->nameless;
}
