/* SPDX-License-Identifier: Apache-2.0 */
/* An image of device code that a child of the worker reads: see remote_code.h. */
#include "symbolizer/device/remote_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "symbolizer/remote_read.h"

/* Of one message. The largest libraries of kernels have 100,000 functions. */
#define COUNT_MAX ((uint32_t)1 << 22)
/* Of a file, in bytes; kernels that are compiled at run time have some 10 KiB. */
#define LARGE_IMAGE ((uint64_t)8 << 20)

/* What is known of an address. Texts are in the image's table, the rest in its arrays. */
struct known_place {
	uint64_t address;
	uint32_t first_frame, frame_count;
	uint32_t size, group;
	const char *mnemonic, *waits, *text; /* NULL none */
	uint32_t first_producer, producer_count, producers_total, producers_flags;
};

struct remote_code {
	struct remote_code_context *context;
	struct worker_pool *pool;
	struct worker_child child;
	struct remote_code_request request;
	uint64_t used;  /* when its child was asked last */
	uint64_t taken; /* bytes of the budget */
	bool is_placed, is_damaged;
	bool failed; /* nothing is asked any more */
	struct string_table strings;
	ARRAY(struct code_section) sections;
	ARRAY(struct code_function) functions;
	ARRAY(struct kernel_attribute) attributes;
	struct code_table table;
	ARRAY(struct known_place) places;
	ARRAY(struct debug_frame) frames;
	ARRAY(struct iaprof_producer) producers;
	struct hash_index by_address;
};

/* Texts of one message by their numbers. */
struct texts {
	const char **items;
	uint32_t count;
};

static void texts_free(struct texts *texts)
{
	free(texts->items);
}

/* NULL for 0 and for a number that there is none of: is_text() was asked before. */
static const char *text_of(const struct texts *texts, uint32_t number)
{
	return number && number <= texts->count ? texts->items[number - 1] : NULL;
}

static bool is_text(const struct texts *texts, uint32_t number)
{
	return number <= texts->count;
}

/* Keeps the texts of a message, size bytes that were sent, each once. */
static int keep_texts(struct remote_code *code, const char *joined, uint32_t count, uint32_t size, struct texts *texts)
{
	if (size && joined[size - 1])
		return -EBADMSG;
	texts->items = calloc((size_t)count + 1, sizeof *texts->items);
	if (!texts->items)
		return -ENOMEM;
	for (const char *at = joined; texts->count < count; texts->count++) {
		if (at == joined + size)
			return -EBADMSG;
		size_t length = strlen(at); /* the last byte is 0 */
		texts->items[texts->count] = string_table_intern(&code->strings, at, length);
		if (!texts->items[texts->count])
			return -ENOMEM;
		at += length + 1;
	}
	return 0;
}

static int take(struct remote_code *code, uint64_t bytes)
{
	if (!budget_take(code->context->budget, &code->request.owner, bytes))
		return -EDQUOT;
	code->taken += bytes;
	return 0;
}

static void rest(struct remote_code *code)
{
	worker_child_end(code->pool, &code->child);
	for (size_t i = 0; i < REMOTE_CODE_AWAKE_MAX; i++)
		if (code->context->awake[i] == code)
			code->context->awake[i] = NULL;
}

static bool is_trusted(const struct remote_code *code)
{
	return budget_trusts(code->context->budget, &code->request.owner);
}

/* An image without debug information of megabytes is read in milliseconds. */
static enum budget_patience patience_for(const struct remote_code_request *request)
{
	return request->identity.size < LARGE_IMAGE ? BUDGET_QUICK : BUDGET_FULL;
}

/* Charges what reading took beyond what usual images take. */
static void charge(struct budget *budget, const struct file_identity *owner, const struct deadline *deadline)
{
	if (clock_monotonic() - deadline->begin <= BUDGET_TIME_USUAL)
		return;
	uint64_t spent = deadline_spent(deadline);
	if (spent > BUDGET_TIME_USUAL)
		budget_charge(budget, owner, spent - BUDGET_TIME_USUAL);
}

static struct remote_code **oldest(struct remote_code **awake, bool of_others)
{
	struct remote_code **found = NULL;
	for (size_t i = 0; i < REMOTE_CODE_AWAKE_MAX; i++)
		if (awake[i] && !(of_others && is_trusted(awake[i])) && (!found || awake[i]->used < (*found)->used))
			found = &awake[i];
	return found;
}

/* Makes room for one more child: of too many the one that was asked longest ago rests. */
static void make_room(struct remote_code *code)
{
	struct remote_code **awake = code->context->awake;
	size_t count = 0, others = 0;
	for (size_t i = 0; i < REMOTE_CODE_AWAKE_MAX; i++) {
		count += awake[i] != NULL;
		others += awake[i] && !is_trusted(awake[i]);
	}
	bool of_others = !is_trusted(code) && others >= REMOTE_CODE_AWAKE_OTHERS_MAX;
	if (of_others || count == REMOTE_CODE_AWAKE_MAX)
		rest(*oldest(awake, of_others));
}

static void note_awake(struct remote_code *code)
{
	for (size_t i = 0; i < REMOTE_CODE_AWAKE_MAX; i++)
		if (!code->context->awake[i]) {
			code->context->awake[i] = code;
			return;
		}
}

void remote_code_free(struct remote_code *code)
{
	if (!code)
		return;
	rest(code);
	budget_give_back(code->context->budget, &code->request.owner, code->taken);
	if (code->request.descriptor >= 0)
		close(code->request.descriptor);
	code_table_free(&code->table);
	hash_index_free(&code->by_address);
	array_free(&code->sections);
	array_free(&code->functions);
	array_free(&code->attributes);
	array_free(&code->places);
	array_free(&code->frames);
	array_free(&code->producers);
	string_table_free(&code->strings);
	free(code);
}

static bool is_sane(const struct worker_code *head, uint64_t rest)
{
	return head->section_count <= COUNT_MAX && head->function_count <= COUNT_MAX &&
	       head->attribute_count <= COUNT_MAX && head->text_count <= head->text_size &&
	       rest == head->section_count * sizeof(struct worker_section) +
			       head->function_count * sizeof(struct worker_code_function) +
			       head->attribute_count * sizeof(struct worker_attribute) + (uint64_t)head->text_size;
}

/* The tables of an image as they were sent. */
struct sent_tables {
	struct worker_section *sections;
	struct worker_code_function *functions;
	struct worker_attribute *attributes;
	char *texts;
};

static void sent_tables_free(struct sent_tables *sent)
{
	free(sent->sections);
	free(sent->functions);
	free(sent->attributes);
	free(sent->texts);
}

/* Room for a part of a message; base NULL: out of memory. */
static struct iovec make_part(uint32_t count, size_t size)
{
	return (struct iovec){ .iov_base = calloc((size_t)count + 1, size), .iov_len = count * size };
}

static bool add_section(struct remote_code *code, const struct worker_code *head, const struct worker_section *sent,
			const struct texts *texts)
{
	struct code_section section = {
		.name = text_of(texts, sent->name), .address = sent->address, .size = sent->size, .kernel = sent->kernel
	};
	bool is_sound = is_text(texts, sent->name) && sent->size <= UINT64_MAX - sent->address &&
			(sent->kernel == CODE_NONE || sent->kernel < head->function_count);
	code->sections.items[code->sections.count++] = section;
	return is_sound;
}

static bool add_function(struct remote_code *code, const struct worker_code *head,
			 const struct worker_code_function *sent, const struct texts *texts)
{
	struct code_function function = { .name = text_of(texts, sent->name),
					  .shown = text_of(texts, sent->shown),
					  .address = sent->address,
					  .size = sent->size,
					  .section = sent->section,
					  .is_kernel = sent->is_kernel,
					  .attributes = code->attributes.items + sent->attribute,
					  .attribute_count = sent->attribute_count };
	bool is_sound = function.name && function.shown && sent->section < head->section_count &&
			sent->size <= UINT64_MAX - sent->address &&
			sent->attribute_count <= KERNEL_ATTRIBUTE_COUNT_MAX &&
			sent->attribute_count <= head->attribute_count &&
			sent->attribute <= head->attribute_count - sent->attribute_count;
	if (is_sound)
		code->functions.items[code->functions.count++] = function;
	return is_sound;
}

static bool add_attribute(struct remote_code *code, const struct worker_attribute *sent, const struct texts *texts)
{
	struct kernel_attribute attribute = { .name = text_of(texts, sent->name), .value = sent->value };
	code->attributes.items[code->attributes.count++] = attribute;
	return attribute.name;
}

static int take_tables(struct remote_code *code, const struct worker_code *head, const struct sent_tables *sent,
		       const struct texts *texts)
{
	if (!array_reserve(&code->sections, head->section_count + 1) ||
	    !array_reserve(&code->functions, head->function_count + 1) ||
	    !array_reserve(&code->attributes, head->attribute_count + 1))
		return -ENOMEM;
	bool is_sound = true;
	for (uint32_t i = 0; is_sound && i < head->section_count; i++)
		is_sound = add_section(code, head, &sent->sections[i], texts);
	for (uint32_t i = 0; is_sound && i < head->attribute_count; i++)
		is_sound = add_attribute(code, &sent->attributes[i], texts);
	for (uint32_t i = 0; is_sound && i < head->function_count; i++)
		is_sound = add_function(code, head, &sent->functions[i], texts);
	if (!is_sound)
		return -EBADMSG;
	code->is_placed = head->is_placed;
	code->is_damaged = head->is_damaged;
	code->table.sections = code->sections.items;
	code->table.section_count = code->sections.count;
	code->table.functions = code->functions.items;
	code->table.function_count = code->functions.count;
	return code_table_index(&code->table) ? 0 : -ENOMEM;
}

static int read_tables(struct remote_code *code, const struct remote_reader *reader, const struct worker_code *head)
{
	struct iovec parts[] = { make_part(head->section_count, sizeof(struct worker_section)),
				 make_part(head->function_count, sizeof(struct worker_code_function)),
				 make_part(head->attribute_count, sizeof(struct worker_attribute)),
				 make_part(head->text_size, 1) };
	CLEANUP(sent_tables_free)
	struct sent_tables sent = { parts[0].iov_base, parts[1].iov_base, parts[2].iov_base, parts[3].iov_base };
	CLEANUP(texts_free) struct texts texts = { 0 };
	if (!sent.sections || !sent.functions || !sent.attributes || !sent.texts)
		return -ENOMEM;
	int result = channel_read_parts(reader->socket, parts, sizeof parts / sizeof *parts, &reader->deadline);
	if (!result)
		result = keep_texts(code, sent.texts, head->text_count, head->text_size, &texts);
	return result ? result : take_tables(code, head, &sent, &texts);
}

/* What its child may use on top of the image and a copy of it, which relocation needs. */
static uint64_t data_limit(const struct remote_code *code)
{
	return budget_data_limit(code->context->budget, &code->request.owner, BUDGET_QUICK) +
	       2 * code->request.identity.size;
}

/* Starts a child on the image and reads the head of its answer. */
static int start(struct remote_code *code, struct remote_reader *reader, struct worker_code *head, uint64_t *left)
{
	make_room(code);
	int result = worker_child_start(code->pool, &code->child, data_limit(code));
	if (result)
		return result;
	code->used = clock_monotonic();
	note_awake(code);
	reader->socket = code->child.socket;
	reader->deadline.helper = &code->child.process;
	struct worker_load_code load = { .machine = code->request.machine };
	struct iovec part = { &load, sizeof load };
	struct channel_answer answer = { .type = WORKER_CODE, .head = head, .head_size = sizeof *head };
	result = channel_ask(reader->socket, WORKER_LOAD_CODE, &part, 1, code->request.descriptor, &answer,
			     &reader->deadline);
	if (!result && head->code)
		return channel_error(head->code);
	if (!result && !is_sane(head, answer.rest))
		result = -EBADMSG;
	*left = answer.rest;
	return result;
}

static int load(struct remote_code *code, struct remote_reader *reader)
{
	struct worker_code head;
	uint64_t left;
	int result = take(code, code->request.identity.size);
	if (!result)
		result = start(code, reader, &head, &left);
	if (!result)
		result = take(code, 2 * left);
	return result ? result : read_tables(code, reader, &head);
}

/* The file is taken over at once, so that whoever fails frees all. */
static struct remote_code *make(struct remote_code_context *context, const struct remote_code_request *request)
{
	struct remote_code *code = calloc(1, sizeof *code);
	if (!code) {
		close(request->descriptor);
		return NULL;
	}
	code->context = context;
	code->request = *request;
	code->child = WORKER_CHILD_NONE;
	code->pool = code_workers_get(context->workers, request->machine);
	return code;
}

int remote_code_load(struct remote_code **code, struct remote_code_context *context,
		     const struct remote_code_request *request)
{
	*code = NULL;
	struct remote_reader reader = { .deadline = budget_deadline(context->budget, &request->owner,
								    patience_for(request)) };
	struct remote_code *made = make(context, request);
	int result = made && made->pool ? 0 : -ENOMEM;
	if (!result && budget_is_spent(context->budget, &request->owner))
		result = -ETIME;
	if (!result)
		result = load(made, &reader);
	charge(context->budget, &request->owner, &reader.deadline);
	if (!result)
		*code = made;
	else
		remote_code_free(made);
	return result;
}

/* Has its child at work again after it rested. What it tells of the image is known. */
static int wake(struct remote_code *code, struct remote_reader *reader)
{
	struct worker_code head;
	uint64_t left;
	reader->socket = code->child.socket;
	if (reader->socket >= 0)
		return 0;
	int result = start(code, reader, &head, &left);
	return result ? result : remote_read_over(reader, left);
}

/* The parts of a PLACES message as they were sent. */
struct sent_places {
	struct worker_place *places;
	struct worker_frame *frames;
	struct iaprof_producer *producers;
	char *texts;
};

static void sent_places_free(struct sent_places *sent)
{
	free(sent->places);
	free(sent->frames);
	free(sent->producers);
	free(sent->texts);
}

static bool are_sane(const struct worker_places *head, uint64_t rest)
{
	return head->place_count && head->place_count <= WORKER_PLACES_MAX &&
	       head->frame_count <= WORKER_PLACES_MAX * CODE_INLINE_DEPTH_MAX &&
	       head->producer_count <= WORKER_PLACES_MAX * WORKER_PRODUCERS_MAX &&
	       head->text_count <= head->text_size &&
	       rest == head->place_count * sizeof(struct worker_place) +
			       head->frame_count * sizeof(struct worker_frame) +
			       head->producer_count * sizeof(struct iaprof_producer) + (uint64_t)head->text_size;
}

/* Whether places are in order, have what is sent with them, and begin where it was asked. */
static bool are_sound(const struct worker_places *head, const struct sent_places *sent, const struct texts *texts,
		      uint64_t address)
{
	uint64_t frames = 0, producers = 0;
	for (uint32_t i = 0; i < head->place_count; i++) {
		const struct worker_place *place = &sent->places[i];
		frames += place->frame_count;
		producers += place->producer_count;
		if ((i ? place->address <= sent->places[i - 1].address : place->address != address) ||
		    !place->frame_count || place->frame_count > CODE_INLINE_DEPTH_MAX ||
		    place->producer_count > place->producers_total || !is_text(texts, place->mnemonic) ||
		    !is_text(texts, place->waits) || !is_text(texts, place->text) ||
		    (place->mnemonic != 0) != (place->size != 0))
			return false;
	}
	for (uint32_t i = 0; i < head->frame_count; i++)
		if (!is_text(texts, sent->frames[i].name) || !is_text(texts, sent->frames[i].file))
			return false;
	return frames == head->frame_count && producers == head->producer_count;
}

static uint64_t address_hash(uint64_t address)
{
	return hash_bytes(&address, sizeof address);
}

static uint64_t address_rehash(const void *context, uint32_t position)
{
	return address_hash(((const struct remote_code *)context)->places.items[position].address);
}

static const struct known_place *known(const struct remote_code *code, uint64_t address)
{
	for (struct hash_probe probe = hash_index_probe(&code->by_address, address_hash(address));
	     hash_index_next(&code->by_address, &probe);)
		if (code->places.items[probe.position].address == address)
			return &code->places.items[probe.position];
	return NULL;
}

static bool keep_place(struct remote_code *code, const struct worker_place *sent, const struct worker_frame *frames,
		       const struct iaprof_producer *producers, const struct texts *texts)
{
	struct known_place place = { .address = sent->address,
				     .first_frame = (uint32_t)code->frames.count,
				     .frame_count = sent->frame_count,
				     .size = sent->size,
				     .group = sent->group,
				     .mnemonic = text_of(texts, sent->mnemonic),
				     .waits = text_of(texts, sent->waits),
				     .text = text_of(texts, sent->text),
				     .first_producer = (uint32_t)code->producers.count,
				     .producer_count = sent->producer_count,
				     .producers_total = sent->producers_total,
				     .producers_flags = sent->producers_flags };
	bool kept = true;
	for (uint32_t i = 0; kept && i < sent->frame_count; i++) {
		struct debug_frame frame = { .name = text_of(texts, frames[i].name),
					     .file = text_of(texts, frames[i].file),
					     .line = frames[i].line };
		kept = array_push(&code->frames, frame);
	}
	for (uint32_t i = 0; kept && i < sent->producer_count; i++)
		kept = array_push(&code->producers, producers[i]);
	return kept && array_push(&code->places, place) &&
	       hash_index_add(&code->by_address, address_hash(place.address), (uint32_t)(code->places.count - 1),
			      address_rehash, code);
}

static int keep_places(struct remote_code *code, const struct worker_places *head, const struct sent_places *sent,
		       const struct texts *texts)
{
	const struct worker_frame *frames = sent->frames;
	const struct iaprof_producer *producers = sent->producers;
	bool kept = true;
	for (uint32_t i = 0; kept && i < head->place_count; i++) {
		const struct worker_place *place = &sent->places[i];
		if (!known(code, place->address))
			kept = keep_place(code, place, frames, producers, texts);
		frames += place->frame_count;
		producers += place->producer_count;
	}
	return kept ? 0 : -ENOMEM;
}

static int read_places(struct remote_code *code, const struct remote_reader *reader, const struct worker_places *head,
		       uint64_t address)
{
	struct iovec parts[] = { make_part(head->place_count, sizeof(struct worker_place)),
				 make_part(head->frame_count, sizeof(struct worker_frame)),
				 make_part(head->producer_count, sizeof(struct iaprof_producer)),
				 make_part(head->text_size, 1) };
	CLEANUP(sent_places_free)
	struct sent_places sent = { parts[0].iov_base, parts[1].iov_base, parts[2].iov_base, parts[3].iov_base };
	CLEANUP(texts_free) struct texts texts = { 0 };
	if (!sent.places || !sent.frames || !sent.producers || !sent.texts)
		return -ENOMEM;
	int result = channel_read_parts(reader->socket, parts, sizeof parts / sizeof *parts, &reader->deadline);
	if (!result)
		result = keep_texts(code, sent.texts, head->text_count, head->text_size, &texts);
	if (!result && !are_sound(head, &sent, &texts, address))
		result = -EBADMSG;
	return result ? result : keep_places(code, head, &sent, &texts);
}

static int ask(struct remote_code *code, const struct remote_reader *reader, uint64_t address)
{
	struct worker_find_places request = { .address = address };
	struct iovec part = { &request, sizeof request };
	struct worker_places head;
	struct channel_answer answer = { .type = WORKER_PLACES, .head = &head, .head_size = sizeof head };
	int result = channel_ask(reader->socket, WORKER_FIND_PLACES, &part, 1, -1, &answer, &reader->deadline);
	if (!result && !are_sane(&head, answer.rest))
		result = -EBADMSG;
	if (!result)
		result = take(code, 2 * answer.rest);
	return result ? result : read_places(code, reader, &head, address);
}

/* Learns what is at an address. An image that cannot be read any more is not tried for each of them. */
static const struct known_place *fetch(struct remote_code *code, uint64_t address)
{
	struct budget *budget = code->context->budget;
	if (code->failed)
		return NULL;
	struct remote_reader reader = { .deadline = budget_deadline(budget, &code->request.owner,
								    patience_for(&code->request)) };
	reader.deadline.helper = &code->child.process;
	int result = budget_is_spent(budget, &code->request.owner) ? -ETIME : wake(code, &reader);
	if (!result)
		result = ask(code, &reader, address);
	code->used = clock_monotonic();
	if (!result) {
		charge(budget, &code->request.owner, &reader.deadline);
		return known(code, address);
	}
	code->failed = true;
	rest(code);
	budget_refuse(budget, &code->request.owner, code->request.path, worker_reason(result),
		      deadline_spent(&reader.deadline));
	return NULL;
}

static const struct known_place *get(struct remote_code *code, uint64_t address)
{
	const struct known_place *place = known(code, address);
	return place ? place : fetch(code, address);
}

static void set_instruction(struct iaprof_code_instruction *instruction, const struct known_place *place)
{
	instruction->size = place->size;
	instruction->group = place->group;
	instruction->mnemonic = place->mnemonic;
	if (place->waits)
		strncpy(instruction->waits, place->waits, sizeof instruction->waits - 1);
	if (place->text)
		strncpy(instruction->text, place->text, sizeof instruction->text - 1);
}

bool remote_code_find(struct remote_code *code, uint64_t address, struct code_place *place)
{
	place->instruction = (struct iaprof_code_instruction){ .struct_size = sizeof place->instruction };
	if (!code_table_find(&code->table, address, &place->location))
		return false;
	const struct known_place *found = get(code, address);
	if (!found) {
		place->functions[0] = (struct debug_frame){ .name = place->location.function->shown };
		place->function_count = 1;
		return true;
	}
	place->function_count = found->frame_count;
	memcpy(place->functions, code->frames.items + found->first_frame,
	       found->frame_count * sizeof *place->functions);
	if (found->mnemonic)
		set_instruction(&place->instruction, found);
	return true;
}

const struct code_function *remote_code_function(struct remote_code *code, uint64_t address, uint64_t *base)
{
	struct code_location location;
	if (!code_table_find(&code->table, address, &location))
		return NULL;
	*base = address - location.offset;
	return code_location_whole(&location, address);
}

size_t remote_code_producers(struct remote_code *code, uint64_t address, struct iaprof_producer *producers,
			     size_t capacity, uint32_t *flags)
{
	struct code_location location;
	*flags = IAPROF_PRODUCERS_INCOMPLETE;
	const struct known_place *place = code_table_find(&code->table, address, &location) ? get(code, address) : NULL;
	if (!place)
		return 0;
	size_t count = place->producer_count < capacity ? place->producer_count : capacity;
	if (count)
		memcpy(producers, code->producers.items + place->first_producer, count * sizeof *producers);
	*flags = place->producers_flags;
	if (count == capacity || count == place->producers_total)
		return place->producers_total;
	*flags |= IAPROF_PRODUCERS_INCOMPLETE; /* more than were sent */
	return count;
}

struct code_identity remote_code_identity(const struct remote_code *code)
{
	return code->request.identity;
}

uint32_t remote_code_owner(const struct remote_code *code)
{
	return code->request.owner.owner;
}

uint64_t remote_code_key(const struct remote_code *code)
{
	struct {
		struct code_identity identity;
		uint64_t owner;
	} key = { code->request.identity, code->request.owner.owner };
	return hash_bytes(&key, sizeof key);
}

bool remote_code_is_placed(const struct remote_code *code)
{
	return code->is_placed;
}

bool remote_code_is_damaged(const struct remote_code *code)
{
	return code->is_damaged;
}

const struct code_table *remote_code_table(const struct remote_code *code)
{
	return &code->table;
}
