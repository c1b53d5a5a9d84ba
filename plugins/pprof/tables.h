/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a pprof profile: texts, functions, mappings and locations, each different one once. Ids begin at 1,
 * as pprof wants them; 0 is none, or out of memory (then failed is set, and what comes later is left out).
 */
#ifndef IAPROF_PLUGINS_PPROF_TABLES_H
#define IAPROF_PLUGINS_PPROF_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/item_index.h"
#include "common/text.h"

/* Functions at one place: a function, and what is inlined in it. */
#define TABLES_LINES_MAX 64u

struct table_function {
	uint32_t name, file; /* texts */
};

struct table_mapping {
	uint32_t file; /* text */
	uint64_t limit;
	bool has_files, has_lines, has_inlined;
};

struct table_line {
	uint32_t function;
	uint32_t line;
};

struct table_location {
	uint32_t mapping;
	uint32_t first, count; /* lines, the innermost first */
	uint64_t address;
};

/* Items of one kind. Initialise with {0}. */
struct table {
	void *items;
	size_t count, capacity;
	struct item_index index;
};

/* Initialise with {0}, then tables_init(). */
struct tables {
	struct text bytes;      /* of the texts, each with its NUL */
	struct table texts;     /* size_t: where in bytes; the first is empty */
	struct table functions; /* struct table_function */
	struct table mappings;  /* struct table_mapping */
	struct table locations; /* struct table_location */
	struct table lines;     /* struct table_line */
	bool failed;
};

void tables_init(struct tables *tables);
void tables_free(struct tables *tables);

/* Of a name that anybody may have chosen, made valid UTF-8 without control characters; NULL is the empty one, 0. */
uint32_t tables_text(struct tables *tables, const char *name);
const char *tables_text_at(const struct tables *tables, uint32_t text);
uint32_t tables_function(struct tables *tables, const char *name, const char *file);
/* 0 without a file. */
uint32_t tables_mapping(struct tables *tables, const char *file);
/* lines: 1 to TABLES_LINES_MAX, the innermost first. */
uint32_t tables_location(struct tables *tables, uint32_t mapping, uint64_t address, const struct table_line *lines,
			 uint32_t count);

/* Makes room for one more item; NULL: out of memory. count is the caller's to count up. */
void *table_push(struct table *table, size_t item_size);

#endif
