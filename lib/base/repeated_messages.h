/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that differ only in numbers and paths, such as "cannot trace calls of process 12: ...": the first is shown,
 * the others are counted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Limit on causes that are counted; messages of further ones are all shown. */
#define REPEATED_MESSAGES_MAX 64u

struct repeated_message {
	char *cause;   /* the text without numbers and paths */
	char *text;    /* of the first message */
	uint64_t more; /* messages after the first */
};

/* Initialise with {0}. Not locked. */
struct repeated_messages {
	struct repeated_message items[REPEATED_MESSAGES_MAX];
	uint32_t count;
};

/* Returns whether a message with the same cause was added before; it is counted. Only "cannot ..." is compared. */
bool repeated_messages_add(struct repeated_messages *messages, const char *text);
/* Forgets all messages. */
void repeated_messages_clear(struct repeated_messages *messages);
