/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of source files that a capture has (SOURCE_TEXT records), kept until the page is written. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_SOURCE_TEXTS_H
#define IAPROF_PLUGINS_FLAMEGRAPH_SOURCE_TEXTS_H

#include <stddef.h>

#include "common/definitions.h"

/* Of all texts together; what exceeds it is left out. */
#define SOURCE_TEXTS_SIZE_MAX ((size_t)16 << 20)
#define SOURCE_TEXTS_COUNT_MAX 65536u

struct source_text {
	uint32_t file; /* string id */
	uint32_t size; /* of the file */
	uint32_t filled;
	char *bytes;      /* filled of them */
	const char *path; /* once sorted */
};

/* Initialise with {0}. */
struct source_texts {
	struct source_text *items;
	size_t count, capacity;
	size_t size; /* bytes of all texts */
};

/* Keeps a part of a text. 0 or -ENOMEM. */
int source_texts_take(struct source_texts *texts, const struct iaprof_record_source_text *record);
/* After the last record, before the first search. definitions: of the strings that name the files; they outlive it. */
void source_texts_sort(struct source_texts *texts, const struct definitions *definitions);
/* A copy of the whole text of a file, which the caller frees: size bytes and a NUL. NULL: it is not there. */
char *source_texts_find(const struct source_texts *texts, const char *path, size_t *size);
void source_texts_free(struct source_texts *texts);

#endif
