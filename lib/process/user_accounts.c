/* SPDX-License-Identifier: Apache-2.0 */
/* See user_accounts.h. */
#include "process/user_accounts.h"

#include <stdlib.h>
#include <unistd.h>

/* Returns the caller of sudo, or root. Where the program has root's privileges, only sudo sets the variable. */
static uint32_t calling_user(void)
{
	const char *text = geteuid() == 0 && getuid() == 0 ? getenv("SUDO_UID") : NULL;
	char *end;
	unsigned long user = text ? strtoul(text, &end, 10) : 0;
	return text && *text && !*end && user < UINT32_MAX ? (uint32_t)user : 0;
}

void user_accounts_init(struct user_accounts *accounts)
{
	*accounts = (struct user_accounts){ .own_users = { geteuid(), calling_user() } };
}

void user_accounts_free(struct user_accounts *accounts)
{
	free(accounts->items);
	accounts->items = NULL;
	accounts->count = 0;
}

bool user_accounts_trust(const struct user_accounts *accounts, uint32_t user)
{
	return user == 0 || user == accounts->own_users[0] || user == accounts->own_users[1];
}

struct user_account *user_accounts_find(struct user_accounts *accounts, uint32_t user)
{
	for (size_t i = 0; i < accounts->count; i++)
		if (accounts->items[i].user == user || i == USER_ACCOUNTS_MAX - 1)
			return &accounts->items[i];
	if (!accounts->items)
		accounts->items = calloc(USER_ACCOUNTS_MAX, sizeof *accounts->items);
	if (!accounts->items)
		return NULL;
	accounts->items[accounts->count].user = user;
	return &accounts->items[accounts->count++];
}

bool user_accounts_take(struct user_accounts *accounts, uint32_t user, uint64_t amount, uint64_t user_max,
			uint64_t all_max)
{
	struct user_account *account = user_accounts_find(accounts, user);
	if (!account || amount > user_max - account->amount || amount > all_max - accounts->amount)
		return false;
	account->amount += amount;
	accounts->amount += amount;
	return true;
}

void user_accounts_give_back(struct user_accounts *accounts, uint32_t user, uint64_t amount)
{
	struct user_account *account = user_accounts_find(accounts, user);
	if (!account)
		return;
	account->amount -= amount;
	accounts->amount -= amount;
}

uint64_t user_accounts_refused(const struct user_accounts *accounts, uint32_t *user)
{
	uint64_t all = 0, most = 0;
	for (size_t i = 0; i < accounts->count; i++) {
		const struct user_account *account = &accounts->items[i];
		all += account->refused;
		if (account->refused > most) {
			most = account->refused;
			*user = account->user;
		}
	}
	return all;
}
