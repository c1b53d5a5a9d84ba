/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a profile for formats such as those of pprof and OTLP: texts, functions, mappings, locations and samples,
 * each stored once. Ids begin at 1. 0 means none, or out of memory: then failed is set, and later items are omitted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "base/string_table.h"
#include "text/text.h"

/* A function and the functions inlined into it at one address. */
#define PROFILE_TABLES_LINES_MAX 64u
/* Large enough for any stack: IAPROF_STACK_DEPTH_MAX, plus the frames around it. */
#define PROFILE_TABLES_LOCATIONS_MAX 1200u

/* Functions, locations and samples are stored as bytes: they have no padding, and end with the last line or id. */
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
	uint64_t address;
	uint32_t mapping;
	uint32_t kind;  /* enum iaprof_frame_kind of its frames */
	uint32_t count; /* number of lines */
	uint32_t pad;
	struct table_line lines[PROFILE_TABLES_LINES_MAX]; /* the innermost first */
};

struct table_sample {
	uint32_t program; /* text: its name; 0 if there is none */
	uint32_t reason;  /* text; 0 if none */
	uint32_t pid;     /* 0 if unknown */
	uint32_t tid;     /* likewise */
	uint32_t thread;  /* text: name of the thread; 0 if unknown */
	uint32_t device;  /* text; 0 if none */
	uint32_t class;   /* text: of the kernel; 0 if none */
	uint32_t span;    /* id; 0 if none */
	uint32_t count;
	uint32_t locations[PROFILE_TABLES_LOCATIONS_MAX]; /* leaf first */
};

/* Initialise with {0}. */
struct profile_tables {
	struct string_table texts, functions, locations, samples;
	struct string_table spans;            /* struct iaprof_span */
	struct string_table mapped_files;     /* text ids of mappings */
	ARRAY(struct table_mapping) mappings; /* by id - 1 */
	struct text name;                     /* the most recent one, sanitized */
	bool failed;
};

void profile_tables_free(struct profile_tables *tables);

/* Interns an untrusted name as valid UTF-8 without control characters; NULL and the empty string are 0. */
uint32_t profile_tables_text(struct profile_tables *tables, const char *name);
uint32_t profile_tables_function(struct profile_tables *tables, const struct iaprof_frame *frame, const char *file);
/* Returns 0 if there is no file. */
uint32_t profile_tables_mapping(struct profile_tables *tables, const char *file);
uint32_t profile_tables_location(struct profile_tables *tables, const struct table_location *location);
/* NULL: 0 */
uint32_t profile_tables_span(struct profile_tables *tables, const struct iaprof_span *span);
uint32_t profile_tables_sample(struct profile_tables *tables, const struct table_sample *sample);
