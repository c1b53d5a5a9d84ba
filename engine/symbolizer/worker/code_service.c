/* SPDX-License-Identifier: Apache-2.0 */
/* See code_service.h. */
#include "symbolizer/worker/code_service.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/string_table.h"
#include "child/channel.h"
#include "symbolizer/device/code_reader.h"
#include "symbolizer/worker/worker_message.h"

/* The answer to one message. Texts are sent once each and referred to by number. */
struct answer {
	struct string_table texts;
	size_t text_size;
	bool failed;
	ARRAY(struct worker_section) sections;
	ARRAY(struct worker_code_function) functions;
	ARRAY(struct worker_attribute) attributes;
	ARRAY(uint32_t) callers;
	ARRAY(struct worker_place) places;
	ARRAY(struct worker_frame) frames;
	ARRAY(struct iaprof_producer) producers;
};

static void answer_free(struct answer *answer)
{
	string_table_free(&answer->texts);
	array_free(&answer->sections);
	array_free(&answer->functions);
	array_free(&answer->attributes);
	array_free(&answer->callers);
	array_free(&answer->places);
	array_free(&answer->frames);
	array_free(&answer->producers);
}

static uint32_t add_text(struct answer *answer, const char *text)
{
	bool is_new = false;
	size_t length = text ? strlen(text) : 0;
	uint32_t id = text ? string_table_add(&answer->texts, text, length, &is_new) : 0;
	answer->text_size += is_new ? length + 1 : 0;
	answer->failed |= text && !id;
	return id;
}

/* Returns all texts, concatenated; NULL if out of memory. */
static char *join_texts(const struct answer *answer)
{
	char *joined = malloc(answer->text_size + 1), *end = joined;
	for (size_t i = 0; joined && i < answer->texts.entries.count; i++) {
		const struct string_entry *entry = &answer->texts.entries.items[i];
		memcpy(end, entry->text, (size_t)entry->length + 1);
		end += entry->length + 1;
	}
	return joined;
}

#define PART(array) ((struct iovec){ (array).items, (array).count * sizeof *(array).items })

static int send_failure(int socket, int code)
{
	struct worker_code head = { .code = code };
	return channel_send_bytes(socket, WORKER_CODE, &head, sizeof head, -1, NULL);
}

static void add_function(struct answer *answer, const struct code_function *function)
{
	struct worker_code_function sent = { .name = add_text(answer, function->name),
					     .shown = add_text(answer, function->shown),
					     .address = function->address,
					     .size = function->size,
					     .section = function->section,
					     .is_kernel = function->is_kernel,
					     .attribute = (uint32_t)answer->attributes.count,
					     .attribute_count = (uint32_t)function->attribute_count,
					     .caller = (uint32_t)answer->callers.count,
					     .caller_count = (uint32_t)function->caller_count };
	answer->failed |= !array_push(&answer->functions, sent);
	for (size_t i = 0; i < function->attribute_count; i++) {
		struct worker_attribute attribute = { .name = add_text(answer, function->attributes[i].name),
						      .value = function->attributes[i].value };
		answer->failed |= !array_push(&answer->attributes, attribute);
	}
	for (size_t i = 0; i < function->caller_count; i++)
		answer->failed |= !array_push(&answer->callers, function->callers[i]);
}

static void add_object(struct answer *answer, const struct code_object *object)
{
	size_t count;
	const struct code_section *sections = code_object_sections(object, &count);
	for (size_t i = 0; i < count; i++) {
		struct worker_section section = { .name = add_text(answer, sections[i].name),
						  .kernel = sections[i].kernel,
						  .address = sections[i].address,
						  .size = sections[i].size };
		answer->failed |= !array_push(&answer->sections, section);
	}
	const struct code_function *functions = code_object_functions(object, &count);
	for (size_t i = 0; i < count; i++)
		add_function(answer, &functions[i]);
}

static int send_object(int socket, const struct code_object *object)
{
	static const struct code_damage none;
	CLEANUP(answer_free) struct answer answer = { 0 };
	struct code_damage damage = code_object_damage(object), shown = damage;
	add_object(&answer, object);
	CLEANUP_FREE char *texts = answer.failed ? NULL : join_texts(&answer);
	if (!texts)
		return send_failure(socket, -ENOMEM);
	uint64_t base;
	shown.unnamed = shown.units = 0;
	struct worker_code head = { .addresses = code_object_addresses(object, &base),
				    .is_damaged = memcmp(&shown, &none, sizeof none) != 0,
				    .section_count = (uint32_t)answer.sections.count,
				    .function_count = (uint32_t)answer.functions.count,
				    .attribute_count = (uint32_t)answer.attributes.count,
				    .caller_count = (uint32_t)answer.callers.count,
				    .text_count = (uint32_t)answer.texts.entries.count,
				    .text_size = (uint32_t)answer.text_size,
				    .base = base,
				    .unplaced_units = damage.units };
	struct iovec parts[] = { { &head, sizeof head },  PART(answer.sections), PART(answer.functions),
				 PART(answer.attributes), PART(answer.callers),  { texts, answer.text_size } };
	return channel_send(socket, WORKER_CODE, parts, sizeof parts / sizeof *parts, -1, NULL);
}

static int load(struct code_reader **reader, struct decoder *decoder, int socket, int descriptor)
{
	struct worker_load_code request;
	struct code_object *object = NULL;
	char *bytes;
	size_t size;
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (code || descriptor < 0 || *reader)
		return code ? code : -EPROTO;
	code = request.machine > UINT16_MAX ? -ENOEXEC : code_object_read_file(descriptor, &bytes, &size);
	if (!code)
		code = code_object_open(&object, bytes, size, (uint16_t)request.machine, decoder);
	if (code)
		return send_failure(socket, code);
	*reader = code_reader_new(object, decoder);
	code = *reader ? send_object(socket, object) : send_failure(socket, -ENOMEM);
	code_object_release(object);
	return code;
}

static void add_producers(struct answer *answer, struct code_reader *reader, struct worker_place *sent)
{
	struct iaprof_producer producers[WORKER_PRODUCERS_MAX];
	size_t count =
		code_reader_producers(reader, sent->address, producers, WORKER_PRODUCERS_MAX, &sent->producers_flags);
	sent->producers_total = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	sent->producer_count = count < WORKER_PRODUCERS_MAX ? (uint32_t)count : WORKER_PRODUCERS_MAX;
	for (size_t i = 0; i < sent->producer_count; i++)
		answer->failed |= !array_push(&answer->producers, producers[i]);
}

/* Returns the size of the instruction, or 0 if none begins there. */
static uint32_t add_place(struct answer *answer, struct code_reader *reader, uint64_t address,
			  const struct code_place *place)
{
	const struct iaprof_code_instruction *instruction = &place->instruction;
	struct worker_place sent = { .address = address,
				     .frame_count = (uint32_t)place->function_count,
				     .is_undecodable = place->is_undecodable };
	for (size_t i = 0; i < place->function_count; i++) {
		const struct debug_frame *function = &place->functions[i];
		struct worker_frame frame = { .name = add_text(answer, function->name),
					      .file = add_text(answer, function->file),
					      .line = function->line };
		answer->failed |= !array_push(&answer->frames, frame);
	}
	if (instruction->mnemonic) {
		sent.size = instruction->size;
		sent.group = instruction->group;
		sent.mnemonic = add_text(answer, instruction->mnemonic);
		sent.waits = add_text(answer, instruction->waits);
		sent.text = add_text(answer, instruction->text);
	}
	add_producers(answer, reader, &sent);
	answer->failed |= !array_push(&answer->places, sent);
	return sent.size;
}

static void add_places(struct answer *answer, struct code_reader *reader, uint64_t address)
{
	uint64_t base;
	struct code_place place;
	const struct code_function *function = code_reader_function(reader, address, &base);
	while (function && address - function->address < function->size && !answer->failed &&
	       answer->places.count < WORKER_PLACES_MAX && code_reader_find(reader, address, &place)) {
		uint32_t size = add_place(answer, reader, address, &place);
		address += size ? size : 1;
	}
}

static int find_places(struct code_reader *reader, int socket)
{
	struct worker_find_places request;
	CLEANUP(answer_free) struct answer answer = { 0 };
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (code || !reader)
		return code ? code : -EPROTO;
	add_places(&answer, reader, request.address);
	CLEANUP_FREE char *texts = answer.failed ? NULL : join_texts(&answer);
	if (!texts)
		return -ENOMEM;
	struct worker_places head = { .place_count = (uint32_t)answer.places.count,
				      .frame_count = (uint32_t)answer.frames.count,
				      .producer_count = (uint32_t)answer.producers.count,
				      .text_count = (uint32_t)answer.texts.entries.count,
				      .text_size = (uint32_t)answer.text_size };
	struct iovec parts[] = { { &head, sizeof head },
				 PART(answer.places),
				 PART(answer.frames),
				 PART(answer.producers),
				 { texts, answer.text_size } };
	return channel_send(socket, WORKER_PLACES, parts, sizeof parts / sizeof *parts, -1, NULL);
}

struct service {
	struct code_reader *reader;
	struct decoder *decoder;
};

static int answer_message(void *context, int socket, const struct channel_header *header, int descriptor)
{
	CLEANUP_CLOSE int image = descriptor;
	struct service *service = context;
	if (header->type == WORKER_LOAD_CODE && header->size == sizeof(struct worker_load_code))
		return load(&service->reader, service->decoder, socket, image);
	if (header->type == WORKER_FIND_PLACES && header->size == sizeof(struct worker_find_places))
		return find_places(service->reader, socket);
	return -EPROTO;
}

int code_service_serve(void *decoder, int socket)
{
	struct service service = { .decoder = decoder };
	int code = channel_serve(socket, answer_message, &service);
	code_reader_free(service.reader);
	return code;
}
