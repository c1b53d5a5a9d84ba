/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings of a program image over time, stored as ranges: address ranges that belong to one mapping for some time. The
 * current ranges are a sorted array; replaced ones move to a history. A forked child starts empty; addresses that it
 * has not mapped itself are looked up in its parent's address space, as of the fork.
 */
#pragma once

#include "process/memory_ranges.h"

/*
 * Limit on current ranges, and of historical ones, per image: half of the default vm.max_map_count, which covers all
 * mappings.
 */
#define ADDRESS_SPACE_PIECES_MAX 32768u

struct address_space {
	struct memory_range_array current; /* disjoint, sorted by start */
	struct memory_range_array history; /* sorted by until */
	struct address_space *parent;      /* address space it was forked from, NULL if none */
	uint64_t fork_time;
	struct address_space *first_child, *previous_sibling, *next_sibling;
	bool owned; /* owned by an image; otherwise only needed by forks */
};

/* Returns a new, empty, owned address space; NULL if out of memory. */
struct address_space *address_space_new(void);

/*
 * Removes the owner. The space is freed once no fork needs it; if one fork is left, the fork takes over its mappings.
 */
void address_space_disown(struct address_space *space);

/* Makes space a fork of parent at this time; does nothing if that would create a cycle. */
void address_space_fork(struct address_space *space, struct address_space *parent, uint64_t time);

/*
 * Adds a mapping reported at this time, which replaces overlapping mappings from then on. With IAPROF_MAPPING_EXISTING
 * set it also applies to earlier times for which no mapping is known. Redundant mappings are ignored. The mapping is
 * charged to account (NULL if none) as long as a range of it exists. Returns 1 if it was added, 0 if it was ignored,
 * -ENOMEM. Adds the number of ranges removed because of ADDRESS_SPACE_PIECES_MAX to *dropped.
 */
int address_space_add(struct address_space *space, const struct mapping *mapping, uint64_t time,
		      struct user_account *account, uint64_t *dropped);

/* Returns the mapping that contained address at time, or NULL. */
const struct mapping *address_space_find(const struct address_space *space, uint64_t address, uint64_t time);

/* As process_mappings(). */
struct mapped_range *address_space_list(const struct address_space *space, uint64_t time, size_t count_max,
					size_t *count);

/* Moves mappings and forks reported at time or later to later (new and empty). Returns 0 or -ENOMEM. */
int address_space_split(struct address_space *space, uint64_t time, struct address_space *later);

/* Removes history that ended before this time, except what forks need. */
void address_space_prune(struct address_space *space, uint64_t before);
