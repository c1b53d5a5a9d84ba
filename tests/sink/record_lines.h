/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records from lines of text, for a sink: "job source=1 time=500 engine=636f6d70757465", the type's name and its
 * members, with texts in hexadecimal and numbers in decimal. A member that is left out is 0. A STRING record comes
 * before the first record that uses its text.
 */
#pragma once

#include "../plugin/test_host.h"

/* Initialise with {0}. */
struct record_lines {
	unsigned char *records;
	size_t size, capacity;
	uint32_t count;
	ARRAY(char *) texts; /* in hexadecimal; the id is the position + 1 */
	struct hash_index index;
};

/* Fails the test for a line that is none. */
void record_lines_add(struct record_lines *lines, char *line);
/* The same for the bytes of a record, in hexadecimal. */
void record_lines_add_bytes(struct record_lines *lines, const char *digits);
/* Hands them to the sink, some at a time, as the core does; fails the test with the sink's failure. */
void record_lines_send(struct record_lines *lines, struct test_host *host);
void record_lines_free(struct record_lines *lines);
