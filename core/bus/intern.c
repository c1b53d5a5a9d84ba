/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of interned strings and stacks: see intern.h. */
#include "bus/intern.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"

/* Ids beyond this are refused in a replayed run, whose ids are positions in an array. */
#define ID_MAX ((uint32_t)1 << 28)

struct text {
	const char *text; /* NULL: no such id */
	uint64_t hash;
	uint32_t length;
};

struct stack {
	uint64_t hash;
	struct stack *next_of_pid;
	uint32_t id, count, pid;
	uint64_t addresses[];
};

/* All user stacks of one process. */
struct pid_stacks {
	uint32_t pid; /* 0: a free place */
	struct stack *first;
};

struct intern {
	pthread_mutex_t lock;
	struct bus *bus;

	struct arena text_memory;
	ARRAY(struct text) texts; /* by id */
	struct hash_index text_index;
	size_t text_count;

	ARRAY(struct stack *) stacks; /* by position, NULL for a free place */
	ARRAY(uint32_t) free_places;
	struct hash_index stack_index; /* by content */
	struct hash_index id_index;    /* by id */
	ARRAY(struct pid_stacks) pids;
	ARRAY(uint32_t) free_pids;
	struct hash_index pid_index;
	uint32_t next_stack_id;
};

static uint64_t text_rehash(const void *context, uint32_t position)
{
	return ((const struct intern *)context)->texts.items[position].hash;
}
static uint64_t stack_rehash(const void *context, uint32_t position)
{
	return ((const struct intern *)context)->stacks.items[position]->hash;
}
static uint64_t id_rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct intern *)context)->stacks.items[position]->id);
}
static uint64_t pid_rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct intern *)context)->pids.items[position].pid);
}

struct intern *intern_new(struct bus *bus)
{
	struct intern *intern = calloc(1, sizeof *intern);
	if (!intern)
		return NULL;
	pthread_mutex_init(&intern->lock, NULL);
	intern->bus = bus;
	intern->next_stack_id = 1;
	if (!array_push(&intern->texts, ((struct text){ 0 }))) { /* id 0 is none */
		intern_free(intern);
		return NULL;
	}
	return intern;
}

void intern_free(struct intern *intern)
{
	if (!intern)
		return;
	for (size_t i = 0; i < intern->stacks.count; i++)
		free(intern->stacks.items[i]);
	array_free(&intern->stacks);
	array_free(&intern->free_places);
	array_free(&intern->pids);
	array_free(&intern->free_pids);
	array_free(&intern->texts);
	hash_index_free(&intern->text_index);
	hash_index_free(&intern->stack_index);
	hash_index_free(&intern->id_index);
	hash_index_free(&intern->pid_index);
	arena_free(&intern->text_memory);
	pthread_mutex_destroy(&intern->lock);
	free(intern);
}

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Sends a definition: a fixed part and then contents. The lock is held, so the order on the bus is that of the ids. */
static int send_definition(struct intern *intern, struct iaprof_record *fixed, size_t fixed_size, const void *contents,
			   size_t size)
{
	if (!intern->bus)
		return 0;
	size_t total = (fixed_size + size + 7) & ~(size_t)7;
	uint64_t small[64];
	char *record = total <= sizeof small ? (char *)small : malloc(total);
	if (!record)
		return -ENOMEM;
	fixed->size = (uint32_t)total;
	fixed->time = now();
	memcpy(record, fixed, fixed_size);
	memcpy(record + fixed_size, contents, size);
	memset(record + fixed_size + size, 0, total - fixed_size - size);
	struct iaprof_batch batch = { .records = record, .size = total, .count = 1 };
	int result = bus_emit(intern->bus, 0, &batch, BUS_ALWAYS | BUS_KEEP_SOURCE, NULL);
	if (record != (char *)small)
		free(record);
	return result;
}

static uint32_t find_text(const struct intern *intern, uint64_t hash, const char *text, size_t length)
{
	for (struct hash_probe probe = hash_index_probe(&intern->text_index, hash);
	     hash_index_next(&intern->text_index, &probe);) {
		const struct text *candidate = &intern->texts.items[probe.position];
		if (candidate->length == length && !memcmp(candidate->text, text, length))
			return probe.position;
	}
	return 0;
}

/* Stores a text under an id, which is the next one or, in a replayed run, any that is free. */
static int store_text(struct intern *intern, uint32_t id, uint64_t hash, const char *text, size_t length)
{
	if (!array_reserve(&intern->texts, (size_t)id + 1))
		return -ENOMEM;
	while (intern->texts.count <= id)
		intern->texts.items[intern->texts.count++] = (struct text){ 0 };
	char *copy = arena_text(&intern->text_memory, text, length);
	if (!copy)
		return -ENOMEM;
	struct text stored = { .text = copy, .hash = hash, .length = (uint32_t)length };
	intern->texts.items[id] = stored;
	if (!hash_index_add(&intern->text_index, hash, id, text_rehash, intern)) {
		intern->texts.items[id] = (struct text){ 0 };
		return -ENOMEM;
	}
	intern->text_count++;
	return 0;
}

uint32_t intern_string(struct intern *intern, const char *text, size_t length)
{
	length = strnlen(text, length < IAPROF_STRING_LENGTH_MAX ? length : IAPROF_STRING_LENGTH_MAX);
	if (!length)
		return 0;
	uint64_t hash = hash_bytes(text, length, 0);
	pthread_mutex_lock(&intern->lock);
	uint32_t id = find_text(intern, hash, text, length);
	if (!id && intern->texts.count < ID_MAX) {
		id = (uint32_t)intern->texts.count;
		struct iaprof_record_string record = { .header.type = IAPROF_RECORD_STRING,
						       .id = id,
						       .length = (uint32_t)length };
		if (store_text(intern, id, hash, text, length) ||
		    send_definition(intern, &record.header, sizeof record, intern->texts.items[id].text, length + 1))
			id = 0;
	}
	pthread_mutex_unlock(&intern->lock);
	return id;
}

int intern_define_string(struct intern *intern, const struct iaprof_record_string *record)
{
	const char *text = iaprof_record_string_text(record);
	if (record->id >= ID_MAX)
		return -EINVAL;
	pthread_mutex_lock(&intern->lock);
	int result = 0;
	const struct text *known = record->id < intern->texts.count ? &intern->texts.items[record->id] : NULL;
	if (known && known->text)
		result = known->length == record->length && !memcmp(known->text, text, record->length) ? 0 : -EINVAL;
	else
		result = store_text(intern, record->id, hash_bytes(text, record->length, 0), text, record->length);
	pthread_mutex_unlock(&intern->lock);
	return result;
}

const char *intern_text(struct intern *intern, uint32_t id)
{
	pthread_mutex_lock(&intern->lock);
	const char *text = id < intern->texts.count ? intern->texts.items[id].text : NULL;
	pthread_mutex_unlock(&intern->lock);
	return text ? text : "";
}

static struct stack *find_stack_by_id(const struct intern *intern, uint32_t id)
{
	for (struct hash_probe probe = hash_index_probe(&intern->id_index, hash_u64(id));
	     hash_index_next(&intern->id_index, &probe);)
		if (intern->stacks.items[probe.position]->id == id)
			return intern->stacks.items[probe.position];
	return NULL;
}

static struct pid_stacks *find_pid(struct intern *intern, uint32_t pid)
{
	for (struct hash_probe probe = hash_index_probe(&intern->pid_index, hash_u64(pid));
	     hash_index_next(&intern->pid_index, &probe);)
		if (intern->pids.items[probe.position].pid == pid)
			return &intern->pids.items[probe.position];
	return NULL;
}

/* The place for a process's stacks, new if need be. */
static struct pid_stacks *pid_stacks_for(struct intern *intern, uint32_t pid)
{
	struct pid_stacks *stacks = find_pid(intern, pid);
	if (stacks)
		return stacks;
	uint32_t position;
	if (intern->free_pids.count)
		position = intern->free_pids.items[--intern->free_pids.count];
	else if (array_push(&intern->pids, ((struct pid_stacks){ 0 })))
		position = (uint32_t)intern->pids.count - 1;
	else
		return NULL;
	intern->pids.items[position] = (struct pid_stacks){ .pid = pid };
	if (!hash_index_add(&intern->pid_index, hash_u64(pid), position, pid_rehash, intern)) {
		array_push(&intern->free_pids, position);
		return NULL;
	}
	return &intern->pids.items[position];
}

static struct stack *store_stack(struct intern *intern, uint32_t id, uint64_t hash, uint32_t pid,
				 const uint64_t *addresses, size_t count)
{
	struct pid_stacks *of_pid = pid ? pid_stacks_for(intern, pid) : NULL;
	if (pid && !of_pid)
		return NULL;
	struct stack *stack = malloc(sizeof *stack + count * sizeof *addresses);
	if (!stack)
		return NULL;
	*stack = (struct stack){ .hash = hash, .id = id, .count = (uint32_t)count, .pid = pid };
	memcpy(stack->addresses, addresses, count * sizeof *addresses);

	uint32_t position;
	if (intern->free_places.count)
		position = intern->free_places.items[--intern->free_places.count];
	else if (array_push(&intern->stacks, NULL))
		position = (uint32_t)intern->stacks.count - 1;
	else
		goto fail;
	intern->stacks.items[position] = stack;
	if (!hash_index_add(&intern->stack_index, hash, position, stack_rehash, intern))
		goto fail_place;
	if (!hash_index_add(&intern->id_index, hash_u64(id), position, id_rehash, intern)) {
		hash_index_remove(&intern->stack_index, hash, position);
		goto fail_place;
	}
	if (of_pid) {
		stack->next_of_pid = of_pid->first;
		of_pid->first = stack;
	}
	return stack;

fail_place:
	intern->stacks.items[position] = NULL;
	array_push(&intern->free_places, position);
fail:
	free(stack);
	return NULL;
}

uint32_t intern_stack(struct intern *intern, uint32_t pid, const uint64_t *addresses, size_t count)
{
	if (!count)
		return 0;
	if (count > IAPROF_STACK_DEPTH_MAX)
		count = IAPROF_STACK_DEPTH_MAX;
	uint64_t hash = hash_bytes(addresses, count * sizeof *addresses, pid);
	uint32_t id = 0;
	pthread_mutex_lock(&intern->lock);
	for (struct hash_probe probe = hash_index_probe(&intern->stack_index, hash);
	     !id && hash_index_next(&intern->stack_index, &probe);) {
		const struct stack *stack = intern->stacks.items[probe.position];
		if (stack->pid == pid && stack->count == count &&
		    !memcmp(stack->addresses, addresses, count * sizeof *addresses))
			id = stack->id;
	}
	if (!id && intern->next_stack_id < UINT32_MAX) {
		struct iaprof_record_stack record = { .header.type = IAPROF_RECORD_STACK,
						      .id = intern->next_stack_id,
						      .count = (uint32_t)count,
						      .pid = pid };
		if (store_stack(intern, record.id, hash, pid, addresses, count)) {
			intern->next_stack_id++;
			if (!send_definition(intern, &record.header, sizeof record, addresses,
					     count * sizeof *addresses))
				id = record.id;
		}
	}
	pthread_mutex_unlock(&intern->lock);
	return id;
}

int intern_define_stack(struct intern *intern, const struct iaprof_record_stack *record)
{
	const uint64_t *addresses = iaprof_record_stack_addresses(record);
	size_t size = record->count * sizeof *addresses;
	pthread_mutex_lock(&intern->lock);
	int result = 0;
	const struct stack *known = find_stack_by_id(intern, record->id);
	if (known) {
		result = known->pid == record->pid && known->count == record->count &&
					 !memcmp(known->addresses, addresses, size)
				 ? 0
				 : -EINVAL;
	} else {
		if (!store_stack(intern, record->id, hash_bytes(addresses, size, record->pid), record->pid, addresses,
				 record->count))
			result = -ENOMEM;
		if (record->id >= intern->next_stack_id && record->id < UINT32_MAX)
			intern->next_stack_id = record->id + 1;
	}
	pthread_mutex_unlock(&intern->lock);
	return result;
}

struct interned_stack intern_find_stack(struct intern *intern, uint32_t id)
{
	pthread_mutex_lock(&intern->lock);
	const struct stack *stack = id ? find_stack_by_id(intern, id) : NULL;
	pthread_mutex_unlock(&intern->lock);
	return stack ? (struct interned_stack){ .addresses = stack->addresses,
						.count = stack->count,
						.pid = stack->pid }
		     : (struct interned_stack){ 0 };
}

/* The position of a stack that is in the table. */
static uint32_t position_of(const struct intern *intern, const struct stack *stack)
{
	for (struct hash_probe probe = hash_index_probe(&intern->id_index, hash_u64(stack->id));
	     hash_index_next(&intern->id_index, &probe);)
		if (intern->stacks.items[probe.position] == stack)
			return probe.position;
	abort(); /* every stack is in the index */
}

void intern_forget_process(struct intern *intern, uint32_t pid)
{
	pthread_mutex_lock(&intern->lock);
	struct pid_stacks *of_pid = pid ? find_pid(intern, pid) : NULL;
	if (of_pid) {
		for (struct stack *stack = of_pid->first, *next; stack; stack = next) {
			next = stack->next_of_pid;
			uint32_t position = position_of(intern, stack);
			hash_index_remove(&intern->stack_index, stack->hash, position);
			hash_index_remove(&intern->id_index, hash_u64(stack->id), position);
			intern->stacks.items[position] = NULL;
			array_push(&intern->free_places, position);
			free(stack);
		}
		uint32_t position = (uint32_t)(of_pid - intern->pids.items);
		hash_index_remove(&intern->pid_index, hash_u64(pid), position);
		*of_pid = (struct pid_stacks){ 0 };
		array_push(&intern->free_pids, position);
	}
	pthread_mutex_unlock(&intern->lock);
}

size_t intern_string_count(struct intern *intern)
{
	pthread_mutex_lock(&intern->lock);
	size_t count = intern->text_count;
	pthread_mutex_unlock(&intern->lock);
	return count;
}

size_t intern_stack_count(struct intern *intern)
{
	pthread_mutex_lock(&intern->lock);
	size_t count = intern->stack_index.count;
	pthread_mutex_unlock(&intern->lock);
	return count;
}
