/* SPDX-License-Identifier: Apache-2.0 */
/* See page_code.h. */
#include "page_code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code_stalls.h"
#include "name_table.h"

/* An instruction that is shown. */
struct row {
	uint64_t offset;
	const struct iaprof_listed_instruction *listed; /* NULL: only samples tell of it */
	const struct iaprof_producer *producers;
	const struct iaprof_frame *frame; /* of its samples; may be NULL */
};

struct rows {
	struct row *items;
	size_t count, capacity;
};

/* What is being written. */
struct writer {
	struct text *text;
	struct page_code *code;
	struct name_table reasons, files;
	struct rows rows; /* of one function */
};

int page_code_take(struct page_code *code, const struct iaprof_record *record)
{
	if (record->type == IAPROF_RECORD_SOURCE_TEXT)
		return source_texts_take(&code->sources.texts, (const void *)record);
	return record->type == IAPROF_RECORD_CODE_LISTING ? code_listings_take(&code->listings, (const void *)record)
							  : 0;
}

void page_code_free(struct page_code *code)
{
	code_listings_free(&code->listings);
	source_files_close(&code->sources.files);
	source_texts_free(&code->sources.texts);
}

static void row_add(struct writer *writer, struct row row)
{
	struct rows *rows = &writer->rows;
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? 2 * rows->capacity : 1024;
		struct row *items = realloc(rows->items, capacity * sizeof *items);
		writer->text->failed |= !items;
		if (!items)
			return;
		rows->items = items;
		rows->capacity = capacity;
	}
	rows->items[rows->count++] = row;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->listed == NULL) - (b->listed == NULL);
}

/* One for each offset. */
static void rows_sort(struct rows *rows)
{
	size_t kept = 0;
	if (rows->count)
		qsort(rows->items, rows->count, sizeof *rows->items, compare_rows);
	for (size_t i = 0; i < rows->count; i++)
		if (!kept || rows->items[kept - 1].offset != rows->items[i].offset)
			rows->items[kept++] = rows->items[i];
	rows->count = kept;
}

static size_t row_find(const struct rows *rows, uint64_t offset)
{
	size_t low = 0, high = rows->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rows->items[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* All instructions of a function: those that were listed, and those that samples tell of and the listing does not. */
static void rows_make(struct writer *writer, const struct code_listing *listings, size_t listing_count,
		      const struct code_stall *stalls, size_t stall_count)
{
	writer->rows.count = 0;
	for (size_t i = 0; i < listing_count; i++) {
		const struct iaprof_record_code_listing *record = listings[i].record;
		const struct iaprof_listed_instruction *listed = iaprof_record_code_listing_instructions(record);
		const struct iaprof_producer *producers = iaprof_record_code_listing_producers(record);
		for (uint32_t k = 0; k < record->instruction_count; k++) {
			row_add(writer, (struct row){ listed[k].offset, &listed[k], producers, NULL });
			producers += listed[k].producer_count;
		}
	}
	for (size_t i = 0; i < stall_count; i++)
		if (!i || stalls[i].offset != stalls[i - 1].offset)
			row_add(writer, (struct row){ stalls[i].offset, NULL, NULL, stalls[i].instruction });
	rows_sort(&writer->rows);
}

static const char *text_of(const struct writer *writer, uint32_t id)
{
	return definitions_text(writer->code->definitions, id);
}

/* The position of a file, which the page has then; -1 none. */
static int64_t file_of(struct writer *writer, const char *file)
{
	if (!file || !*file)
		return -1;
	uint32_t position = name_table_add(&writer->files, file);
	writer->text->failed |= position == NAME_NONE;
	return position == NAME_NONE ? -1 : (int64_t)position;
}

static const char *row_file(const struct writer *writer, const struct row *row)
{
	return row->listed ? text_of(writer, row->listed->file) : row->frame ? row->frame->file : NULL;
}

static void append_producers(struct text *text, const struct row *row)
{
	text_append_string(text, "[");
	for (uint32_t i = 0; row->listed && i < row->listed->producer_count; i++)
		text_append_format(text, "%s%" PRIu64 ",%" PRIu32 ",%" PRIu32, i ? "," : "", row->producers[i].offset,
				   row->producers[i].wait, row->producers[i].token);
	text_append_string(text, "]");
}

static void append_row(struct writer *writer, const struct row *row)
{
	struct text *text = writer->text;
	const struct iaprof_listed_instruction *listed = row->listed;
	uint32_t flags = listed ? 0 : PAGE_CODE_UNLISTED;
	if (listed && listed->producers_flags & IAPROF_PRODUCERS_INCOMPLETE)
		flags |= PAGE_CODE_INCOMPLETE;
	text_append_format(text, "[%" PRIu64 ",%" PRIu32 ",", row->offset, listed ? listed->size : 0);
	text_append_json(text, listed ? text_of(writer, listed->name) : row->frame ? row->frame->name : "[unknown]");
	text_append_string(text, ",");
	text_append_json(text, listed ? text_of(writer, listed->text) : "");
	text_append_string(text, ",");
	text_append_json(text, listed ? text_of(writer, listed->waits) : "");
	text_append_format(text, ",%" PRId64 ",%" PRIu32 ",%" PRIu32 ",", file_of(writer, row_file(writer, row)),
			   listed       ? listed->line
			   : row->frame ? row->frame->line
					: 0,
			   flags);
	append_producers(text, row);
	text_append_string(text, "]");
}

static void append_key(struct text *text, const char *key)
{
	text_append_format(text, ",\"%s\":", key);
}

/* How the outermost function is called in stacks: a compiler may inline all of a kernel. */
static void append_frames(struct writer *writer, const struct code_stall *stalls, size_t count)
{
	struct name_table names = { 0 };
	for (size_t i = 0; i < count; i++)
		if (stalls[i].function)
			writer->text->failed |= name_table_add(&names, stalls[i].function) == NAME_NONE;
	append_key(writer->text, "frames");
	name_table_append(&names, writer->text);
	name_table_free(&names);
}

static void append_attributes(struct writer *writer, const struct iaprof_record_code_listing *listing)
{
	const struct iaprof_attribute *attributes = iaprof_record_code_listing_attributes(listing);
	append_key(writer->text, "attributes");
	text_append_string(writer->text, "[");
	for (uint32_t i = 0; i < listing->attribute_count; i++) {
		text_append_string(writer->text, i ? ",[" : "[");
		text_append_json(writer->text, text_of(writer, attributes[i].name));
		text_append_format(writer->text, ",%" PRId64 "]", attributes[i].value);
	}
	text_append_string(writer->text, "]");
}

static void append_stalls(struct writer *writer, const struct code_stall *stalls, size_t count)
{
	append_key(writer->text, "stalls");
	text_append_string(writer->text, "[");
	for (size_t i = 0; i < count; i++) {
		uint32_t reason = name_table_add(&writer->reasons, stalls[i].reason);
		size_t row = row_find(&writer->rows, stalls[i].offset);
		writer->text->failed |= reason == NAME_NONE;
		text_append_format(writer->text, "%s[%zu,%" PRIu32 ",%" PRIu32 ",%" PRIu64 "]", i ? "," : "", row,
				   reason, stalls[i].value_type, stalls[i].value);
		if (row < writer->rows.count)
			name_table_weigh(&writer->files, row_file(writer, &writer->rows.items[row]), stalls[i].value);
	}
	text_append_string(writer->text, "]");
}

static void append_function(struct writer *writer, const struct code_listing *listings, size_t listing_count,
			    const struct code_stall *stalls, size_t stall_count)
{
	const struct iaprof_record_code_listing *first = listings[0].record;
	struct text *text = writer->text;
	rows_make(writer, listings, listing_count, stalls, stall_count);
	text_append_string(text, "{\"name\":");
	text_append_json(text, text_of(writer, first->shown_name ? first->shown_name : first->name));
	append_key(text, "symbol");
	text_append_json(text, text_of(writer, first->name));
	text_append_format(text, ",\"kernel\":%s,\"size\":%" PRIu64 ",\"leftOut\":%" PRIu64,
			   first->flags & IAPROF_CODE_FUNCTION_KERNEL ? "true" : "false", first->size, first->left_out);
	append_frames(writer, stalls, stall_count);
	append_attributes(writer, first);
	append_key(text, "instructions");
	text_append_string(text, "[");
	for (size_t i = 0; i < writer->rows.count && !text->failed; i++) {
		text_append_string(text, i ? "," : "");
		append_row(writer, &writer->rows.items[i]);
	}
	text_append_string(text, "]");
	append_stalls(writer, stalls, stall_count);
	text_append_string(text, "}");
}

/* Stalls of one listing after the other; those without one are given back, added up by value type. */
static void append_functions(struct writer *writer, const struct code_stalls *stalls, uint64_t *elsewhere)
{
	const struct code_listings *listings = &writer->code->listings;
	bool is_first = true;
	append_key(writer->text, "functions");
	text_append_string(writer->text, "[");
	for (size_t i = 0, end; i < stalls->count; i = end) {
		size_t record_count, first = code_listings_find(listings, stalls->items[i].listing, &record_count);
		for (end = i; end < stalls->count && stalls->items[end].listing == stalls->items[i].listing; end++)
			if (!record_count)
				elsewhere[stalls->items[end].value_type] += stalls->items[end].value;
		if (!record_count)
			continue;
		text_append_string(writer->text, is_first ? "" : ",");
		append_function(writer, listings->items + first, record_count, stalls->items + i, end - i);
		is_first = false;
	}
	text_append_string(writer->text, "]");
}

static void append_all(struct writer *writer, const struct code_stalls *stalls, uint64_t *elsewhere,
		       size_t value_type_count)
{
	struct text *text = writer->text;
	bool is_first = true;
	text_append_format(text, "{\"leftOut\":%" PRIu64, writer->code->listings.left_out);
	append_functions(writer, stalls, elsewhere);
	append_key(text, "elsewhere");
	text_append_string(text, "[");
	for (size_t i = 0; i < value_type_count; i++)
		if (elsewhere[i]) {
			text_append_format(text, "%s[%zu,%" PRIu64 "]", is_first ? "" : ",", i, elsewhere[i]);
			is_first = false;
		}
	text_append_string(text, "]");
	append_key(text, "reasons");
	name_table_append(&writer->reasons, text);
	append_key(text, "files");
	page_source_append(text, &writer->files, &writer->code->sources, writer->code->definitions);
	text_append_string(text, "}");
}

void page_code_append(struct text *text, struct page_code *code, const struct iaprof_profile *profile)
{
	struct writer writer = { .text = text, .code = code };
	struct code_stalls stalls = { 0 };
	uint64_t *elsewhere = calloc(profile->value_type_count + 1, sizeof *elsewhere);
	code_listings_sort(&code->listings);
	text->failed |= !elsewhere || code_stalls_make(&stalls, profile);
	if (text->failed || !code->listings.count || !stalls.count)
		text_append_string(text, "null");
	else
		append_all(&writer, &stalls, elsewhere, profile->value_type_count);
	name_table_free(&writer.reasons);
	name_table_free(&writer.files);
	free(writer.rows.items);
	free(elsewhere);
	code_stalls_free(&stalls);
}
