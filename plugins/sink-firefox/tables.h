/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that all threads of the profile share: stacks, frames, functions, files and texts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/string_table.h"
#include "stacks/different_frames.h"
#include "text/text.h"

/* An index in the file is the id of the item minus 1. Items have no padding: they are compared as bytes. */
struct tables {
	const struct iaprof_profile *profile;
	struct different_frames frames;
	struct string_table texts;
	struct string_table modules;   /* struct table_module: resources and libraries */
	struct string_table sources;   /* text ids of source files */
	struct string_table functions; /* struct table_function */
	struct string_table stacks;    /* struct table_stack */
	struct string_table classes;   /* of GPU kernels */
	uint32_t *functions_of;        /* ids, by frame of frames */
	uint32_t *classes_of;          /* the same; 0: none */
	uint32_t *stacks_of;           /* ids, by stack of the profile; 0: not looked up */
	bool failed;
};

struct table_module {
	uint32_t path, name; /* text ids */
};

struct table_function {
	uint32_t name, module, source; /* ids; 0: none */
};

struct table_stack {
	uint32_t caller; /* id; 0: none */
	uint32_t frame;  /* position in frames */
};

/* Returns false when out of memory. Call tables_free() in either case. */
bool tables_make(struct tables *tables, const struct iaprof_profile *profile, const struct stack_text_options *options);
void tables_free(struct tables *tables);

/* Returns the id of a stack of the profile; 0 if it has no visible frames. */
uint32_t tables_stack(struct tables *tables, uint32_t stack);

/* Appends the array of libraries. */
void tables_append_libraries(const struct tables *tables, struct text *text);
/* Appends the shared tables, as one object. */
void tables_append_shared(const struct tables *tables, struct text *text);
