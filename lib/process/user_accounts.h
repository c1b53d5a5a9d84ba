/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources that a run spent on each user. Trusted users are not limited, because they can only harm themselves: root,
 * the user who runs iaprof, and the caller of sudo. Not locked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Further users share the last account. */
#define USER_ACCOUNTS_MAX 1024

struct user_account {
	uint32_t user;
	uint64_t amount;    /* in use, in the unit of the owner of the accounts */
	uint64_t time_lost; /* ns */
	uint64_t refused;
};

/* Initialise with user_accounts_init(). Pointers to accounts stay valid. */
struct user_accounts {
	uint32_t own_users[2];
	struct user_account *items; /* USER_ACCOUNTS_MAX of them; NULL before the first one is added */
	size_t count;
	uint64_t amount; /* sum of what user_accounts_take() added */
};

void user_accounts_init(struct user_accounts *accounts);
void user_accounts_free(struct user_accounts *accounts);

bool user_accounts_trust(const struct user_accounts *accounts, uint32_t user);
/* Finds or adds an account, trusted or not; NULL if out of memory. */
struct user_account *user_accounts_find(struct user_accounts *accounts, uint32_t user);
/*
 * Adds to the amount of a user, trusted or not, and to that of all users. Returns false if a limit would be exceeded,
 * or if out of memory.
 */
bool user_accounts_take(struct user_accounts *accounts, uint32_t user, uint64_t amount, uint64_t user_max,
			uint64_t all_max);
/* Returns how much of a limit on mappings a process may fill: the last quarter is for those with a usual number. */
static inline uint64_t user_accounts_share(uint64_t limit, bool is_usual)
{
	return is_usual ? limit : limit / 4 * 3;
}
/* Returns the sum of what was refused, and sets *user to the user with the most of it. */
uint64_t user_accounts_refused(const struct user_accounts *accounts, uint32_t *user);
/* Reverts user_accounts_take(). */
void user_accounts_give_back(struct user_accounts *accounts, uint32_t user, uint64_t amount);
