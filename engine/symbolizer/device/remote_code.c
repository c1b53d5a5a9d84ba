/* SPDX-License-Identifier: Apache-2.0 */
/* See remote_code.h. */
#include "symbolizer/device/remote_code.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "child/channel.h"
#include "plugin/plugin_call.h"
#include "symbolizer/device/remote_places.h"

/* Limit on items per table of a message. The largest libraries of GPU kernels have 100,000 functions. */
#define COUNT_MAX ((uint32_t)1 << 22)

/* Interval at which a child that does not answer is tested for a hanging decoder, ns: it must be reported within 5 s.
 */
#define EXAMINE_PERIOD (2 * NANOSECONDS_PER_SECOND)
/*
 * At the end of a run, other code waits for the same deadline: a decoder that hangs, which two tests show, costs a
 * quarter of the time.
 */
#define EXAMINE_PARTS_AT_END 8
#define EXAMINE_PARTS 3
/* Length of one wait for an answer, ns. */
#define ANSWER_STEP (NANOSECONDS_PER_SECOND / 40)

struct remote_code {
	struct remote_code_context *context;
	struct worker_pool *pool;
	struct worker_child child;
	struct remote_code_request request;
	uint64_t used;  /* time of the last request to its child */
	uint64_t taken; /* bytes charged to the budget */
	uint32_t addresses;
	uint64_t base;
	bool is_damaged;
	uint64_t unplaced_units;
	bool failed; /* no more requests are made */
	struct string_table strings;
	ARRAY(struct code_section) sections;
	ARRAY(struct code_function) functions;
	ARRAY(struct kernel_attribute) attributes;
	ARRAY(uint32_t) callers;
	struct code_table table;
	struct remote_places places;
};

/* Writes how a decoder failed. Returns false if the result of a request is another failure. */
static bool failure_text(int result, char *text, size_t size)
{
	struct channel_failure failure = channel_failure(result);
	const char *callback = decoder_callback_name(failure.callback);
	if (!failure.failure)
		return false;
	if (failure.failure == PLUGIN_FAILURE_HANG)
		snprintf(text, size, "callback %s does not return", callback);
	else if (failure.failure >= PLUGIN_FAILURE_EXIT)
		snprintf(text, size, "called %s() in callback %s",
			 failure.failure == PLUGIN_FAILURE_EXIT ? "exit" : "_exit", callback);
	else
		snprintf(text, size, "crashed with SIG%s in callback %s", sigabbrev_np((int)failure.failure) ?: "KILL",
			 callback);
	return true;
}

static int charge_bytes(struct remote_code *code, uint64_t bytes)
{
	if (!budget_take(code->context->budget, &code->request.owner, bytes))
		return -EDQUOT;
	code->taken += bytes;
	return 0;
}

static void end_child(struct remote_code *code)
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

static struct remote_code **oldest(struct remote_code **awake, bool of_others)
{
	struct remote_code **found = NULL;
	for (size_t i = 0; i < REMOTE_CODE_AWAKE_MAX; i++)
		if (awake[i] && !(of_others && is_trusted(awake[i])) && (!found || awake[i]->used < (*found)->used))
			found = &awake[i];
	return found;
}

/* Returns a slot for one more child, after ending the least recently used one if there are too many. */
static struct remote_code **make_room(struct remote_code *code)
{
	struct remote_code **awake = code->context->awake, **free_place = NULL;
	size_t others = 0;
	for (size_t i = 0; i < REMOTE_CODE_AWAKE_MAX; i++) {
		free_place = awake[i] ? free_place : &awake[i];
		others += awake[i] && !is_trusted(awake[i]);
	}
	bool of_others = !is_trusted(code) && others >= REMOTE_CODE_AWAKE_OTHERS_MAX;
	if (free_place && !of_others)
		return free_place;
	struct remote_code **replaced = oldest(awake, of_others);
	end_child(*replaced);
	return replaced;
}

void remote_code_free(struct remote_code *code)
{
	if (!code)
		return;
	end_child(code);
	budget_give_back(code->context->budget, &code->request.owner, code->taken);
	if (code->request.descriptor >= 0)
		close(code->request.descriptor);
	code_table_free(&code->table);
	remote_places_free(&code->places);
	array_free(&code->sections);
	array_free(&code->functions);
	array_free(&code->attributes);
	array_free(&code->callers);
	string_table_free(&code->strings);
	free(code);
}

static bool is_plausible(const struct worker_code *head, uint64_t end_child)
{
	return head->addresses > IAPROF_IMAGE_ADDRESSES_UNSTATED &&
	       head->addresses <= IAPROF_IMAGE_ADDRESSES_RELATIVE && head->section_count <= COUNT_MAX &&
	       head->function_count <= COUNT_MAX && head->attribute_count <= COUNT_MAX &&
	       head->caller_count <= COUNT_MAX && head->text_count <= head->text_size &&
	       end_child == head->section_count * sizeof(struct worker_section) +
				    head->function_count * sizeof(struct worker_code_function) +
				    head->attribute_count * sizeof(struct worker_attribute) +
				    head->caller_count * sizeof(uint32_t) + (uint64_t)head->text_size;
}

static bool add_section(struct remote_code *code, const struct worker_code *head, const struct worker_section *sent,
			const struct remote_texts *texts)
{
	struct code_section section = { .name = remote_texts_get(texts, sent->name),
					.address = sent->address,
					.size = sent->size,
					.kernel = sent->kernel };
	bool is_sound = remote_texts_have(texts, sent->name) && sent->size <= UINT64_MAX - sent->address &&
			(sent->kernel == CODE_NONE || sent->kernel < head->function_count);
	code->sections.items[code->sections.count++] = section;
	return is_sound;
}

static bool add_function(struct remote_code *code, const struct worker_code *head,
			 const struct worker_code_function *sent, const struct remote_texts *texts)
{
	struct code_function function = { .name = remote_texts_get(texts, sent->name),
					  .shown = remote_texts_get(texts, sent->shown),
					  .address = sent->address,
					  .size = sent->size,
					  .section = sent->section,
					  .is_kernel = sent->is_kernel,
					  .attributes = code->attributes.items + sent->attribute,
					  .attribute_count = sent->attribute_count,
					  .callers = code->callers.items + sent->caller,
					  .caller_count = sent->caller_count };
	bool is_sound = function.name && function.shown && sent->section < head->section_count &&
			sent->size <= UINT64_MAX - sent->address &&
			sent->attribute_count <= KERNEL_ATTRIBUTE_COUNT_MAX &&
			sent->attribute_count <= head->attribute_count &&
			sent->attribute <= head->attribute_count - sent->attribute_count &&
			sent->caller_count <= CODE_CALLERS_MAX && sent->caller_count <= head->caller_count &&
			sent->caller <= head->caller_count - sent->caller_count;
	if (is_sound)
		code->functions.items[code->functions.count++] = function;
	return is_sound;
}

static bool add_attribute(struct remote_code *code, const struct worker_attribute *sent,
			  const struct remote_texts *texts)
{
	struct kernel_attribute attribute = { .name = remote_texts_get(texts, sent->name), .value = sent->value };
	code->attributes.items[code->attributes.count++] = attribute;
	return attribute.name;
}

static int take_tables(struct remote_code *code, const struct worker_code *head, const char *bytes,
		       const struct remote_texts *texts)
{
	const struct worker_section *sections = (const void *)bytes;
	const struct worker_code_function *functions = (const void *)(sections + head->section_count);
	const struct worker_attribute *attributes = (const void *)(functions + head->function_count);
	const uint32_t *callers = (const void *)(attributes + head->attribute_count);
	if (!array_reserve(&code->sections, head->section_count + 1) ||
	    !array_reserve(&code->functions, head->function_count + 1) ||
	    !array_reserve(&code->attributes, head->attribute_count + 1) ||
	    !array_reserve(&code->callers, head->caller_count + 1))
		return -ENOMEM;
	bool is_sound = true;
	for (uint32_t i = 0; is_sound && i < head->section_count; i++)
		is_sound = add_section(code, head, &sections[i], texts);
	for (uint32_t i = 0; is_sound && i < head->attribute_count; i++)
		is_sound = add_attribute(code, &attributes[i], texts);
	for (uint32_t i = 0; is_sound && i < head->caller_count; i++) {
		code->callers.items[code->callers.count++] = callers[i];
		is_sound = callers[i] < head->function_count;
	}
	for (uint32_t i = 0; is_sound && i < head->function_count; i++)
		is_sound = add_function(code, head, &functions[i], texts);
	if (!is_sound)
		return -EBADMSG;
	code->addresses = head->addresses;
	code->base = head->base;
	code->is_damaged = head->is_damaged;
	code->unplaced_units = head->unplaced_units;
	code->table.sections = code->sections.items;
	code->table.section_count = code->sections.count;
	code->table.functions = code->functions.items;
	code->table.function_count = code->functions.count;
	return code_table_index(&code->table) ? 0 : -ENOMEM;
}

static int read_tables(struct remote_code *code, const struct remote_reader *reader, const struct worker_code *head,
		       uint64_t end_child)
{
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP(remote_texts_free) struct remote_texts texts = { 0 };
	int result = channel_read_new(reader->socket, end_child, &bytes, &reader->deadline);
	if (!result)
		result = remote_texts_keep(&texts, &code->strings, bytes + end_child - head->text_size, head->text_size,
					   head->text_count);
	return result ? result : take_tables(code, head, bytes, &texts);
}

/* Returns the memory limit of its child, which includes the image and a copy of it for relocation. */
static uint64_t data_limit(const struct remote_code *code)
{
	return budget_data_limit(code->context->budget, &code->request.owner, BUDGET_QUICK) +
	       2 * code->request.identity.size;
}

static struct deadline make_deadline(const struct remote_reader *reader, uint64_t duration)
{
	struct deadline deadline = deadline_make(reader->deadline.delay, duration);
	deadline.helper = reader->deadline.helper;
	return deadline;
}

/*
 * Waits for the answer, and tests in between whether the decoder hangs, at least twice before the deadline. The run's
 * deadline may be set meanwhile.
 */
static int wait_for_answer(const struct remote_code *code, const struct remote_reader *reader)
{
	struct deadline examined = reader->deadline;
	for (;;) {
		struct deadline end = budget_end(code->context->budget), step = make_deadline(reader, ANSWER_STEP);
		struct deadline deadline = deadline_earlier(&reader->deadline, &end);
		step = deadline_earlier(&step, &deadline);
		int result = channel_wait(reader->socket, &step);
		if (result != -ETIMEDOUT || deadline_has_passed(&deadline))
			return result;
		uint64_t spent = deadline_spent(&examined);
		uint64_t period = (spent + deadline_left(&deadline)) /
				  (end.time == UINT64_MAX ? EXAMINE_PARTS : EXAMINE_PARTS_AT_END);
		if (spent < (period < EXAMINE_PERIOD ? period : EXAMINE_PERIOD))
			continue;
		worker_child_examine(code->pool, &code->child);
		examined = make_deadline(reader, UINT64_MAX);
	}
}

/* Sends a request to the child and reads the head of the answer. Reports a decoder that fails. */
static int ask_child(const struct remote_code *code, const struct remote_reader *reader, uint32_t type,
		     const void *request, size_t size, int descriptor, struct channel_answer *answer)
{
	int result = channel_send_bytes(reader->socket, type, request, size, descriptor, &reader->deadline);
	if (!result)
		result = wait_for_answer(code, reader);
	if (!result)
		result = channel_receive_answer(reader->socket, answer, &reader->deadline);
	char text[128];
	if (failure_text(result, text, sizeof text))
		code_workers_report_failure(code->context->workers, code->request.machine, text,
					    channel_failure(result).failure == PLUGIN_FAILURE_HANG);
	return result;
}

/* Starts a child for the image and reads the head of its answer. */
static int start(struct remote_code *code, struct remote_reader *reader, struct worker_code *head, uint64_t *left)
{
	struct remote_code **place = make_room(code);
	int result = worker_child_start(code->pool, &code->child, data_limit(code));
	/* The program of the worker is missing, not the image. */
	if (result)
		return result == -ENOENT ? -ENOPKG : result;
	code->used = clock_monotonic();
	*place = code;
	reader->socket = code->child.socket;
	reader->deadline.helper = &code->child.process;
	struct worker_load_code load = { .machine = code->request.machine };
	struct channel_answer answer = {
		.type = WORKER_CODE, .head = head, .head_size = sizeof *head, .rest_max = UINT32_MAX
	};
	result = ask_child(code, reader, WORKER_LOAD_CODE, &load, sizeof load, code->request.descriptor, &answer);
	if (!result && head->code)
		return channel_error(head->code);
	if (!result && !is_plausible(head, answer.rest))
		result = -EBADMSG;
	*left = answer.rest;
	return result;
}

static int load(struct remote_code *code, struct remote_reader *reader)
{
	struct worker_code head;
	uint64_t left;
	int result = charge_bytes(code, code->request.identity.size);
	if (!result)
		result = start(code, reader, &head, &left);
	if (!result)
		result = charge_bytes(code, 2 * left);
	return result ? result : read_tables(code, reader, &head, left);
}

/* Takes ownership of the descriptor immediately, so that remote_code_free() releases everything after a failure. */
static struct remote_code *allocate_code(struct remote_code_context *context, const struct remote_code_request *request)
{
	struct remote_code *code = calloc(1, sizeof *code);
	if (!code) {
		close(request->descriptor);
		return NULL;
	}
	code->context = context;
	code->request = *request;
	code->child = WORKER_CHILD_NONE;
	code->places.strings = &code->strings;
	code->pool = code_workers_get(context->workers, request->machine);
	return code;
}

int remote_code_load(struct remote_code **code, struct remote_code_context *context,
		     const struct remote_code_request *request)
{
	*code = NULL;
	struct remote_reader reader = { .deadline = budget_deadline(context->budget, &request->owner, BUDGET_FULL) };
	struct remote_code *made = allocate_code(context, request);
	int result = made && made->pool ? 0 : -ENOMEM;
	if (!result && budget_is_spent(context->budget, &request->owner))
		result = -ETIME;
	if (!result)
		result = load(made, &reader);
	budget_charge_excess(context->budget, &request->owner, &reader.deadline);
	if (!result)
		*code = made;
	else
		remote_code_free(made);
	return result;
}

const char *remote_code_reason(const struct remote_code_context *context, uint32_t machine, int code, char *text,
			       size_t size)
{
	char how[128];
	bool has_failed = failure_text(code, how, sizeof how);
	const char *decoder = has_failed ? code_workers_decoder_name(context->workers, machine) : NULL;
	if (!decoder)
		return worker_reason(has_failed ? -EPIPE : code);
	snprintf(text, size, "decoder %s: %s", decoder, how);
	return text;
}

/* Restarts the child if it was ended, and skips the tables that it sends again. */
static int restart_child(struct remote_code *code, struct remote_reader *reader)
{
	struct worker_code head;
	uint64_t left;
	reader->socket = code->child.socket;
	if (reader->socket >= 0)
		return 0;
	int result = start(code, reader, &head, &left);
	return result ? result : remote_read_over(reader, left);
}

static int request_place(struct remote_code *code, const struct remote_reader *reader, uint64_t address)
{
	struct worker_find_places places = { .address = address };
	struct worker_places head;
	struct channel_answer answer = {
		.type = WORKER_PLACES, .head = &head, .head_size = sizeof head, .rest_max = UINT32_MAX
	};
	int result = ask_child(code, reader, WORKER_FIND_PLACES, &places, sizeof places, -1, &answer);
	if (!result && !remote_places_are_plausible(&head, answer.rest))
		result = -EBADMSG;
	if (!result)
		result = charge_bytes(code, 2 * answer.rest);
	return result ? result : remote_places_read(&code->places, reader, &head, answer.rest, address);
}

/* Selects another worker for the code if its decoder hung with other code. */
static void choose_worker(struct remote_code *code)
{
	struct worker_pool *pool = code_workers_get(code->context->workers, code->request.machine);
	if (!pool || pool == code->pool)
		return;
	end_child(code);
	code->pool = pool;
}

/* Requests the place at an address. After a failure, no further address of the image is requested. */
static const struct remote_place *fetch_place(struct remote_code *code, uint64_t address)
{
	struct budget *budget = code->context->budget;
	if (code->failed)
		return NULL;
	struct remote_reader reader = { .deadline = budget_deadline(budget, &code->request.owner, BUDGET_FULL) };
	choose_worker(code);
	reader.deadline.helper = &code->child.process;
	int result = budget_is_spent(budget, &code->request.owner) ? -ETIME : restart_child(code, &reader);
	if (!result)
		result = request_place(code, &reader, address);
	code->used = clock_monotonic();
	if (!result) {
		budget_charge_excess(budget, &code->request.owner, &reader.deadline);
		return remote_places_find(&code->places, address);
	}
	/* Blames the run's deadline, not the image, unless reading it took long. */
	if (result == -ETIMEDOUT && budget_is_over(budget) && deadline_spent(&reader.deadline) < BUDGET_TIME_OTHER)
		result = -ECANCELED;
	code->failed = true;
	end_child(code);
	char text[128];
	budget_refuse(budget, &code->request.owner, code->request.name,
		      remote_code_reason(code->context, code->request.machine, result, text, sizeof text),
		      deadline_spent(&reader.deadline));
	return NULL;
}

static const struct remote_place *find_place(struct remote_code *code, uint64_t address)
{
	const struct remote_place *place = remote_places_find(&code->places, address);
	return place ? place : fetch_place(code, address);
}

static void set_instruction(struct iaprof_code_instruction *instruction, const struct remote_place *place)
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
	place->is_undecodable = false;
	if (!code_table_find(&code->table, address, &place->location))
		return false;
	const struct remote_place *found = find_place(code, address);
	if (!found) {
		const struct code_function *function = place->location.function, *kernel = place->location.kernel;
		place->function_count = 0;
		if (kernel && kernel != function)
			place->functions[place->function_count++] = (struct debug_frame){ .name = kernel->shown };
		place->functions[place->function_count++] = (struct debug_frame){ .name = function->shown };
		return true;
	}
	place->is_undecodable = found->is_undecodable;
	place->function_count = found->frame_count;
	memcpy(place->functions, code->places.frames.items + found->first_frame,
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
	const struct remote_place *place =
		code_table_find(&code->table, address, &location) ? find_place(code, address) : NULL;
	if (!place)
		return 0;
	size_t count = place->producer_count < capacity ? place->producer_count : capacity;
	if (count)
		memcpy(producers, code->places.producers.items + place->first_producer, count * sizeof *producers);
	*flags = place->producers_flags;
	if (count == capacity || count == place->producers_total)
		return place->producers_total;
	*flags |= IAPROF_PRODUCERS_INCOMPLETE; /* more exist than were sent */
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

uint32_t remote_code_addresses(const struct remote_code *code, uint64_t *base)
{
	*base = code->base;
	return code->addresses;
}

bool remote_code_is_damaged(const struct remote_code *code)
{
	return code->is_damaged;
}

uint64_t remote_code_unplaced_units(const struct remote_code *code)
{
	return code->unplaced_units;
}

const struct code_table *remote_code_table(const struct remote_code *code)
{
	return &code->table;
}
