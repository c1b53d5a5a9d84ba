/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for the process of an isolated source that wait until it reads: it may be in a callback. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

struct outbox_item {
	uint32_t kind;  /* enum message_kind */
	int descriptor; /* a file in memory; -1: bytes */
	size_t size;
	char *bytes; /* NULL for a file */
};

/* Initialise with {0}. */
struct outbox {
	ARRAY(struct outbox_item) items;
	size_t first;  /* position of the next one */
	size_t size;   /* bytes of those that wait */
	uint64_t lost; /* messages that did not fit */
};

/* Returns room for a message of size bytes, which the caller fills in; NULL: it is counted as lost. */
char *outbox_add(struct outbox *outbox, uint32_t kind, size_t size);
/* Sends what the process has room for. Returns whether nothing waits. */
bool outbox_send(struct outbox *outbox, int socket);
void outbox_free(struct outbox *outbox);
