/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to frames, each once: see resolver.h. */
#include "profile/resolver.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Beyond this many addresses the whole cache is dropped and filled anew: memory stays bounded in a run of days. What a
   replayed run brought is kept, for it cannot be asked for again. */
#define CACHE_COUNT_MAX 262144

struct answer {
	uint32_t process, mapping; /* serial numbers; 0 the Linux kernel */
	uint64_t address;
	uint32_t first; /* position of the first frame id in resolver.frame_ids */
	uint32_t count;
	bool has_module; /* the frame table has the build id of the mapping's record */
};

struct resolver {
	struct resolver_options options;
	ARRAY(struct answer) answers;
	ARRAY(uint32_t) frame_ids;
	struct hash_index index;
	bool has_learned;
	uint64_t nameless;
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

static uint64_t key_hash(uint32_t process, uint32_t mapping, uint64_t address)
{
	return hash_pair((uint64_t)process << 32 | mapping, address);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct answer *answer = &((const struct resolver *)context)->answers.items[position];
	return key_hash(answer->process, answer->mapping, answer->address);
}

static struct answer *find(const struct resolver *resolver, uint32_t process, uint32_t mapping, uint64_t address)
{
	for (struct hash_probe probe = hash_index_probe(&resolver->index, key_hash(process, mapping, address));
	     hash_index_next(&resolver->index, &probe);) {
		struct answer *answer = &resolver->answers.items[probe.position];
		if (answer->process == process && answer->mapping == mapping && answer->address == address)
			return answer;
	}
	return NULL;
}

/* Starts an answer whose frame ids are pushed next; NULL when out of memory. */
static struct answer *begin_answer(struct resolver *resolver, uint32_t process, uint32_t mapping, uint64_t address)
{
	if (resolver->answers.count >= CACHE_COUNT_MAX && !resolver->has_learned)
		clear(resolver);
	struct answer answer = {
		.process = process, .mapping = mapping, .address = address, .first = (uint32_t)resolver->frame_ids.count
	};
	uint32_t position = (uint32_t)resolver->answers.count;
	if (!array_push(&resolver->answers, answer))
		return NULL;
	if (!hash_index_add(&resolver->index, key_hash(process, mapping, address), position, rehash, resolver)) {
		resolver->answers.count--;
		return NULL;
	}
	return &resolver->answers.items[position];
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
	if (find(resolver, record->process, record->mapping, record->address))
		return;
	struct answer *answer = begin_answer(resolver, record->process, record->mapping, record->address);
	if (!answer)
		return;
	resolver->has_learned = true;
	const struct iaprof_record_frame *frames = iaprof_record_frames_frames(record);
	struct intern *intern = resolver->options.intern;
	for (uint32_t i = 0; i < record->frame_count; i++) {
		bool lines = resolver->options.lines;
		if (!lines && (frames[i].flags & IAPROF_FRAME_INLINED))
			continue;
		struct iaprof_frame frame = { .name = intern_text(intern, frames[i].name),
					      .module = frames[i].module ? intern_text(intern, frames[i].module) : NULL,
					      .file = lines && frames[i].file ? intern_text(intern, frames[i].file)
									      : NULL,
					      .line = lines ? frames[i].line : 0,
					      .kind = frames[i].kind,
					      .flags = frames[i].flags };
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

/* Keeps the build id of the file that a symbol is in, and sends it over the bus, once. */
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
	    !resolver->options.bus)
		return;
	record.head.path = intern_text_id(resolver->options.intern, symbol->module);
	memcpy(record.build_id, symbol->build_id, symbol->build_id_size);
	record.head.header.size = (uint32_t)(sizeof record.head + ((symbol->build_id_size + 7u) & ~7u));
	bus_send(resolver->options.bus, &record.head.header);
}

/* Sends the symbolizer's answer over the bus. */
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
	for (size_t i = 0; i < count; i++)
		record.frames[i] =
			(struct iaprof_record_frame){ .name = intern_text_id(resolver->options.intern, symbols[i].name),
						      .module = intern_text_id(resolver->options.intern,
									       symbols[i].module),
						      .file = intern_text_id(resolver->options.intern, symbols[i].file),
						      .line = symbols[i].line,
						      .kind = symbols[i].kind,
						      .flags = symbols[i].flags,
						      .offset = symbols[i].offset,
						      .address = symbols[i].address };
	record.head.header.size = (uint32_t)(sizeof record.head + count * sizeof record.frames[0]);
	bus_send(resolver->options.bus, &record.head.header);
}

/* An address that a replayed run gave no name: no file is opened for it, since the capture chose the paths. */
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

static struct answer *ask_symbolizer(struct resolver *resolver, struct process *process, const struct mapping *mapping,
				     uint64_t address)
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
	struct answer *answer =
		begin_answer(resolver, process ? process->serial : 0, mapping ? mapping->serial : 0, address);
	if (!answer)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		/* Functions, not addresses, make a frame: the profile is of what was running, and stays small. */
		struct iaprof_frame frame = { .name = symbols[i].name,
					      .module = symbols[i].module,
					      .file = symbols[i].file,
					      .line = symbols[i].line,
					      .kind = symbols[i].kind,
					      .flags = symbols[i].flags };
		if (!push_frame(resolver, answer, &frame))
			break;
	}
	add_module(resolver, &symbols[0]);
	if (resolver->options.bus)
		send_frames(resolver, answer, symbols, count);
	return answer;
}

size_t resolver_resolve(struct resolver *resolver, struct process *process, uint64_t time, uint64_t address,
			uint32_t *frames, size_t capacity)
{
	const struct mapping *mapping =
		process ? process_mapping_at(resolver->options.processes, process, address, time) : NULL;
	struct answer *answer = find(resolver, process ? process->serial : 0, mapping ? mapping->serial : 0, address);
	if (!answer)
		answer = ask_symbolizer(resolver, process, mapping, address);
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

void resolver_look_ahead(struct resolver *resolver, struct process *process, uint64_t time, uint64_t address,
			 enum budget_patience patience)
{
	const struct mapping *mapping = process_mapping_at(resolver->options.processes, process, address, time);
	if (mapping)
		symbolizer_look_ahead(resolver->options.symbolizer, process, mapping, address, patience);
}

uint64_t resolver_nameless(const struct resolver *resolver)
{
	return resolver->nameless;
}
