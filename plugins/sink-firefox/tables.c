/* SPDX-License-Identifier: Apache-2.0 */
/* See tables.h. */
#include "tables.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "categories.h"
#include "stacks/profile_facts.h"
#include "text/printable.h"

static uint32_t intern(struct tables *tables, struct string_table *table, const void *bytes, size_t size)
{
	uint32_t id = tables->failed ? 0 : string_table_add(table, bytes, size, NULL);
	tables->failed |= !id;
	return id;
}

static uint32_t intern_text(struct tables *tables, struct text *text)
{
	tables->failed |= text->failed;
	uint32_t id = intern(tables, &tables->texts, text_string(text), text->size);
	text_free(text);
	return id;
}

/* Returns the id of a path as a text; 0 for none. */
static uint32_t intern_path(struct tables *tables, const char *path)
{
	struct text text = { 0 };
	text_append_name(&text, path ? path : "");
	return text.size ? intern_text(tables, &text) : 0;
}

static uint32_t intern_module(struct tables *tables, const char *path)
{
	const struct table_module module = { .path = intern_path(tables, path),
					     .name = intern_path(tables, path_name(path)) };
	return module.path ? intern(tables, &tables->modules, &module, sizeof module) : 0;
}

static uint32_t intern_source(struct tables *tables, const char *path)
{
	uint32_t text = intern_path(tables, path);
	return text ? intern(tables, &tables->sources, &text, sizeof text) : 0;
}

static uint32_t intern_function(struct tables *tables, const struct iaprof_frame *frame)
{
	struct text name = { 0 };
	frame_name_append(&name, frame);
	struct table_function function = { .name = intern_text(tables, &name) };
	function.module = intern_module(tables, frame->module);
	function.source = intern_source(tables, frame->file);
	return intern(tables, &tables->functions, &function, sizeof function);
}

bool tables_make(struct tables *tables, const struct iaprof_profile *profile, const struct stack_text_options *options)
{
	*tables = (struct tables){ .profile = profile };
	tables->failed = !different_frames_make(&tables->frames, profile, options);
	tables->functions_of = calloc(tables->frames.count + 1, sizeof *tables->functions_of);
	tables->classes_of = calloc(tables->frames.count + 1, sizeof *tables->classes_of);
	tables->stacks_of = calloc(profile->stack_count + 1, sizeof *tables->stacks_of);
	tables->failed |= !tables->functions_of || !tables->classes_of || !tables->stacks_of;
	for (size_t i = 0; !tables->failed && i < tables->frames.count; i++) {
		const char *class = different_frames_class(&tables->frames, tables->frames.items[i]);
		tables->functions_of[i] = intern_function(tables, tables->frames.items[i]);
		tables->classes_of[i] = class ? intern(tables, &tables->classes, class, strlen(class)) : 0;
	}
	return !tables->failed;
}

void tables_free(struct tables *tables)
{
	different_frames_free(&tables->frames);
	string_table_free(&tables->texts);
	string_table_free(&tables->modules);
	string_table_free(&tables->sources);
	string_table_free(&tables->functions);
	string_table_free(&tables->stacks);
	string_table_free(&tables->classes);
	free(tables->functions_of);
	free(tables->classes_of);
	free(tables->stacks_of);
}

uint32_t tables_stack(struct tables *tables, uint32_t index)
{
	if (tables->stacks_of[index])
		return tables->stacks_of[index];
	const struct iaprof_stack *stack = iaprof_profile_stack(tables->profile, index);
	struct table_stack node = { 0 };
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		node.frame = tables->frames.numbers[stack->frames[i]];
		if (node.frame != FRAME_IS_HIDDEN)
			node.caller = intern(tables, &tables->stacks, &node, sizeof node);
	}
	return tables->stacks_of[index] = node.caller;
}

static void append_unsigned(struct text *text, size_t i, uint64_t value)
{
	text_append_string(text, i ? "," : "");
	text_append_unsigned(text, value);
}

/* Appends the index of an id, or none. */
static void append_index(struct text *text, size_t i, uint32_t id, const char *none)
{
	text_append_string(text, i ? "," : "");
	if (id)
		text_append_unsigned(text, id - 1);
	else
		text_append_string(text, none);
}

/* Appends a column of count equal values. */
static void append_constant(struct text *text, const char *name, size_t count, const char *value)
{
	text_append_format(text, ",\"%s\":[", name);
	for (size_t i = 0; i < count; i++)
		text_append_format(text, "%s%s", i ? "," : "", value);
	text_append_string(text, "]");
}

/* Appends a column to a table that is open; APPEND appends the value of item i. */
#define APPEND_COLUMN(TEXT, NAME, COUNT, APPEND)                                                                       \
	do {                                                                                                           \
		text_append_string(TEXT, ",\"" NAME "\":[");                                                           \
		for (size_t i = 0; i < (COUNT); i++)                                                                   \
			APPEND;                                                                                        \
		text_append_string(TEXT, "]");                                                                         \
	} while (0)

static const struct table_function *function_at(const struct tables *tables, size_t i)
{
	return (const void *)tables->functions.entries.items[i].text;
}

static const struct table_module *module_at(const struct tables *tables, size_t i)
{
	return (const void *)tables->modules.entries.items[i].text;
}

static uint32_t source_at(const struct tables *tables, size_t i)
{
	uint32_t id;
	memcpy(&id, tables->sources.entries.items[i].text, sizeof id);
	return id;
}

static void append_stacks(const struct tables *tables, struct text *text)
{
	size_t count = tables->stacks.entries.count;
	const struct string_entry *entries = tables->stacks.entries.items;
#define STACK(i) ((const struct table_stack *)(const void *)entries[i].text)
	text_append_format(text, "\"stackTable\":{\"length\":%zu", count);
	APPEND_COLUMN(text, "frame", count, append_unsigned(text, i, STACK(i)->frame));
	APPEND_COLUMN(text, "prefixOffset", count,
		      append_unsigned(text, i, STACK(i)->caller ? i + 1 - STACK(i)->caller : 0));
#undef STACK
	text_append_string(text, "}");
}

static void append_frames(const struct tables *tables, struct text *text)
{
	size_t count = tables->frames.count;
	const struct iaprof_frame *const *frames = tables->frames.items;
#define CATEGORY(i) (category_of(frames[i]) == CATEGORY_OF_CALLER ? 0 : category_of(frames[i]) + 1)
#define LINE(i) different_frames_line(&tables->frames, frames[i])
	text_append_format(text, ",\n\"frameTable\":{\"length\":%zu", count);
	/* Frames of several addresses were merged. */
	append_constant(text, "address", count, "-1");
	APPEND_COLUMN(text, "lib", count,
		      append_index(text, i, function_at(tables, tables->functions_of[i] - 1)->module, "-1"));
	APPEND_COLUMN(text, "inlineDepth", count,
		      append_unsigned(text, i, (frames[i]->flags & IAPROF_FRAME_INLINED) != 0));
	APPEND_COLUMN(text, "category", count, append_index(text, i, CATEGORY(i), "null"));
	/* The first one is "Other". */
	APPEND_COLUMN(text, "subcategory", count,
		      append_index(text, i, CATEGORY(i) ? tables->classes_of[i] + 1 : 0, "null"));
	APPEND_COLUMN(text, "func", count, append_unsigned(text, i, tables->functions_of[i] - 1));
	append_constant(text, "nativeSymbol", count, "null");
	append_constant(text, "innerWindowID", count, "0");
	APPEND_COLUMN(text, "line", count, append_index(text, i, LINE(i) ? LINE(i) + 1 : 0, "null"));
	append_constant(text, "column", count, "null");
	append_constant(text, "originalLocation", count, "null");
#undef CATEGORY
#undef LINE
	text_append_string(text, "}");
}

static void append_functions(const struct tables *tables, struct text *text)
{
	size_t count = tables->functions.entries.count;
	text_append_format(text, ",\n\"funcTable\":{\"length\":%zu", count);
	APPEND_COLUMN(text, "name", count, append_unsigned(text, i, function_at(tables, i)->name - 1));
	append_constant(text, "isJS", count, "false");
	append_constant(text, "relevantForJS", count, "false");
	APPEND_COLUMN(text, "resource", count, append_index(text, i, function_at(tables, i)->module, "-1"));
	APPEND_COLUMN(text, "source", count, append_index(text, i, function_at(tables, i)->source, "null"));
	append_constant(text, "lineNumber", count, "null");
	append_constant(text, "columnNumber", count, "null");
	append_constant(text, "originalLocation", count, "null");
	text_append_string(text, "}");
}

static void append_resources(const struct tables *tables, struct text *text)
{
	size_t count = tables->modules.entries.count;
	text_append_format(text, ",\n\"resourceTable\":{\"length\":%zu", count);
	APPEND_COLUMN(text, "name", count, append_unsigned(text, i, module_at(tables, i)->name - 1));
	append_constant(text, "host", count, "null");
	append_constant(text, "type", count, "1"); /* library */
	text_append_string(text, "}");
}

static void append_sources(const struct tables *tables, struct text *text)
{
	size_t count = tables->sources.entries.count;
	text_append_format(text, ",\n\"sources\":{\"length\":%zu", count);
	append_constant(text, "id", count, "null");
	APPEND_COLUMN(text, "filename", count, append_unsigned(text, i, source_at(tables, i) - 1));
	append_constant(text, "startLine", count, "1");
	append_constant(text, "startColumn", count, "1");
	append_constant(text, "sourceMapURL", count, "null");
	append_constant(text, "content", count, "null");
	text_append_string(text, "}");
}

void tables_append_shared(const struct tables *tables, struct text *text)
{
	text_append_string(text, "{");
	append_stacks(tables, text);
	append_frames(tables, text);
	append_functions(tables, text);
	append_resources(tables, text);
	append_sources(tables, text);
	text_append_string(text, ",\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
				 "\"functionSize\":[]},\n"
				 "\"sourceLocationTable\":{\"length\":0,\"source\":[],\"line\":[],\"column\":[]},\n"
				 "\"stringArray\":[");
	for (uint32_t i = 0; i < tables->texts.entries.count; i++) {
		text_append_string(text, i ? ",\n" : "\n");
		text_append_json(text, string_table_text(&tables->texts, i + 1));
	}
	text_append_string(text, "]}");
}

/*
 * Appends a build id as Breakpad writes it: its first 16 bytes as a GUID, whose first three numbers are little-endian,
 * and an age of 0.
 */
static void append_breakpad_id(struct text *text, const char *build_id)
{
	static const unsigned char order[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t length = strlen(build_id);
	for (size_t i = 0; i < 2 * sizeof order; i++) {
		size_t digit = 2 * order[i / 2] + i % 2u;
		char letter = digit < length ? (char)toupper((unsigned char)build_id[digit]) : '0';
		text_append(text, &letter, 1);
	}
	text_append_string(text, "0");
}

void tables_append_libraries(const struct tables *tables, struct text *text)
{
	text_append_string(text, "[");
	for (size_t i = 0; i < tables->modules.entries.count; i++) {
		const char *path = string_table_text(&tables->texts, module_at(tables, i)->path);
		const char *name = string_table_text(&tables->texts, module_at(tables, i)->name);
		const char *build_id = profile_build_id(tables->profile, path);
		static const char *const keys[] = { "\"name\":", ",\"debugName\":", ",\"path\":", ",\"debugPath\":" };
		text_append_string(text, i ? ",\n{\"arch\":\"\"," : "\n{\"arch\":\"\",");
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
			text_append_string(text, keys[k]);
			text_append_json(text, k < 2 ? name : path);
		}
		text_append_string(text, ",\"breakpadId\":\"");
		if (build_id)
			append_breakpad_id(text, build_id);
		text_append_string(text, "\",\"codeId\":");
		if (build_id)
			text_append_json(text, build_id);
		else
			text_append_string(text, "null");
		text_append_string(text, "}");
	}
	text_append_string(text, "]");
}
