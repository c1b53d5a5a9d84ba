/* SPDX-License-Identifier: Apache-2.0 */
/* See sideband_writer.h. */
#include "process/sideband_writer.h"

#include <string.h>

#include "process/name_throttle.h"
#include "process/process_rank.h"

static const char anonymous[] = "//anon";

static void batch_emit(struct sideband_writer *writer)
{
	struct iaprof_batch batch = { .records = writer->batch, .size = writer->size, .count = writer->count };
	if (writer->count && !writer->result)
		writer->result = writer->output.emit(writer->output.context, &batch);
	writer->size = writer->count = 0;
}

int sideband_write_flush(struct sideband_writer *writer)
{
	batch_emit(writer);
	int result = writer->result;
	writer->result = 0;
	return result;
}

static void batch_append(struct sideband_writer *writer, const void *record, size_t size)
{
	if (writer->size + size > sizeof writer->batch)
		batch_emit(writer);
	memcpy(&writer->batch[writer->size], record, size);
	writer->size += size;
	writer->count++;
}

/* Interns a text that a process chose; if its user has too many, a fixed text replaces it. */
static uint32_t intern(struct sideband_writer *writer, uint32_t pid, const char *text, size_t length)
{
	static const char refused[] = "[too many names]";
	if (length > IAPROF_STRING_LENGTH_MAX)
		length = IAPROF_STRING_LENGTH_MAX;
	if (length && writer->texts && !text_budget_allows(writer->texts, pid, text, length)) {
		text = refused;
		length = sizeof refused - 1;
	}
	return length ? writer->output.intern(writer->output.context, text, length) : 0;
}

/*
 * Ranks of a parallel program have one name, so the rank is made part of it: stacks are then apart by rank in every
 * output. A name in a replay has it already.
 */
static uint32_t intern_name(struct sideband_writer *writer, uint32_t pid, const char *name, size_t length)
{
	char text[RENAME_LENGTH_MAX + PROCESS_RANK_SUFFIX_SIZE];
	uint32_t rank;
	if (!length || length > RENAME_LENGTH_MAX || !process_rank_read((pid_t)pid, &rank))
		return intern(writer, pid, name, length);
	process_rank_name(text, sizeof text, name, length, rank);
	return intern(writer, pid, text, strlen(text));
}

void sideband_write_process(struct sideband_writer *writer, uint64_t time, uint32_t event, uint32_t pid,
			    uint32_t parent_pid, const char *name, size_t name_length)
{
	struct iaprof_record_process record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_PROCESS, .time = time },
		.pid = pid,
		.parent_pid = parent_pid,
		.event = event,
		.name = intern_name(writer, pid, name, name_length),
	};
	batch_append(writer, &record, sizeof record);
}

static bool begins_with(const char *text, size_t length, const char *with)
{
	size_t size = strlen(with);
	return length >= size && !memcmp(text, with, size);
}

void sideband_write_mapping(struct sideband_writer *writer, const struct sideband_event *event, uint32_t flags)
{
	static const char deleted[] = " (deleted)";
	const size_t deleted_length = sizeof deleted - 1;
	const char *path = event->text;
	size_t length = event->text_length;
	/* A process can name its anonymous memory (PR_SET_VMA_ANON_NAME); only /proc shows the name. */
	if (!length || begins_with(path, length, "[anon:")) {
		path = anonymous;
		length = sizeof anonymous - 1;
	}
	if (length > deleted_length && !memcmp(path + length - deleted_length, deleted, deleted_length)) {
		length -= deleted_length;
		flags |= IAPROF_MAPPING_DELETED;
	}
	bool is_file = path[0] == '/' && !begins_with(path, length, "//");
	struct iaprof_record_mapping record = sideband_event_record(event, flags);
	record.path = intern(writer, event->pid, path, length);
	/* For anonymous memory, events contain the address here, and /proc 0. */
	if (!is_file)
		record.file_offset = 0;
	batch_append(writer, &record, sizeof record);
}
