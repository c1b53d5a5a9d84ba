/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one image: collected from all symbol sources, reduced to one per address, and stored as a sorted
 * array followed by the packed names.
 */
#pragma once

#include "symbolizer/range_table.h"

/*
 * Preference among symbols at one address, best first. SYMBOL_NAMELESS is a function known only by its range, with an
 * empty name; it is dropped if it begins in another function.
 */
enum symbol_rank { SYMBOL_GLOBAL, SYMBOL_LOCAL, SYMBOL_WEAK, SYMBOL_LABEL, SYMBOL_NAMELESS };

struct symbol_candidate {
	const char *name; /* borrowed until symbol_builder_finish() */
	uint64_t limit;   /* upper bound of the end of a symbol without size */
	enum symbol_rank rank;
	uint32_t length; /* length of the name */
};

/* Initialise with {0}. */
struct symbol_builder {
	struct range_table ranges; /* value: position of the candidate */
	ARRAY(struct symbol_candidate) candidates;
};

/* Initialise with {0}. */
struct symbol_table {
	struct range_table ranges; /* value: offset in names */
	char *names;
	size_t names_size; /* in bytes, including the NUL of each name */
};

/*
 * Adds a function. size 0: unknown, so it extends to the next symbol, but not past limit. Returns false if out of
 * memory.
 */
bool symbol_builder_add(struct symbol_builder *builder, const char *name, uint64_t address, uint64_t size,
			uint64_t limit, enum symbol_rank rank);
/* Builds the table; the builder is empty afterwards, even if out of memory (false). */
bool symbol_builder_finish(struct symbol_builder *builder, struct symbol_table *table);
void symbol_builder_free(struct symbol_builder *builder);

/* Returns the function at address ("" if nameless) and its start, or NULL. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *start);
void symbol_table_free(struct symbol_table *table);
