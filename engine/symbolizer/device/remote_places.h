/* SPDX-License-Identifier: Apache-2.0 */
/* Known addresses in one image of device code, from the PLACES messages of the child that reads it. */
#pragma once

#include "symbolizer/remote_read.h"

/* Texts are in the string table; frames and producers are in the arrays of struct remote_places. */
struct remote_place {
	uint64_t address;
	uint32_t first_frame, frame_count;
	uint32_t size, group;                /* size and group of the instruction */
	bool is_undecodable;                 /* as in struct code_place */
	const char *mnemonic, *waits, *text; /* NULL if none */
	uint32_t first_producer, producer_count, producers_total, producers_flags;
};

/* Initialise with {0} and the string table. */
struct remote_places {
	struct string_table *strings;
	ARRAY(struct remote_place) items;
	ARRAY(struct debug_frame) frames;
	ARRAY(struct iaprof_producer) producers;
	struct hash_index by_address;
};

void remote_places_free(struct remote_places *places);
/* Returns NULL for an address that is not known. Valid until the next remote_places_read(). */
const struct remote_place *remote_places_find(const struct remote_places *places, uint64_t address);
/* Returns whether a message with this head and this many bytes after it is plausible. */
bool remote_places_are_plausible(const struct worker_places *head, uint64_t rest);
/*
 * Reads the rest of a message with such a head: places from address on. Returns 0, -EBADMSG, -ENOMEM or as
 * channel_read().
 */
int remote_places_read(struct remote_places *places, const struct remote_reader *reader,
		       const struct worker_places *head, uint64_t rest, uint64_t address);
