/* SPDX-License-Identifier: Apache-2.0 */
/* Parses .ze_info with libyaml, event by event: see ze_info.h. */
#include "ze_info.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>
#include <iaprof/record.h>

/* A kernel takes about 2,000 bytes; the largest modules have about 10,000 kernels. */
#define TEXT_SIZE_MAX ((size_t)64 << 20)
/* Compilers nest 6 deep. */
#define DEPTH_MAX 32
/* A kernel has about 100 of them. */
#define EVENT_COUNT_MAX ((size_t)16 << 20)
#define NAME_LENGTH_MAX IAPROF_STRING_LENGTH_MAX

struct reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the most recent one */
	size_t event_count;
	struct ze_info *info;
	struct string_table *strings;
	int code; /* 0 so far */
};

/* Reads the next event; returns false at the end or after an error. */
static bool next(struct reader *reader)
{
	yaml_event_delete(&reader->event);
	if (reader->code)
		return false;
	if (!yaml_parser_parse(&reader->parser, &reader->event)) {
		reader->code = reader->parser.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
		return false;
	}
	if (reader->event.type == YAML_ALIAS_EVENT || ++reader->event_count > EVENT_COUNT_MAX)
		reader->code = -EINVAL;
	return !reader->code;
}

static bool is_start(yaml_event_type_t type)
{
	return type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT;
}

static bool is_end(yaml_event_type_t type)
{
	return type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT || type == YAML_STREAM_END_EVENT ||
	       type == YAML_DOCUMENT_END_EVENT;
}

/* Skips to the end of the node that begins with the current event. */
static void skip(struct reader *reader)
{
	size_t depth = is_start(reader->event.type);
	while (depth && next(reader)) {
		if (is_start(reader->event.type) && ++depth > DEPTH_MAX)
			reader->code = -EINVAL;
		else if (is_end(reader->event.type))
			depth--;
	}
}

/* Returns the current event as a non-empty text without NUL. Returns false if it is not one. */
static bool is_text(const struct reader *reader, const char **text, size_t *length)
{
	if (reader->event.type != YAML_SCALAR_EVENT)
		return false;
	*text = (const char *)reader->event.data.scalar.value;
	*length = reader->event.data.scalar.length;
	return *length && *length <= NAME_LENGTH_MAX && !memchr(*text, '\0', *length);
}

/*
 * Reads the next key of the current mapping, and then the start of its value; returns false at the end of the mapping.
 */
static bool next_key(struct reader *reader, char key[64])
{
	if (!next(reader) || is_end(reader->event.type))
		return false;
	const char *text;
	size_t length;
	*key = '\0';
	if (!is_text(reader, &text, &length))
		skip(reader); /* a key that is not a text is unknown */
	else if (length < 64)
		memcpy(key, text, length), key[length] = '\0';
	return next(reader);
}

/* Parses an integer (YAML core schema) or a boolean. */
static bool parse_value(const char *text, int64_t *value)
{
	bool is_true = strcmp(text, "true") == 0;
	if (is_true || strcmp(text, "false") == 0) {
		*value = is_true;
		return true;
	}
	if (!strchr("-+0123456789", *text))
		return false;
	char *end;
	errno = 0;
	*value = strtoll(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	return !errno && end > text && !*end;
}

static void add_attribute(struct reader *reader, struct ze_info_entry *entry, const char *key)
{
	const char *text = "";
	size_t length = 0;
	struct iaprof_image_attribute attribute;
	if (!is_text(reader, &text, &length) || !*key || !parse_value(text, &attribute.value)) {
		/* Most lists and words are not attributes; an invalid number is damage. */
		reader->info->refused +=
			reader->event.type == YAML_SCALAR_EVENT && length && *text >= '0' && *text <= '9';
		skip(reader);
		return;
	}
	struct ze_info *info = reader->info;
	for (size_t i = entry->first; i < info->attributes.count; i++)
		if (strcmp(info->attributes.items[i].name, key) == 0) {
			info->refused++;
			return;
		}
	if (entry->count >= IAPROF_ATTRIBUTE_COUNT_MAX) {
		info->refused++;
		return;
	}
	attribute.name = string_table_intern(reader->strings, key, strlen(key));
	if (!attribute.name || !array_push(&info->attributes, attribute))
		reader->code = -ENOMEM;
	else
		entry->count++;
}

/* Reads a kernel's execution environment: a mapping that begins with the current event. */
static void read_environment(struct reader *reader, struct ze_info_entry *entry)
{
	char key[64];
	if (reader->event.type != YAML_MAPPING_START_EVENT) {
		skip(reader);
		return;
	}
	while (next_key(reader, key))
		add_attribute(reader, entry, key);
}

/* Reads one element of the list of kernels or functions, which begins with the current event. */
static void read_entry(struct reader *reader, bool is_function)
{
	struct ze_info *info = reader->info;
	struct ze_info_entry entry = { .first = info->attributes.count, .is_function = is_function };
	char key[64];
	bool has_environment = false;
	if (reader->event.type != YAML_MAPPING_START_EVENT) {
		info->refused++;
		skip(reader);
		return;
	}
	while (next_key(reader, key)) {
		const char *text;
		size_t length;
		if (strcmp(key, "name") == 0 && !entry.name && is_text(reader, &text, &length)) {
			entry.name = string_table_intern(reader->strings, text, length);
			if (!entry.name)
				reader->code = -ENOMEM;
		} else if (strcmp(key, "execution_env") == 0 && !has_environment) {
			has_environment = true;
			read_environment(reader, &entry);
		} else {
			skip(reader);
		}
	}
	if (!entry.name) {
		info->attributes.count = entry.first;
		info->refused += !reader->code;
	} else if (!array_push(&info->entries, entry)) {
		reader->code = -ENOMEM;
	}
}

static void read_entries(struct reader *reader, bool is_function)
{
	if (reader->event.type != YAML_SEQUENCE_START_EVENT) {
		skip(reader);
		return;
	}
	while (next(reader) && !is_end(reader->event.type))
		read_entry(reader, is_function);
}

static void read_document(struct reader *reader)
{
	char key[64];
	while (next(reader) && reader->event.type != YAML_MAPPING_START_EVENT)
		if (reader->event.type != YAML_STREAM_START_EVENT && reader->event.type != YAML_DOCUMENT_START_EVENT) {
			reader->code = -EINVAL;
			return;
		}
	while (next_key(reader, key))
		if (strcmp(key, "kernels") == 0 || strcmp(key, "functions") == 0)
			read_entries(reader, *key == 'f');
		else
			skip(reader);
}

int ze_info_read(struct ze_info *info, const char *text, size_t size, struct string_table *strings)
{
	if (size > TEXT_SIZE_MAX)
		return -EINVAL;
	/* Padding of the section is not YAML. */
	while (size && !text[size - 1])
		size--;
	struct reader reader = { .info = info, .strings = strings };
	if (!yaml_parser_initialize(&reader.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, size);
	read_document(&reader);
	yaml_event_delete(&reader.event);
	yaml_parser_delete(&reader.parser);
	return reader.code;
}

void ze_info_free(struct ze_info *info)
{
	array_free(&info->entries);
	array_free(&info->attributes);
}
