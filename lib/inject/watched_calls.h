/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of which libraries are observed, as struct iaprof_injection states it in a text (iaprof/host.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "elf/elf_reader.h"

#define WATCHED_LIBRARIES_MAX 4
#define WATCHED_FUNCTIONS_MAX 16

/* Functions of a library: either those that it exports by these names, or those at these indexes of a table. */
struct watched_calls {
	const char *library; /* prefix of its file's name */
	size_t count;
	const char *names[WATCHED_FUNCTIONS_MAX];
	const char *anchor; /* an exported function that is in the table; NULL: names */
	uint32_t anchor_index;
	uint32_t indexes[WATCHED_FUNCTIONS_MAX];
};

/*
 * Splits a text, which is changed and kept. Returns the number of libraries, or 0 if it is malformed or has more than
 * the limits.
 */
size_t watched_calls_parse(char *text, struct watched_calls libraries[WATCHED_LIBRARIES_MAX]);

/*
 * Finds the file offsets of the functions that a file has, which is untrusted. Returns their number, 0 if it has none
 * of them.
 */
size_t watched_calls_find(const struct watched_calls *calls, const struct elf_reader *file,
			  uint64_t offsets[WATCHED_FUNCTIONS_MAX]);
