/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and validates data from a child of the worker, which is untrusted. */
#pragma once

#include <stdbool.h>
#include "base/deadline.h"
#include "base/string_table.h"
#include "symbolizer/debug_unit.h"
#include "symbolizer/range_table.h"
#include "symbolizer/worker/worker_message.h"

/* Channel and deadline. */
struct remote_reader {
	int socket;
	struct deadline deadline;
};

/* One table of a message: the pointer that receives it, and the number of items that the message announced. */
struct remote_part {
	void *pointer;
	uint64_t size;
};
#define REMOTE_PART(pointer, count) ((struct remote_part){ &(pointer), (uint64_t)(count) * sizeof *(pointer) })

/*
 * Allocates and reads the parts, which the caller frees even after a failure. Returns 0, -ENOMEM, or as channel_read().
 */
int remote_read_parts(const struct remote_reader *reader, const struct remote_part *parts, size_t count);

/* Reads and discards size bytes. Returns the same as channel_read(). */
int remote_read_over(const struct remote_reader *reader, uint64_t size);

/* Validates the count ranges that were read into a table, and links it. Returns 0 or -EBADMSG. */
int remote_check_ranges(struct range_table *table, uint32_t count, uint32_t value_limit);

/* Texts of a CODE or PLACES message by their numbers, from 1. Initialise with {0}. */
struct remote_texts {
	const char **items; /* in the string table */
	uint32_t count;
};

/* Interns count texts, which were sent as size bytes. Returns 0, -EBADMSG or -ENOMEM. */
int remote_texts_keep(struct remote_texts *texts, struct string_table *strings, const char *joined, uint32_t size,
		      uint32_t count);
void remote_texts_free(struct remote_texts *texts);

/* Returns whether a number is 0 (no text) or that of a text. */
static inline bool remote_texts_have(const struct remote_texts *texts, uint32_t number)
{
	return number <= texts->count;
}

/* Returns NULL for 0 and for numbers without a text. */
static inline const char *remote_texts_get(const struct remote_texts *texts, uint32_t number)
{
	return number && number <= texts->count ? texts->items[number - 1] : NULL;
}

/* Reads a unit of size bytes. Returns 0, -EBADMSG if it is inconsistent, -ENOMEM, or as channel_read(). */
int remote_read_unit(const struct remote_reader *reader, const struct worker_unit_lines *head, struct debug_unit *unit);
