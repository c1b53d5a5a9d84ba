/* SPDX-License-Identifier: Apache-2.0 */
/* See sideband_writer.h. */
#include "process/sideband_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "broker/broker.h"
#include "process/process_stat.h"

static const char anonymous[] = "//anon";

/* Attempts to read the rank from the environment, which a process has before it maps the C library. */
#define RANK_READS_MAX 16

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

void sideband_write_process(struct sideband_writer *writer, uint64_t time, uint32_t event, uint32_t pid,
			    uint32_t parent_pid, const char *name, size_t name_length)
{
	struct iaprof_record_process record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_PROCESS, .time = time },
		.pid = pid,
		.parent_pid = parent_pid,
		.event = event,
		.name = intern(writer, pid, name, name_length),
	};
	batch_append(writer, &record, sizeof record);
}

void sideband_write_unanswered(struct sideband_writer *writer, uint32_t pid, uint64_t time)
{
	char reason[128];
	uint32_t user;
	if (!process_user(pid, &user))
		return;
	snprintf(reason, sizeof reason, "environments of processes of user %" PRIu32 " (reading takes too long)", user);
	writer->output.lost(writer->output.context, reason, time, 1);
}

/* Reads the rank unless it is known. Returns whether the process has one. */
static bool rank_read(struct sideband_writer *writer, struct ranked_name *ranked, uint32_t pid, uint64_t time)
{
	if (ranked->state == PROCESS_RANK_UNKNOWN && ranked->reads < RANK_READS_MAX) {
		struct process_rank rank;
		ranked->reads++;
		broker_ranks(writer->output.broker, &pid, 1, &rank);
		ranked->state = rank.state;
		ranked->rank = rank.rank;
		if (rank.state == PROCESS_RANK_UNANSWERED)
			sideband_write_unanswered(writer, pid, time);
	}
	return ranked->state == PROCESS_RANK_FOUND;
}

void sideband_write_named(struct sideband_writer *writer, uint64_t time, uint32_t event, uint32_t pid,
			  uint32_t parent_pid, const char *name, size_t name_length, struct ranked_name *ranked)
{
	char text[RENAME_LENGTH_MAX + PROCESS_RANK_SUFFIX_SIZE];
	ranked->length = 0;
	if (name_length && name_length <= RENAME_LENGTH_MAX) {
		if (rank_read(writer, ranked, pid, time)) {
			process_rank_name(text, sizeof text, name, name_length, ranked->rank);
			name = text;
			name_length = strlen(text);
		} else if (ranked->state == PROCESS_RANK_UNKNOWN) {
			ranked->length = (uint8_t)name_length;
			memcpy(ranked->name, name, name_length);
		}
	}
	sideband_write_process(writer, time, event, pid, parent_pid, name, name_length);
}

void sideband_write_late_rank(struct sideband_writer *writer, uint64_t time, uint32_t pid, struct ranked_name *ranked)
{
	char name[RENAME_LENGTH_MAX];
	size_t length = ranked->length;
	if (!length || !rank_read(writer, ranked, pid, time))
		return;
	memcpy(name, ranked->name, length);
	sideband_write_named(writer, time, IAPROF_PROCESS_NAME, pid, 0, name, length, ranked);
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
