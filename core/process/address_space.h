/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program image has mapped where, over time. Kept as pieces: address ranges that belong to one mapping for a
 * while. The current pieces are a sorted array; what was replaced goes to a history. A forked child starts empty and
 * looks in its parent's address space, as of the fork, for what it does not have itself.
 */
#ifndef IAPROF_CORE_PROCESS_ADDRESS_SPACE_H
#define IAPROF_CORE_PROCESS_ADDRESS_SPACE_H

#include "process/pieces.h"

/* The most current pieces, and as many historical ones, of one image: half of what vm.max_map_count usually allows for
 * all kinds. */
#define ADDRESS_SPACE_PIECES_MAX 32768u

struct address_space {
	struct piece_array current;   /* disjoint, sorted by start */
	struct piece_array history;   /* sorted by until */
	struct address_space *parent; /* the one it was forked from, NULL none */
	uint64_t fork_time;
	struct address_space *first_child, *previous_sibling, *next_sibling;
	bool owned; /* by an image; else only forks need it */
};

/* A new, empty, owned one; NULL when out of memory. */
struct address_space *address_space_new(void);

/* The owner goes. It is freed when no fork needs it; with one fork left, that one takes its mappings over. */
void address_space_disown(struct address_space *space);

/* Makes space a fork of parent at this time; nothing happens when that would close a circle. */
void address_space_fork(struct address_space *space, struct address_space *parent, uint64_t time);

/*
 * Adds a mapping that was reported at this time: it replaces what it overlaps from then on. With
 * IAPROF_MAPPING_EXISTING set it is also what was there before, where nothing else is known. What says nothing new is
 * ignored. It counts for account (NULL none) as long as a piece of it is kept. Returns 1 when it was added, 0 when it
 * was ignored, -ENOMEM. *dropped grows by the pieces that had to be forgotten for ADDRESS_SPACE_PIECES_MAX.
 */
int address_space_add(struct address_space *space, const struct mapping *mapping, uint64_t time,
		      struct user_account *account, uint64_t *dropped);

/* The mapping that held address at time, or NULL. */
const struct mapping *address_space_find(const struct address_space *space, uint64_t address, uint64_t time);

/* Moves what was reported at time or later, forks included, to later (new and empty). 0 or -ENOMEM. */
int address_space_split(struct address_space *space, uint64_t time, struct address_space *later);

/* Forgets the history that ended before this time, but for what forks need. */
void address_space_prune(struct address_space *space, uint64_t before);

#endif
