/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and translates the records of an isolated source: see record_intake.h. */
#include "run/isolation/record_intake.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "bus/record_check.h"
#include "bus/record_ids.h"

/* Limits of one source, so that it cannot exhaust iaprof's memory. */
#define STRING_COUNT_MAX 4194304u
#define TEXT_SIZE_MAX (UINT64_C(512) << 20)
/* Number of stack ids remembered, a power of two: more than a source sends in 5 s, for which an id is valid. */
#define STACKS_REMEMBERED (1u << 20)
/* Copies of descriptors, and how long they are kept, ns: a source keeps its own for 5 s. */
#define FILES_MAX 1024
#define FILE_TIME (20 * NANOSECONDS_PER_SECOND)

int record_intake_init(struct record_intake *intake)
{
	/* Touched only as far as it is used. */
	intake->stacks = calloc(STACKS_REMEMBERED, sizeof *intake->stacks);
	intake->waiting = malloc(RECORD_INTAKE_CHUNK);
	intake->copy = malloc(RECORD_INTAKE_CHUNK);
	return intake->stacks && intake->waiting && intake->copy ? 0 : -ENOMEM;
}

void record_intake_free(struct record_intake *intake)
{
	array_free(&intake->strings);
	array_free(&intake->frames);
	record_intake_close_files(intake, true);
	array_free(&intake->files);
	free(intake->stacks);
	free(intake->waiting);
	free(intake->copy);
}

/* An id that nobody gets. The core counts what refers to it, where 0 would mean none, or a default. */
#define ID_UNKNOWN UINT32_MAX

static uint32_t translate(void *context, enum id_space space, uint32_t id)
{
	struct record_intake *intake = context;
	if (!id)
		return 0;
	if (space == ID_STRING)
		return id <= intake->strings.count ? intake->strings.items[id - 1] : ID_UNKNOWN;
	if (id > intake->stack_count || intake->stack_count - id >= STACKS_REMEMBERED) {
		intake->unknown++;
		return 0;
	}
	return intake->stacks[id % STACKS_REMEMBERED];
}

void record_intake_close_files(struct record_intake *intake, bool all)
{
	uint64_t now = clock_monotonic();
	size_t kept = 0;
	for (size_t i = 0; i < intake->files.count; i++) {
		const struct intake_file *file = &intake->files.items[i];
		if (all || now - file->time > FILE_TIME)
			close(file->descriptor);
		else
			intake->files.items[kept++] = *file;
	}
	intake->files.count = kept;
}

/* Returns a copy of a descriptor of the source's process, which is closed when the image has been read; -1: none. */
static int copy_descriptor(struct record_intake *intake, const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	if (*end || number > INT_MAX || intake->process_descriptor < 0 || intake->files.count >= FILES_MAX)
		return -1;
	struct intake_file file = { .time = clock_monotonic(),
				    .descriptor =
					    (int)syscall(SYS_pidfd_getfd, intake->process_descriptor, (int)number, 0) };
	if (file.descriptor >= 0 && !array_push(&intake->files, file)) {
		close(file.descriptor);
		return -1;
	}
	return file.descriptor;
}

/* Returns the path of an image in this process: the /proc/self of the source's process is not that of this one. */
static uint32_t translate_path(struct record_intake *intake, uint32_t path)
{
	static const char own[] = "/proc/self/", descriptors[] = "/proc/self/fd/";
	struct intern *intern = intake->instance->services->intern;
	const char *text = intern_text(intern, path);
	char translated[64];
	if (strncmp(text, own, sizeof own - 1) != 0)
		return path;
	int descriptor = strncmp(text, descriptors, sizeof descriptors - 1) != 0
				 ? -1
				 : copy_descriptor(intake, text + sizeof descriptors - 1);
	if (descriptor >= 0)
		snprintf(translated, sizeof translated, "%s%d", descriptors, descriptor);
	else
		snprintf(translated, sizeof translated, "/proc/%d/%.32s", intake->process, text + sizeof own - 1);
	return intern_text_id(intern, translated);
}

static int define_string(struct record_intake *intake, const struct iaprof_record_string *record, struct error *error)
{
	intake->text_size += record->length;
	if (record->id != intake->strings.count + 1)
		return error_set(error, EBADMSG, "sent a malformed record: STRING: id %u", record->id);
	if (record->id > STRING_COUNT_MAX || intake->text_size > TEXT_SIZE_MAX)
		return error_set(error, EBADMSG, "interned too many strings (at most %u, %llu MiB)", STRING_COUNT_MAX,
				 (unsigned long long)(TEXT_SIZE_MAX >> 20));
	uint32_t id =
		intern_string(intake->instance->services->intern, iaprof_record_string_text(record), record->length);
	return array_push(&intake->strings, id) ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int define_frame(struct record_intake *intake, const struct iaprof_record_named_frame *record,
			struct error *error)
{
	if (record->id != intake->frames.count + 1 || record->id > IAPROF_NAMED_FRAMES_MAX)
		return error_set(error, EBADMSG, "sent a malformed record: NAMED_FRAME: id %u", record->id);
	struct iaprof_named_frame frame = { .size = sizeof frame,
					    .name = translate(intake, ID_STRING, record->name),
					    .file = translate(intake, ID_STRING, record->file),
					    .line = record->line,
					    .kind = record->kind,
					    .flags = record->flags };
	uint32_t id = intake->instance->host.intern_frame(&intake->instance->host, &frame);
	return array_push(&intake->frames, id) ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int define_stack(struct record_intake *intake, struct iaprof_record_stack *record, struct error *error)
{
	uint64_t *addresses = (uint64_t *)(record + 1);
	if (record->id != intake->stack_count + 1)
		return error_set(error, EBADMSG, "sent a malformed record: STACK: id %u", record->id);
	for (uint32_t i = 0; i < record->count; i++) {
		uint32_t frame = (uint32_t)addresses[i];
		if (!interned_stack_is_named(addresses[i]) || !frame || !intake->frames.count)
			continue;
		frame = frame <= intake->frames.count ? intake->frames.items[frame - 1] : 0;
		addresses[i] = IAPROF_STACK_NAMED_FRAME | frame;
	}
	intake->stacks[record->id % STACKS_REMEMBERED] =
		intake->instance->host.intern_stack(&intake->instance->host, record->pid, addresses, record->count);
	intake->stack_count = record->id;
	return 0;
}

/* Puts the records that were translated on the bus. Returns 0, or -ENOSPC if a lossless source must wait. */
static int emit(struct record_intake *intake, struct error *error)
{
	struct instance *instance = intake->instance;
	struct iaprof_batch batch = { .records = intake->waiting,
				      .size = intake->waiting_size,
				      .count = intake->waiting_count };
	if (!batch.count)
		return 0;
	int result = 0;
	/* emit() of a lossless source would wait for the collector, and this thread also serves others. */
	if (instance_is_lossless(instance))
		result = bus_emit(instance->services->bus, instance->number, &batch, 0, error);
	else
		result = instance->host.emit(&instance->host, &batch);
	if (result == -ENOSPC)
		return result;
	intake->waiting_size = 0;
	intake->waiting_count = 0;
	return result ? error_set(error, EBADMSG, "sent a malformed record") : 0;
}

/* Takes a record that only the core may put on the bus: of the source's process, where it is part of the core. */
static int take_of_core(struct record_intake *intake, struct iaprof_record *record, struct error *error)
{
	struct instance *instance = intake->instance;
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		return define_string(intake, (struct iaprof_record_string *)record, error);
	case IAPROF_RECORD_STACK:
		return define_stack(intake, (struct iaprof_record_stack *)record, error);
	case IAPROF_RECORD_NAMED_FRAME:
		return define_frame(intake, (struct iaprof_record_named_frame *)record, error);
	case IAPROF_RECORD_PROGRESS:
		(void)instance->host.advance(&instance->host, record->time);
		return 0;
	case IAPROF_RECORD_VALUE_TYPE: {
		const struct iaprof_record_value_type *type = (const void *)record;
		struct intern *intern = instance->services->intern;
		uint32_t name = translate(intake, ID_STRING, type->name),
			 unit = translate(intake, ID_STRING, type->unit);
		(void)instance->host.declare_value_type(&instance->host, intern_text(intern, name),
							intern_text(intern, unit), type->period);
		return 0;
	}
	default:
		return error_set(error, EBADMSG, "sent a malformed record: %s is for the core to send",
				 record_type_name(record->type));
	}
}

static int take_record(struct record_intake *intake, struct iaprof_record *record, struct error *error)
{
	if (record_is_of_core(record->type)) {
		/* Definitions may be sent before earlier records, but the source's progress must not. */
		int result = record->type == IAPROF_RECORD_PROGRESS ? emit(intake, error) : 0;
		return result ? result : take_of_core(intake, record, error);
	}
	record_translate_ids(record, translate, intake);
	if (record->type == IAPROF_RECORD_CODE_OBJECT) {
		struct iaprof_record_code_object *code_object = (void *)record;
		code_object->path = translate_path(intake, code_object->path);
	}
	memcpy(intake->waiting + intake->waiting_size, record, record->size);
	intake->waiting_size += record->size;
	intake->waiting_count++;
	return 0;
}

int record_intake_take(struct record_intake *intake, bool *more, struct error *error)
{
	char *bytes = intake->copy;
	uint64_t available;
	*more = false;
	int result = emit(intake, error);
	if (result)
		return result == -ENOSPC ? 0 : result;
	ptrdiff_t size = record_ring_peek(intake->ring, intake->position, bytes, RECORD_INTAKE_CHUNK, &available);
	if (size < 0)
		return error_set(error, EBADMSG, "damaged the memory that it shares with iaprof");
	ptrdiff_t taken = 0;
	while (taken < size) {
		struct iaprof_record *record = (struct iaprof_record *)(bytes + taken);
		size_t left = (size_t)(size - taken);
		/* Only whole records are published: one that ends behind the copy is completed by the next one. */
		bool is_cut = left < sizeof *record || record->size > left;
		if (is_cut && (size_t)size < available && left <= IAPROF_RECORD_SIZE_MAX)
			break;
		result = record_check(record, left, error);
		if (result)
			return error_wrap(error, "sent a");
		size_t record_size = record->size;
		result = take_record(intake, record, error);
		if (result == -ENOSPC)
			break; /* the PROGRESS record is taken again */
		if (result)
			return result;
		taken += (ptrdiff_t)record_size;
	}
	intake->position += (uint64_t)taken;
	record_ring_consume(intake->ring, intake->position);
	result = emit(intake, error);
	*more = !result && taken && (uint64_t)taken < available;
	return result == -ENOSPC ? 0 : result;
}

bool record_intake_is_empty(const struct record_intake *intake)
{
	return !intake->waiting_count && atomic_load(&intake->ring->written) == intake->position;
}
