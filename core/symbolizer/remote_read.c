/* SPDX-License-Identifier: Apache-2.0 */
/* Checked contents of messages from the worker's children: see remote_read.h. */
#include "symbolizer/remote_read.h"

#include <errno.h>
#include <stdlib.h>

#include "base/channel.h"
#include "base/cleanup.h"

/* Scopes nest as deep as debug_unit_scopes.c follows them. */
#define SCOPE_DEPTH_MAX 260

int remote_read_ranges(const struct remote_reader *reader, struct range_table *table, uint32_t count,
		       uint32_t value_limit)
{
	*table = (struct range_table){ 0 };
	if (!array_reserve(table, count))
		return count ? -ENOMEM : 0;
	int code = channel_read(reader->socket, table->items, count * sizeof *table->items, &reader->deadline);
	table->count = count;
	for (uint32_t i = 0; !code && i < count; i++) {
		const struct range *range = &table->items[i];
		if (range->start > range->end || range->value >= value_limit ||
		    (i && range->start < table->items[i - 1].start))
			code = -EBADMSG;
	}
	if (code)
		range_table_free(table);
	else
		range_table_link(table);
	return code;
}

int remote_read_text(const struct remote_reader *reader, char **text, uint32_t size)
{
	*text = malloc(size ? size : 1);
	if (!*text)
		return -ENOMEM;
	int code = channel_read(reader->socket, *text, size, &reader->deadline);
	if (!code && size && (*text)[size - 1])
		code = -EBADMSG;
	if (code) {
		free(*text);
		*text = NULL;
	}
	return code;
}

static int read_rows(const struct remote_reader *reader, struct debug_unit *unit, uint32_t count)
{
	if (!count)
		return 0;
	if (!array_reserve(&unit->rows, count))
		return -ENOMEM;
	int code = channel_read(reader->socket, unit->rows.items, count * sizeof *unit->rows.items, &reader->deadline);
	unit->rows.count = count;
	for (uint32_t i = 1; !code && i < count; i++)
		if (unit->rows.items[i].address < unit->rows.items[i - 1].address)
			code = -EBADMSG;
	return code;
}

/* A position in the text; *text is not known yet, so positions are checked and kept as numbers. */
static bool is_text(uint32_t offset, uint32_t text_size)
{
	return offset == WORKER_NO_TEXT || offset < text_size;
}

static int read_scopes(const struct remote_reader *reader, struct worker_scope **scopes, uint32_t count)
{
	*scopes = calloc(count + 1, sizeof **scopes);
	CLEANUP_FREE uint16_t *depths = calloc(count + 1, sizeof *depths);
	if (!*scopes || !depths)
		return -ENOMEM;
	int code = channel_read(reader->socket, *scopes, count * sizeof **scopes, &reader->deadline);
	for (uint32_t i = 0; !code && i < count; i++) {
		uint32_t parent = (*scopes)[i].parent;
		if (parent == RANGE_NONE)
			continue;
		if (parent >= i || depths[parent] >= SCOPE_DEPTH_MAX)
			code = -EBADMSG;
		else
			depths[i] = (uint16_t)(depths[parent] + 1);
	}
	return code;
}

/* Turns the positions of names into the names. */
static int name_all(struct debug_unit *unit, const struct worker_unit_lines *head, const uint32_t *files,
		    const struct worker_scope *scopes)
{
	if (!array_reserve(&unit->files, head->file_count + 1) || !array_reserve(&unit->scopes, head->scope_count + 1))
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

int remote_read_unit(const struct remote_reader *reader, const struct worker_unit_lines *head, struct debug_unit *unit)
{
	*unit = (struct debug_unit){ .code = head->code };
	CLEANUP_FREE uint32_t *files = calloc(head->file_count + 1, sizeof *files);
	CLEANUP_FREE struct worker_scope *scopes = NULL;
	int code = files ? read_rows(reader, unit, head->row_count) : -ENOMEM;
	if (!code)
		code = channel_read(reader->socket, files, head->file_count * sizeof *files, &reader->deadline);
	if (!code)
		code = read_scopes(reader, &scopes, head->scope_count);
	if (!code)
		code = remote_read_ranges(reader, &unit->ranges, head->range_count, head->scope_count);
	if (!code)
		code = remote_read_text(reader, &unit->text, head->text_size);
	if (!code)
		code = name_all(unit, head, files, scopes);
	if (code) {
		debug_unit_free(unit);
		*unit = (struct debug_unit){ 0 };
	}
	return code;
}
