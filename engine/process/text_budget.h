/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory limit for names and paths that processes choose: they are stored for the whole run, and one process can
 * generate a hundred megabytes of them a second. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"
#include "process/user_accounts.h"

/* Limits in bytes of distinct texts: of one untrusted user, and of all untrusted users. */
#define TEXT_BUDGET_USER ((uint64_t)8 << 20)
#define TEXT_BUDGET_OTHERS ((uint64_t)32 << 20)

/* Size of the cache of processes' users; a power of two. */
#define TEXT_BUDGET_RECENT 256

/* Initialise with {0} and text_budget_init(). */
struct text_budget {
	struct user_accounts users; /* amount: bytes */
	uint64_t refused;           /* texts refused since the last text_budget_refused() */
	ARRAY(uint64_t) known;      /* hashes of texts that were allowed */
	struct hash_index index;
	struct {
		uint32_t pid, user; /* pid 0: none */
	} recent[TEXT_BUDGET_RECENT];
};

void text_budget_init(struct text_budget *budget);
void text_budget_free(struct text_budget *budget);

/* Returns whether a text that a process chose may be stored: it is known, or within its user's limit. */
bool text_budget_allows(struct text_budget *budget, uint32_t pid, const char *text, size_t length);
/* Returns the user of a process; UINT32_MAX: it has ended. */
uint32_t text_budget_user(struct text_budget *budget, uint32_t pid);
/* Forgets the texts so far, for runs without end, in which they are released after a while. */
void text_budget_begin_period(struct text_budget *budget);
/* Clears the cache of users: processes may have changed their users. */
void text_budget_forget_users(struct text_budget *budget);
/* Returns the number of texts refused since the last call. */
uint64_t text_budget_refused(struct text_budget *budget);
