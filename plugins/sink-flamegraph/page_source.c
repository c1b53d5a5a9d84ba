/* SPDX-License-Identifier: Apache-2.0 */
/* See page_source.h. */
#include "page_source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TAB_WIDTH 4u
/* Maximum indentation of a line; deeper indentation is reduced to it. */
#define INDENT_MAX 400u

struct file {
	const char *name;
	bool is_device;
	uint64_t weight;
	char *text; /* NULL: missing, see why */
	size_t size;
	const char *why;
};

static int compare_weights(const void *left, const void *right)
{
	const struct file *a = *(const struct file *const *)left, *b = *(const struct file *const *)right;
	if (a->is_device != b->is_device)
		return a->is_device ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Preserves indentation, which text_append_name() would trim. */
static void append_line(struct text *text, const char *line)
{
	unsigned indent = 0;
	for (; *line == ' ' || *line == '\t'; line++)
		indent = *line == '\t' ? (indent / TAB_WIDTH + 1) * TAB_WIDTH : indent + 1;
	text_append_format(text, "[%u,", indent < INDENT_MAX ? indent : INDENT_MAX);
	text_append_json(text, line);
	text_append_string(text, "]");
}

static void append_lines(struct text *text, const struct file *file)
{
	char *line = file->text, *const end = file->text + file->size;
	text_append_string(text, ",\"lines\":[");
	while (line < end && !text->failed) {
		char *next = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((next ? next : end) - line);
		line[length - (length && line[length - 1] == '\r')] = '\0';
		line[length] = '\0';
		text_append_string(text, line == file->text ? "" : ",");
		append_line(text, line);
		line += length + 1;
	}
	text_append_string(text, "]");
}

/* Prefers a file of the user to the recorded text. */
static void read_file(struct file *file, struct page_sources *sources)
{
	file->text = source_files_read(&sources->files, file->name, &file->size, &file->why);
	if (!file->text && sources->files.mode != SOURCE_FILES_NONE)
		file->text = source_texts_find(&sources->texts, file->name, &file->size);
}

void page_source_append(struct text *text, const struct name_table *files, size_t device_count,
			struct page_sources *sources, const struct definitions *definitions)
{
	source_texts_sort(&sources->texts, definitions);
	struct file *items = calloc(files->weights.count + 1, sizeof *items);
	struct file **order = calloc(files->weights.count + 1, sizeof *order);
	text->failed |= !items || !order;
	for (size_t i = 0; !text->failed && i < files->weights.count; i++) {
		items[i].name = name_table_name(files, i);
		items[i].is_device = i < device_count;
		items[i].weight = files->weights.items[i];
		order[i] = &items[i];
	}
	if (!text->failed && files->weights.count)
		qsort(order, files->weights.count, sizeof *order, compare_weights);
	for (size_t i = 0; !text->failed && i < files->weights.count; i++)
		read_file(order[i], sources);
	text_append_string(text, "[");
	for (size_t i = 0; !text->failed && i < files->weights.count; i++) {
		text_append_string(text, i ? ",{\"name\":" : "{\"name\":");
		text_append_json(text, items[i].name);
		if (items[i].text) {
			append_lines(text, &items[i]);
		} else {
			text_append_string(text, ",\"why\":");
			text_append_json(text, items[i].why);
		}
		text_append_string(text, "}");
	}
	text_append_string(text, "]");
	for (size_t i = 0; items && i < files->weights.count; i++)
		free(items[i].text);
	free(items);
	free(order);
}
