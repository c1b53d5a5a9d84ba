/* SPDX-License-Identifier: Apache-2.0 */
/* See source_texts.h. */
#include "source_texts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

static struct source_text *begin(struct source_texts *texts, const struct iaprof_record_source_text *record)
{
	if (!array_reserve(texts, texts->count + 1))
		return NULL;
	texts->items[texts->count] = (struct source_text){ .file = record->file, .size = record->size };
	return &texts->items[texts->count++];
}

int source_texts_take(struct source_texts *texts, const struct iaprof_record_source_text *record)
{
	struct source_text *text = texts->count ? &texts->items[texts->count - 1] : NULL;
	if (record->length > SOURCE_TEXTS_SIZE_MAX - texts->size)
		return 0;
	if (!record->offset) {
		if (texts->count >= SOURCE_TEXTS_COUNT_MAX)
			return 0;
		text = begin(texts, record);
		if (!text)
			return -ENOMEM;
	} else if (!text || text->file != record->file || text->size != record->size ||
		   text->filled != record->offset) {
		return 0; /* an earlier part was lost: the text stays incomplete */
	}
	/* Memory grows with the received bytes, not with the size in the record. */
	char *bytes = realloc(text->bytes, (size_t)text->filled + record->length);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes + text->filled, iaprof_record_source_text_bytes(record), record->length);
	text->bytes = bytes;
	text->filled += record->length;
	texts->size += record->length;
	return 0;
}

/* Sorts by path; of several texts of one file, a complete one comes first. */
static int compare(const void *left, const void *right)
{
	const struct source_text *a = left, *b = right;
	int order = strcmp(a->path, b->path);
	return order ? order : (a->filled != a->size) - (b->filled != b->size);
}

void source_texts_sort(struct source_texts *texts, const struct definitions *definitions)
{
	for (size_t i = 0; i < texts->count; i++)
		texts->items[i].path = definitions_text(definitions, texts->items[i].file);
	if (texts->count)
		qsort(texts->items, texts->count, sizeof *texts->items, compare);
}

char *source_texts_find(const struct source_texts *texts, const char *path, size_t *size)
{
	size_t first = array_lower_bound(texts->count, position, strcmp(texts->items[position].path, path) < 0);
	const struct source_text *text = first < texts->count ? &texts->items[first] : NULL;
	if (!text || strcmp(text->path, path) != 0 || text->filled != text->size)
		return NULL;
	char *copy = malloc((size_t)text->size + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text->bytes, text->size);
	copy[text->size] = '\0';
	*size = text->size;
	return copy;
}

void source_texts_free(struct source_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i].bytes);
	free(texts->items);
	*texts = (struct source_texts){ 0 };
}
