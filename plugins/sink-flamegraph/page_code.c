/* SPDX-License-Identifier: Apache-2.0 */
/* See page_code.h. */
#include "page_code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code_stalls.h"
#include "name_table.h"
#include "base/array.h"

/* An instruction of the listing. */
struct row {
	uint64_t offset;
	const struct iaprof_listed_instruction *listed; /* NULL: known only from samples */
	const struct iaprof_producer *producers;
	const struct iaprof_frame *frame; /* frame in its samples; may be NULL */
};

struct rows {
	struct row *items;
	size_t count, capacity;
};

/* State of the output. */
struct writer {
	struct text *text;
	struct page_code *code;
	struct name_table reasons, files;
	struct rows rows; /* rows of one function */
};

int page_code_take(struct page_code *code, const struct iaprof_record *record)
{
	if (record->type == IAPROF_RECORD_SOURCE_TEXT)
		return source_texts_take(&code->sources.texts, (const void *)record);
	if (record->type == IAPROF_RECORD_LAUNCH)
		return page_launches_take(&code->launches, (const void *)record);
	if (record->type == IAPROF_RECORD_STRING || record->type == IAPROF_RECORD_KERNEL ||
	    record->type == IAPROF_RECORD_CODE_FUNCTION)
		return definitions_take(&code->definitions, record);
	return record->type == IAPROF_RECORD_CODE_LISTING ? code_listings_take(&code->listings, (const void *)record)
							  : 0;
}

void page_code_free(struct page_code *code)
{
	code_listings_free(&code->listings);
	source_files_close(&code->sources.files);
	source_texts_free(&code->sources.texts);
	page_launches_free(&code->launches);
	definitions_free(&code->definitions);
}

static void row_add(struct writer *writer, struct row row)
{
	writer->text->failed |= !array_push(&writer->rows, row);
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
	return array_lower_bound(rows->count, position, rows->items[position].offset < offset);
}

/* Collects all instructions of a function: those of the listing, and those known only from samples. */
static void rows_make(struct writer *writer, const struct code_listing *listings, size_t listing_count,
		      const struct code_stall *stalls, size_t stall_count)
{
	writer->rows.count = 0;
	for (size_t i = 0; i < listing_count; i++) {
		const struct iaprof_record_code_listing *record = listings[i].record;
		const struct iaprof_producer *producers = iaprof_record_code_listing_producers(record);
		for (uint32_t k = 0; k < record->instruction_count; k++) {
			const struct iaprof_listed_instruction *listed =
				iaprof_record_code_listing_instruction(record, k);
			row_add(writer, (struct row){ listed->offset, listed, producers, NULL });
			producers += listed->producer_count;
		}
	}
	for (size_t i = 0; i < stall_count; i++)
		if (!i || stalls[i].offset != stalls[i - 1].offset)
			row_add(writer, (struct row){ stalls[i].offset, NULL, NULL, stalls[i].instruction });
	rows_sort(&writer->rows);
}

static const char *text_of(const struct writer *writer, uint32_t id)
{
	return definitions_text(&writer->code->definitions, id);
}

/* Returns the position of a file, which is added to the page, or -1. */
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

/* Returns the name of the outermost function in stacks, because a compiler may inline an entire kernel. */
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

/* Appends the stalls listing by listing; returns the sums of those without a listing, by value type. */
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

/* Returns the value type of a difference that the earlier run's is; UINT32_MAX: none. */
static uint32_t type_in_difference(const struct iaprof_profile *difference, uint32_t value_type)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(difference->before_profile, value_type);
	for (uint32_t i = 0; i < difference->value_type_count; i++) {
		const struct iaprof_value_type *known = iaprof_profile_value_type(difference, i);
		if (!strcmp(known->name, type->name) && !strcmp(known->unit, type->unit))
			return i;
	}
	return UINT32_MAX;
}

/* Appends the stalls of the earlier run, whose instructions are known from samples only. */
static void append_before(struct writer *writer, const struct iaprof_profile *difference)
{
	struct text *text = writer->text;
	struct code_stalls stalls = { 0 };
	const char *between = "";
	text->failed |= code_stalls_make(&stalls, difference->before_profile) != 0;
	append_key(text, "before");
	text_append_string(text, "[");
	for (size_t i = 0; i < stalls.count && !text->failed; i++) {
		const struct code_stall *stall = &stalls.items[i];
		const struct iaprof_frame *frame = stall->instruction;
		uint32_t reason = name_table_add(&writer->reasons, stall->reason);
		uint32_t type = type_in_difference(difference, stall->value_type);
		if (!stall->function || reason == NAME_NONE || type == UINT32_MAX)
			continue;
		text_append_string(text, between);
		text_append_string(text, "[");
		text_append_json(text, stall->function);
		text_append_format(text, ",%" PRIu64 ",", stall->offset);
		text_append_json(text, frame ? frame->name : "[unknown]");
		text_append_format(text, ",%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 "]",
				   frame ? file_of(writer, frame->file) : -1, frame ? frame->line : 0, reason, type,
				   stall->value);
		between = ",";
	}
	text_append_string(text, "]");
	code_stalls_free(&stalls);
}

/* Returns whether a CPU function has a source line, of which the page may have the text. */
static bool has_cpu_line(const struct iaprof_frame *frame)
{
	return (frame->kind == IAPROF_FRAME_USER || frame->kind == IAPROF_FRAME_JIT ||
		frame->kind == IAPROF_FRAME_PYTHON) &&
	       frame->line && frame->file && *frame->file;
}

static bool has_cpu_lines(const struct iaprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->frame_count; i++)
		if (has_cpu_line(iaprof_profile_frame(profile, i)))
			return true;
	return false;
}

/* Adds the files of CPU functions, whose weight is the sum of all values of stacks in them. */
static void add_cpu_files(struct writer *writer, const struct iaprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->frame_count && !writer->text->failed; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, i);
		if (has_cpu_line(frame))
			file_of(writer, frame->file);
	}
	for (size_t i = 0; i < profile->value_count && writer->files.weights.count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		for (uint32_t k = 0; k < stack->frame_count; k++) {
			const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[k]);
			if (has_cpu_line(frame))
				name_table_weigh(&writer->files, frame->file, value->value);
		}
	}
}

/* difference: NULL: the profile is none */
static void append_all(struct writer *writer, const struct code_stalls *stalls, uint64_t *elsewhere,
		       const struct iaprof_profile *profile, const struct iaprof_profile *difference)
{
	struct text *text = writer->text;
	bool is_first = true;
	text_append_format(text, "{\"leftOut\":%" PRIu64, writer->code->listings.left_out);
	append_functions(writer, stalls, elsewhere);
	append_key(text, "elsewhere");
	text_append_string(text, "[");
	for (size_t i = 0; i < profile->value_type_count; i++)
		if (elsewhere[i]) {
			text_append_format(text, "%s[%zu,%" PRIu64 "]", is_first ? "" : ",", i, elsewhere[i]);
			is_first = false;
		}
	text_append_string(text, "]");
	if (difference)
		append_before(writer, difference);
	append_key(text, "reasons");
	name_table_append(&writer->reasons, text);
	append_key(text, "files");
	size_t device_count = writer->files.weights.count;
	add_cpu_files(writer, profile);
	page_source_append(text, &writer->files, device_count, &writer->code->sources, &writer->code->definitions);
	text_append_string(text, "}");
}

void page_code_append(struct text *text, struct page_code *code, const struct iaprof_profile *shown)
{
	bool has_runs = shown->before_profile;
	/* A difference has no offsets. */
	const struct iaprof_profile *profile = has_runs ? shown->after_profile : shown;
	struct writer writer = { .text = text, .code = code };
	struct code_stalls stalls = { 0 };
	uint64_t *elsewhere = calloc(profile->value_type_count + 1, sizeof *elsewhere);
	code_listings_sort(&code->listings);
	text->failed |= !elsewhere || code_stalls_make(&stalls, profile);
	if (!code->listings.count)
		stalls.count = 0;
	if (text->failed || (!stalls.count && !has_cpu_lines(profile)))
		text_append_string(text, "null");
	else
		append_all(&writer, &stalls, elsewhere, profile, has_runs ? shown : NULL);
	name_table_free(&writer.reasons);
	name_table_free(&writer.files);
	free(writer.rows.items);
	free(elsewhere);
	code_stalls_free(&stalls);
}
