/* SPDX-License-Identifier: Apache-2.0 */
/* See capture_sources.h. */
#include "capture_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of text in one record. */
#define PART_SIZE ((size_t)32 << 10)
_Static_assert(sizeof(struct iaprof_record_source_text) + PART_SIZE <= IAPROF_RECORD_SIZE_MAX, "a part fits");
_Static_assert(SOURCE_FILE_SIZE_MAX <= IAPROF_SOURCE_TEXT_SIZE_MAX, "a file fits");

int capture_sources_open(struct capture_sources *sources, const struct iaprof_host *host, const char *setting)
{
	sources->is_wanted = strcmp(setting, "no") != 0;
	return sources->is_wanted ? source_files_open(&sources->files, host, setting) : 0;
}

static int ids_add(struct string_table *ids, uint32_t id)
{
	return !id || string_table_add(ids, (const char *)&id, sizeof id, NULL) ? 0 : -ENOMEM;
}

int capture_sources_take(struct capture_sources *sources, const struct iaprof_record *record)
{
	if (!sources->is_wanted)
		return 0;
	if (record->type == IAPROF_RECORD_STRING)
		return definitions_take(&sources->names, record);
	if (record->type == IAPROF_RECORD_SOURCE_TEXT)
		return ids_add(&sources->has_text, ((const struct iaprof_record_source_text *)record)->file);
	if (record->type != IAPROF_RECORD_CODE_LISTING)
		return 0;
	const struct iaprof_record_code_listing *listing = (const void *)record;
	int result = 0;
	for (uint32_t i = 0; result == 0 && i < listing->instruction_count; i++)
		result = ids_add(&sources->listed, iaprof_record_code_listing_instruction(listing, i)->file);
	return result;
}

struct writer {
	const struct iaprof_host *host;
	int (*write)(const struct iaprof_host *host, void *context, const struct iaprof_record *record);
	void *context;
};

static int write_text(const struct writer *writer, uint32_t file, const char *text, size_t size)
{
	size_t capacity = sizeof(struct iaprof_record_source_text) + PART_SIZE;
	struct iaprof_record_source_text *record = calloc(1, capacity);
	int result = record ? 0 : -ENOMEM;
	for (size_t offset = 0; result == 0 && offset < size; offset += PART_SIZE) {
		size_t length = size - offset < PART_SIZE ? size - offset : PART_SIZE;
		memset(record, 0, capacity);
		*record = (struct iaprof_record_source_text){
			.header = { .size = (uint32_t)((sizeof *record + length + 7) & ~(size_t)7),
				    .type = IAPROF_RECORD_SOURCE_TEXT,
				    .time = writer->host->clock(writer->host) },
			.file = file,
			.size = (uint32_t)size,
			.offset = (uint32_t)offset,
			.length = (uint32_t)length
		};
		memcpy(record + 1, text + offset, length);
		result = writer->write(writer->host, writer->context, &record->header);
	}
	free(record);
	return result;
}

int capture_sources_write(struct capture_sources *sources, const struct iaprof_host *host,
			  int (*write)(const struct iaprof_host *host, void *context,
				       const struct iaprof_record *record),
			  void *context)
{
	const struct writer writer = { host, write, context };
	const char *first_missing = NULL, *first_why = NULL;
	size_t missing = 0;
	int result = 0;
	for (size_t i = 0; result == 0 && i < sources->listed.entries.count; i++) {
		uint32_t file;
		memcpy(&file, sources->listed.entries.items[i].text, sizeof file);
		if (string_table_find(&sources->has_text, (const char *)&file, sizeof file))
			continue;
		const char *path = definitions_text(&sources->names, file), *why;
		size_t size;
		char *text = source_files_read(&sources->files, path, &size, &why);
		if (text)
			result = write_text(&writer, file, text, size);
		else if (!missing++) {
			first_missing = path;
			first_why = why;
		}
		free(text);
	}
	if (missing)
		host->log(host, IAPROF_LOG_WARNING, "%zu of %zu source files not embedded (first: %.200s: %s)", missing,
			  sources->listed.entries.count, first_missing, first_why);
	return result;
}

void capture_sources_free(struct capture_sources *sources)
{
	source_files_close(&sources->files);
	definitions_free(&sources->names);
	string_table_free(&sources->listed);
	string_table_free(&sources->has_text);
}
