/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of interned strings and stacks: see intern.h. */
#include "bus/intern.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/keyed_array.h"
#include "bus/id_set.h"
#include "bus/string_pool.h"

struct stack {
	uint64_t hash;
	uint32_t id, count, pid;
	uint32_t epoch; /* epoch of its last use */
	uint64_t addresses[];
};

struct frame_id {
	struct iaprof_named_frame key;
	uint32_t id;
};

struct frame {
	uint32_t key; /* id */
	struct iaprof_named_frame contents;
};

struct intern {
	pthread_mutex_t lock;
	struct bus *bus;
	struct string_pool strings;
	struct id_set sent_strings; /* strings whose definition is on the bus, or came from there */

	ARRAY(struct stack *) stacks; /* by position; NULL: a free slot */
	ARRAY(uint32_t) free_places;
	struct hash_index content_index;
	struct hash_index id_index;
	struct hash_key hash_key; /* for ids */
	uint32_t next_stack_id;
	uint32_t epoch;
	bool expires_by_age;

	KEYED_ARRAY(struct frame_id) frame_ids;
	KEYED_ARRAY(struct frame) frames;
};

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
	keyed_array_free(&intern->frame_ids);
	keyed_array_free(&intern->frames);
	string_pool_free(&intern->strings);
	id_set_free(&intern->sent_strings);
	pthread_mutex_destroy(&intern->lock);
	free(intern);
}

/*
 * Sends a definition: a fixed part, then the contents. The lock is held, so definitions are on the bus in the order of
 * their ids.
 */
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
	if (size)
		memcpy(record + fixed_size, contents, size);
	memset(record + fixed_size + size, 0, total - fixed_size - size);
	int result = bus_send(intern->bus, (struct iaprof_record *)record);
	if (record != (char *)small)
		free(record);
	return result;
}

/* Sends the definition of a string unless it was sent. Returns false when out of memory. The lock is held. */
static bool define_sent(struct intern *intern, uint32_t id)
{
	if (!intern->bus || id_set_has(&intern->sent_strings, id))
		return true;
	const struct pooled_string *entry = string_pool_find(&intern->strings, id);
	struct iaprof_record_string record = { .header.type = IAPROF_RECORD_STRING, .id = id, .length = entry->length };
	return !send_definition(intern, &record.header, sizeof record, entry->text, entry->length + 1) &&
	       id_set_add(&intern->sent_strings, id);
}

static uint32_t add_string(struct intern *intern, const char *text, size_t length, bool is_sent, bool is_kept)
{
	length = strnlen(text, length < IAPROF_STRING_LENGTH_MAX ? length : IAPROF_STRING_LENGTH_MAX);
	if (!length)
		return 0;
	pthread_mutex_lock(&intern->lock);
	uint32_t id = string_pool_add(&intern->strings, text, length, is_kept);
	if (id && is_sent && !define_sent(intern, id))
		id = 0;
	pthread_mutex_unlock(&intern->lock);
	return id;
}

uint32_t intern_string(struct intern *intern, const char *text, size_t length)
{
	return add_string(intern, text, length, true, true);
}

uint32_t intern_text_id(struct intern *intern, const char *text)
{
	return text ? add_string(intern, text, strlen(text), true, true) : 0;
}

uint32_t intern_own_text(struct intern *intern, const char *text)
{
	return text ? add_string(intern, text, strlen(text), false, true) : 0;
}

uint32_t intern_passing_string(struct intern *intern, const char *text, size_t length)
{
	return add_string(intern, text, length, true, false);
}

uint32_t intern_passing_own_text(struct intern *intern, const char *text)
{
	return text ? add_string(intern, text, strlen(text), false, false) : 0;
}

bool intern_value_type_text(char text[INTERN_VALUE_TYPE_SIZE], const char *name, const char *unit)
{
	int length = snprintf(text, INTERN_VALUE_TYPE_SIZE, "%s %s", name, unit);
	return length >= 0 && length < INTERN_VALUE_TYPE_SIZE;
}

uint32_t intern_value_type(struct intern *intern, const char *name, const char *unit)
{
	char text[INTERN_VALUE_TYPE_SIZE];
	return intern_value_type_text(text, name, unit) ? intern_text_id(intern, text) : 0;
}

int intern_define_string(struct intern *intern, const struct iaprof_record_string *record)
{
	pthread_mutex_lock(&intern->lock);
	int result =
		string_pool_define(&intern->strings, record->id, iaprof_record_string_text(record), record->length);
	if (!result)
		(void)id_set_add(&intern->sent_strings, record->id);
	pthread_mutex_unlock(&intern->lock);
	return result;
}

const char *intern_text(struct intern *intern, uint32_t id)
{
	pthread_mutex_lock(&intern->lock);
	const struct pooled_string *string = string_pool_find(&intern->strings, id);
	const char *text = string ? string->text : "";
	pthread_mutex_unlock(&intern->lock);
	return text;
}

static struct stack *find_by_id(const struct intern *intern, uint32_t id)
{
	hash_index_each (probe, &intern->id_index, hash_word(&intern->hash_key, id))
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
	if (!hash_index_add(&intern->content_index, hash, position))
		goto fail_place;
	if (!hash_index_add(&intern->id_index, hash_word(&intern->hash_key, id), position)) {
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
			if (!intern->expires_by_age)
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

uint32_t intern_addresses(struct intern *intern, uint32_t pid, const uint64_t *addresses, size_t count)
{
	uint64_t checked[IAPROF_STACK_DEPTH_MAX];
	if (count > IAPROF_STACK_DEPTH_MAX)
		count = IAPROF_STACK_DEPTH_MAX;
	for (size_t i = 0; i < count; i++)
		checked[i] = interned_stack_is_named(addresses[i]) ? 0 : addresses[i];
	return intern_stack(intern, pid, checked, count);
}

int intern_define_stack(struct intern *intern, const struct iaprof_record_stack *record)
{
	const uint64_t *addresses = iaprof_record_stack_addresses(record);
	pthread_mutex_lock(&intern->lock);
	int result = 0;
	const struct stack *known = find_by_id(intern, record->id);
	if (known) {
		result = is_same(known, record->pid, addresses, record->count) ? 0 : -EINVAL;
	} else if (record->id >= intern->next_stack_id) { /* otherwise it was removed and is no longer needed */
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

/* Returns the id of a frame that has none yet; 0 on failure. The lock is held. */
static uint32_t add_frame(struct intern *intern, const struct iaprof_named_frame *contents)
{
	uint32_t id = (uint32_t)intern->frames.count + 1;
	struct iaprof_record_named_frame record = { .header.type = IAPROF_RECORD_NAMED_FRAME,
						    .id = id,
						    .name = contents->name,
						    .file = contents->file,
						    .line = contents->line,
						    .kind = contents->kind,
						    .flags = contents->flags };
	const struct frame added = { .key = id, .contents = *contents };
	const struct frame_id added_id = { .key = *contents, .id = id };
	bool is_added = id <= IAPROF_NAMED_FRAMES_MAX && keyed_array_add(&intern->frames, &added) != POSITION_NONE &&
			!send_definition(intern, &record.header, sizeof record, NULL, 0) &&
			keyed_array_add(&intern->frame_ids, &added_id) != POSITION_NONE;
	return is_added ? id : 0;
}

uint32_t intern_frame(struct intern *intern, const struct iaprof_named_frame *frame)
{
	struct iaprof_named_frame contents = { 0 };
	if (!IAPROF_HAS_MEMBER(frame, frame->size, flags) || !frame->name)
		return 0;
	memcpy(&contents, frame, frame->size < sizeof contents ? frame->size : sizeof contents);
	contents.size = sizeof contents;
	pthread_mutex_lock(&intern->lock);
	const struct frame_id *known = keyed_array_get(&intern->frame_ids, &contents);
	uint32_t id = known ? known->id : add_frame(intern, &contents);
	pthread_mutex_unlock(&intern->lock);
	return id;
}

int intern_define_frame(struct intern *intern, const struct iaprof_record_named_frame *record)
{
	struct frame added = { .key = record->id,
			       .contents = { .size = sizeof added.contents,
					     .name = record->name,
					     .file = record->file,
					     .line = record->line,
					     .kind = record->kind,
					     .flags = record->flags } };
	pthread_mutex_lock(&intern->lock);
	uint32_t position = keyed_array_add(&intern->frames, &added);
	int result = position == POSITION_NONE ? -ENOMEM
		     : memcmp(&intern->frames.items[position].contents, &added.contents, sizeof added.contents)
			     ? -EINVAL
			     : 0;
	pthread_mutex_unlock(&intern->lock);
	return result;
}

bool intern_find_frame(struct intern *intern, uint64_t element, struct iaprof_named_frame *frame)
{
	uint32_t id = (uint32_t)element;
	pthread_mutex_lock(&intern->lock);
	const struct frame *known = keyed_array_get(&intern->frames, &id);
	if (known)
		*frame = known->contents;
	pthread_mutex_unlock(&intern->lock);
	return known;
}

void intern_expire_by_age(struct intern *intern)
{
	intern->expires_by_age = true;
}

void intern_begin_epoch(struct intern *intern)
{
	pthread_mutex_lock(&intern->lock);
	intern->epoch++;
	intern->strings.epoch++;
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

void intern_expire_strings(struct intern *intern, uint32_t epochs)
{
	pthread_mutex_lock(&intern->lock);
	string_pool_expire(&intern->strings, epochs);
	pthread_mutex_unlock(&intern->lock);
}

void intern_limit_strings(struct intern *intern, uint64_t size)
{
	pthread_mutex_lock(&intern->lock);
	intern->strings.kept_max = size;
	pthread_mutex_unlock(&intern->lock);
}

uint64_t intern_refused_strings(struct intern *intern)
{
	pthread_mutex_lock(&intern->lock);
	uint64_t refused = intern->strings.refused;
	pthread_mutex_unlock(&intern->lock);
	return refused;
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
