/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of interned strings and stacks: see intern.h. */
#include "bus/intern.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/string_table.h"

struct stack {
	uint64_t hash;
	uint32_t id, count, pid;
	uint32_t epoch; /* of its last use */
	uint64_t addresses[];
};

struct intern {
	pthread_mutex_t lock;
	struct bus *bus;
	struct string_table strings;

	ARRAY(struct stack *) stacks; /* by position, NULL for a free place */
	ARRAY(uint32_t) free_places;
	struct hash_index content_index;
	struct hash_index id_index;
	struct hash_key hash_key; /* of ids */
	uint32_t next_stack_id;
	uint32_t epoch;
};

static uint64_t content_rehash(const void *context, uint32_t position)
{
	return ((const struct intern *)context)->stacks.items[position]->hash;
}
static uint64_t id_rehash(const void *context, uint32_t position)
{
	const struct intern *intern = context;
	return hash_word(&intern->hash_key, intern->stacks.items[position]->id);
}

struct intern *intern_new(struct bus *bus)
{
	struct intern *intern = calloc(1, sizeof *intern);
	if (!intern)
		return NULL;
	pthread_mutex_init(&intern->lock, NULL);
	intern->bus = bus;
	intern->next_stack_id = 1;
	hash_key_make(&intern->hash_key);
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
	hash_index_free(&intern->content_index);
	hash_index_free(&intern->id_index);
	string_table_free(&intern->strings);
	pthread_mutex_destroy(&intern->lock);
	free(intern);
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
	fixed->time = clock_monotonic();
	memcpy(record, fixed, fixed_size);
	memcpy(record + fixed_size, contents, size);
	memset(record + fixed_size + size, 0, total - fixed_size - size);
	int result = bus_send(intern->bus, (struct iaprof_record *)record);
	if (record != (char *)small)
		free(record);
	return result;
}

uint32_t intern_string(struct intern *intern, const char *text, size_t length)
{
	length = strnlen(text, length < IAPROF_STRING_LENGTH_MAX ? length : IAPROF_STRING_LENGTH_MAX);
	if (!length)
		return 0;
	pthread_mutex_lock(&intern->lock);
	bool is_new;
	uint32_t id = string_table_add(&intern->strings, text, length, &is_new);
	if (is_new) {
		struct iaprof_record_string record = { .header.type = IAPROF_RECORD_STRING,
						       .id = id,
						       .length = (uint32_t)length };
		if (send_definition(intern, &record.header, sizeof record, string_table_text(&intern->strings, id),
				    length + 1))
			id = 0;
	}
	pthread_mutex_unlock(&intern->lock);
	return id;
}

uint32_t intern_text_id(struct intern *intern, const char *text)
{
	return text ? intern_string(intern, text, strlen(text)) : 0;
}

uint32_t intern_value_type(struct intern *intern, const char *name, const char *unit)
{
	char text[256];
	int length = snprintf(text, sizeof text, "%s %s", name, unit);
	return length < 0 || (size_t)length >= sizeof text ? 0 : intern_string(intern, text, (size_t)length);
}

int intern_define_string(struct intern *intern, const struct iaprof_record_string *record)
{
	pthread_mutex_lock(&intern->lock);
	int result =
		string_table_define(&intern->strings, record->id, iaprof_record_string_text(record), record->length);
	pthread_mutex_unlock(&intern->lock);
	return result;
}

const char *intern_text(struct intern *intern, uint32_t id)
{
	pthread_mutex_lock(&intern->lock);
	const char *text = string_table_text(&intern->strings, id);
	pthread_mutex_unlock(&intern->lock);
	return text;
}

static struct stack *find_by_id(const struct intern *intern, uint32_t id)
{
	for (struct hash_probe probe = hash_index_probe(&intern->id_index, hash_word(&intern->hash_key, id));
	     hash_index_next(&intern->id_index, &probe);)
		if (intern->stacks.items[probe.position]->id == id)
			return intern->stacks.items[probe.position];
	return NULL;
}

static bool is_same(const struct stack *stack, uint32_t pid, const uint64_t *addresses, size_t count)
{
	return stack->pid == pid && stack->count == count &&
	       !memcmp(stack->addresses, addresses, count * sizeof *addresses);
}

static uint64_t stack_hash(uint32_t pid, const uint64_t *addresses, size_t count)
{
	return hash_pair(pid, hash_bytes(addresses, count * sizeof *addresses));
}

/* Adds a stack to the tables; false when out of memory. */
static bool store_stack(struct intern *intern, uint32_t id, uint64_t hash, uint32_t pid, const uint64_t *addresses,
			size_t count)
{
	struct stack *stack = malloc(sizeof *stack + count * sizeof *addresses);
	if (!stack)
		return false;
	*stack = (struct stack){ .hash = hash, .id = id, .count = (uint32_t)count, .pid = pid, .epoch = intern->epoch };
	memcpy(stack->addresses, addresses, count * sizeof *addresses);

	uint32_t position = array_take(&intern->stacks, &intern->free_places);
	if (position == POSITION_NONE)
		goto fail;
	intern->stacks.items[position] = stack;
	if (!hash_index_add(&intern->content_index, hash, position, content_rehash, intern))
		goto fail_place;
	if (!hash_index_add(&intern->id_index, hash_word(&intern->hash_key, id), position, id_rehash, intern)) {
		hash_index_remove(&intern->content_index, hash, position);
		goto fail_place;
	}
	return true;

fail_place:
	intern->stacks.items[position] = NULL;
	array_give_back(&intern->free_places, position);
fail:
	free(stack);
	return false;
}

uint32_t intern_stack(struct intern *intern, uint32_t pid, const uint64_t *addresses, size_t count)
{
	if (!count)
		return 0;
	if (count > IAPROF_STACK_DEPTH_MAX)
		count = IAPROF_STACK_DEPTH_MAX;
	uint64_t hash = stack_hash(pid, addresses, count);
	uint32_t id = 0;
	pthread_mutex_lock(&intern->lock);
	for (struct hash_probe probe = hash_index_probe(&intern->content_index, hash);
	     !id && hash_index_next(&intern->content_index, &probe);) {
		struct stack *stack = intern->stacks.items[probe.position];
		if (is_same(stack, pid, addresses, count)) {
			stack->epoch = intern->epoch;
			id = stack->id;
		}
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
	pthread_mutex_lock(&intern->lock);
	int result = 0;
	const struct stack *known = find_by_id(intern, record->id);
	if (known) {
		result = is_same(known, record->pid, addresses, record->count) ? 0 : -EINVAL;
	} else if (record->id >= intern->next_stack_id) { /* else it was removed since, and nobody needs it */
		uint64_t hash = stack_hash(record->pid, addresses, record->count);
		if (!store_stack(intern, record->id, hash, record->pid, addresses, record->count))
			result = -ENOMEM;
		else if (record->id < UINT32_MAX)
			intern->next_stack_id = record->id + 1;
	}
	pthread_mutex_unlock(&intern->lock);
	return result;
}

struct interned_stack intern_find_stack(struct intern *intern, uint32_t id)
{
	struct interned_stack found = { 0 };
	pthread_mutex_lock(&intern->lock);
	struct stack *stack = id ? find_by_id(intern, id) : NULL;
	if (stack) {
		stack->epoch = intern->epoch;
		found = (struct interned_stack){ .addresses = stack->addresses,
						 .count = stack->count,
						 .pid = stack->pid };
	}
	pthread_mutex_unlock(&intern->lock);
	return found;
}

void intern_begin_epoch(struct intern *intern)
{
	pthread_mutex_lock(&intern->lock);
	intern->epoch++;
	pthread_mutex_unlock(&intern->lock);
}

void intern_expire_stacks(struct intern *intern, uint32_t epochs)
{
	pthread_mutex_lock(&intern->lock);
	for (uint32_t position = 0; position < intern->stacks.count; position++) {
		struct stack *stack = intern->stacks.items[position];
		if (!stack || intern->epoch - stack->epoch <= epochs)
			continue;
		hash_index_remove(&intern->content_index, stack->hash, position);
		hash_index_remove(&intern->id_index, hash_word(&intern->hash_key, stack->id), position);
		intern->stacks.items[position] = NULL;
		array_give_back(&intern->free_places, position);
		free(stack);
	}
	pthread_mutex_unlock(&intern->lock);
}

size_t intern_string_count(struct intern *intern)
{
	pthread_mutex_lock(&intern->lock);
	size_t count = intern->strings.index.count;
	pthread_mutex_unlock(&intern->lock);
	return count;
}

size_t intern_stack_count(struct intern *intern)
{
	pthread_mutex_lock(&intern->lock);
	size_t count = intern->content_index.count;
	pthread_mutex_unlock(&intern->lock);
	return count;
}
