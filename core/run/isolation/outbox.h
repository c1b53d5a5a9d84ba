/* SPDX-License-Identifier: Apache-2.0 */
/* Structs for the process of an isolated plugin that wait until it reads: it may be in a callback. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "run/isolation/packing.h"

struct outbox_item {
	uint32_t kind; /* enum message_kind */
	struct packed packed;
};

/* Initialise with {0}. */
struct outbox {
	ARRAY(struct outbox_item) items;
	size_t first;  /* position of the next one */
	size_t size;   /* bytes of those that wait */
	uint64_t lost; /* messages that did not fit */
};

/* Adds a struct. Returns false if it is counted as lost. */
bool outbox_add(struct outbox *outbox, uint32_t kind, const struct packing_layout *layout, const void *original);
/* Sends what the process has room for. Returns whether nothing waits. */
bool outbox_send(struct outbox *outbox, int socket);
void outbox_free(struct outbox *outbox);
