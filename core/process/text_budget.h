/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the names and paths that processes choose may take: they are kept for the whole run, and one process can make
 * up a hundred megabytes of them a second. Belongs to one thread.
 */
#ifndef IAPROF_CORE_PROCESS_TEXT_BUDGET_H
#define IAPROF_CORE_PROCESS_TEXT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/user_accounts.h"

/* Bytes of different texts: of one user who is not trusted, and of all of them. */
#define TEXT_BUDGET_USER ((uint64_t)8 << 20)
#define TEXT_BUDGET_OTHERS ((uint64_t)32 << 20)

/* Users of processes that were looked up lately; a power of two. */
#define TEXT_BUDGET_RECENT 256

/* Initialise with {0} and text_budget_init(). */
struct text_budget {
	struct user_accounts users; /* amount: bytes */
	uint64_t others;            /* bytes, of all users who are not trusted */
	uint64_t refused;           /* texts, since somebody asked */
	ARRAY(uint64_t) known;      /* hashes of texts that were allowed */
	struct hash_index index;
	struct {
		uint32_t pid, user; /* pid 0: none */
	} recent[TEXT_BUDGET_RECENT];
};

void text_budget_init(struct text_budget *budget);
void text_budget_free(struct text_budget *budget);

/* Whether a text that a process chose may be kept: it is known, or its user has room for it. */
bool text_budget_allows(struct text_budget *budget, uint32_t pid, const char *text, size_t length);
/* Processes may have another user from here on. */
void text_budget_forget_users(struct text_budget *budget);
/* How many texts were refused since the last call. */
uint64_t text_budget_refused(struct text_budget *budget);

#endif
