/* SPDX-License-Identifier: Apache-2.0 */
/* See remote_read.h. */
#include "symbolizer/remote_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "child/channel.h"

/* Slightly deeper than debug_unit_scopes.c follows scopes. */
#define SCOPE_DEPTH_MAX 260

int remote_read_parts(const struct remote_reader *reader, const struct remote_part *parts, size_t count)
{
	int code = 0;
	for (size_t i = 0; !code && i < count; i++) {
		char *bytes = NULL;
		code = channel_read_new(reader->socket, parts[i].size, &bytes, &reader->deadline);
		memcpy(parts[i].pointer, &bytes, sizeof bytes);
	}
	return code;
}

int remote_check_ranges(struct range_table *table, uint32_t count, uint32_t value_limit)
{
	table->count = table->capacity = count;
	for (size_t i = 0; i < count; i++) {
		const struct range *range = &table->items[i];
		if (range->start > range->end || range->value >= value_limit ||
		    (i && range->start < table->items[i - 1].start))
			return -EBADMSG;
	}
	range_table_link(table);
	return 0;
}

int remote_texts_keep(struct remote_texts *texts, struct string_table *strings, const char *joined, uint32_t size,
		      uint32_t count)
{
	if (size && joined[size - 1])
		return -EBADMSG;
	texts->items = calloc((size_t)count + 1, sizeof *texts->items);
	if (!texts->items)
		return -ENOMEM;
	for (const char *text = joined; texts->count < count; texts->count++) {
		if (text == joined + size)
			return -EBADMSG;
		size_t length = strlen(text); /* the last byte is 0 */
		texts->items[texts->count] = string_table_intern(strings, text, length);
		if (!texts->items[texts->count])
			return -ENOMEM;
		text += length + 1;
	}
	return 0;
}

void remote_texts_free(struct remote_texts *texts)
{
	free(texts->items);
}

static int check_rows(const struct debug_unit *unit)
{
	for (size_t i = 1; i < unit->rows.count; i++)
		if (unit->rows.items[i].address < unit->rows.items[i - 1].address)
			return -EBADMSG;
	return 0;
}

static bool is_text(uint32_t offset, uint32_t text_size)
{
	return offset == WORKER_NO_TEXT || offset < text_size;
}

static int check_scopes(const struct worker_scope *scopes, uint32_t count)
{
	CLEANUP_FREE uint16_t *depths = calloc((size_t)count + 1, sizeof *depths);
	if (!depths)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t parent = scopes[i].parent;
		if (parent == RANGE_NONE)
			continue;
		if (parent >= i || depths[parent] >= SCOPE_DEPTH_MAX)
			return -EBADMSG;
		depths[i] = (uint16_t)(depths[parent] + 1);
	}
	return 0;
}

/* Replaces offsets of names by the names. */
static int name_all(struct debug_unit *unit, const struct worker_unit_lines *head, const uint32_t *files,
		    const struct worker_scope *scopes)
{
	if (!array_reserve(&unit->files, (size_t)head->file_count + 1) ||
	    !array_reserve(&unit->scopes, (size_t)head->scope_count + 1))
		return -ENOMEM;
	for (uint32_t i = 0; i < head->file_count; i++) {
		if (!is_text(files[i], head->text_size))
			return -EBADMSG;
		unit->files.items[unit->files.count++] = files[i] == WORKER_NO_TEXT ? NULL : unit->text + files[i];
	}
	for (uint32_t i = 0; i < head->scope_count; i++) {
		const struct worker_scope *scope = &scopes[i];
		if (!is_text(scope->name, head->text_size))
			return -EBADMSG;
		unit->scopes.items[unit->scopes.count++] =
			(struct debug_scope){ .name = scope->name == WORKER_NO_TEXT ? NULL : unit->text + scope->name,
					      .parent = scope->parent,
					      .call_file = scope->call_file,
					      .call_line = scope->call_line };
	}
	return 0;
}

static int read_contents(const struct remote_reader *reader, const struct worker_unit_lines *head,
			 struct debug_unit *unit)
{
	CLEANUP_FREE uint32_t *files = NULL;
	CLEANUP_FREE struct worker_scope *scopes = NULL;
	const struct remote_part parts[] = { REMOTE_PART(unit->rows.items, head->row_count),
					     REMOTE_PART(files, head->file_count),
					     REMOTE_PART(scopes, head->scope_count),
					     REMOTE_PART(unit->ranges.items, head->range_count),
					     REMOTE_PART(unit->text, head->text_size) };
	int code = remote_read_parts(reader, parts, sizeof parts / sizeof *parts);
	if (!code && head->text_size && unit->text[head->text_size - 1])
		code = -EBADMSG;
	if (code)
		return code;
	unit->rows.count = unit->rows.capacity = head->row_count;
	code = check_rows(unit);
	if (!code)
		code = check_scopes(scopes, head->scope_count);
	if (!code)
		code = remote_check_ranges(&unit->ranges, head->range_count, head->scope_count);
	return code ? code : name_all(unit, head, files, scopes);
}

int remote_read_unit(const struct remote_reader *reader, const struct worker_unit_lines *head, struct debug_unit *unit)
{
	*unit = (struct debug_unit){ .code = head->code };
	int code = read_contents(reader, head, unit);
	if (code) {
		debug_unit_free(unit);
		*unit = (struct debug_unit){ 0 };
	}
	return code;
}

int remote_read_over(const struct remote_reader *reader, uint64_t size)
{
	char ignored[65536];
	int code = 0;
	for (uint64_t part; !code && size; size -= part) {
		part = size < sizeof ignored ? size : sizeof ignored;
		code = channel_read(reader->socket, ignored, part, &reader->deadline);
	}
	return code;
}
