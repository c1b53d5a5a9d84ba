/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the source texts of a capture (SOURCE_TEXT records) until the page is written. */
#pragma once

#include <stddef.h>

#include "records/definitions.h"

/* Limits for all texts together; further texts are dropped. */
#define SOURCE_TEXTS_SIZE_MAX ((size_t)16 << 20)
#define SOURCE_TEXTS_COUNT_MAX 65536u

struct source_text {
	uint32_t file; /* string id */
	uint32_t size; /* size of the file */
	uint32_t filled;
	char *bytes;      /* the first filled bytes are set */
	const char *path; /* set by source_texts_sort() */
};

/* Initialise with {0}. */
struct source_texts {
	struct source_text *items;
	size_t count, capacity;
	size_t size; /* bytes of all texts */
};

/* Stores a part of a text. Returns 0 or -ENOMEM. */
int source_texts_take(struct source_texts *texts, const struct iaprof_record_source_text *record);
/*
 * Call after the last record and before the first search. definitions: defines the string ids of the files; borrowed.
 */
void source_texts_sort(struct source_texts *texts, const struct definitions *definitions);
/* Returns a copy of the whole text of a file, which the caller frees: size bytes and a NUL; NULL if it is missing. */
char *source_texts_find(const struct source_texts *texts, const char *path, size_t *size);
void source_texts_free(struct source_texts *texts);
