/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one image: collected from wherever there are symbols, one kept for each address, and from then on a
 * sorted array with the names packed behind it.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_SYMBOL_TABLE_H
#define IAPROF_CORE_SYMBOLIZER_SYMBOL_TABLE_H

#include "symbolizer/range_table.h"

/* How much a symbol says, the best first: of two at one address the better one is kept. */
enum symbol_rank { SYMBOL_GLOBAL, SYMBOL_LOCAL, SYMBOL_WEAK, SYMBOL_LABEL };

struct symbol_candidate {
	const char *name; /* somebody's, until symbol_builder_finish() */
	uint64_t limit;   /* where a symbol without a size ends at the latest */
	enum symbol_rank rank;
	uint32_t length; /* of the name */
};

/* Initialise with {0}. */
struct symbol_builder {
	struct range_table ranges; /* value: position of the candidate */
	ARRAY(struct symbol_candidate) candidates;
};

/* Initialise with {0}. */
struct symbol_table {
	struct range_table ranges; /* value: where in names */
	char *names;
	size_t names_size; /* bytes, the NUL of each name included */
};

/*
 * Adds a function. size 0: not known, it reaches to the next symbol but not past limit. False when out of memory.
 */
bool symbol_builder_add(struct symbol_builder *builder, const char *name, uint64_t address, uint64_t size,
			uint64_t limit, enum symbol_rank rank);
/* Makes the table; the builder is empty afterwards, also when out of memory (false). */
bool symbol_builder_finish(struct symbol_builder *builder, struct symbol_table *table);
void symbol_builder_free(struct symbol_builder *builder);

/* The function at address and where it starts, or NULL. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *start);
void symbol_table_free(struct symbol_table *table);

#endif
