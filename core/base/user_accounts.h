/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What users have cost a run. Users whose files and processes only harm themselves have no account: root, the user who
 * runs iaprof, and the one who called sudo. Not locked.
 */
#ifndef IAPROF_CORE_BASE_USER_ACCOUNTS_H
#define IAPROF_CORE_BASE_USER_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Users beyond this many share the last one's account. */
#define USER_ACCOUNTS_MAX 1024

struct user_account {
	uint32_t user;
	uint64_t amount;    /* that is in use: bytes or pieces, as its owner counts */
	uint64_t time_lost; /* ns */
	uint64_t refused;
};

/* Initialise with user_accounts_init(). Accounts stay where they are. */
struct user_accounts {
	uint32_t own_users[2];
	struct user_account *items; /* room for USER_ACCOUNTS_MAX; NULL before the first */
	size_t count;
};

void user_accounts_init(struct user_accounts *accounts);
void user_accounts_free(struct user_accounts *accounts);

bool user_accounts_trust(const struct user_accounts *accounts, uint32_t user);
/* Finds or adds an account, trusted or not; NULL when out of memory. */
struct user_account *user_accounts_find(struct user_accounts *accounts, uint32_t user);

#endif
