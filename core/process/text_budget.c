/* SPDX-License-Identifier: Apache-2.0 */
/* What names and paths may take: see text_budget.h. */
#include "process/text_budget.h"

#include <string.h>

#include "process/proc_scan.h"

/* What a text takes beside its bytes: its places in tables. */
#define TEXT_OVERHEAD 64

/* Of processes that have ended, whose user nobody knows any more. */
#define USER_UNKNOWN UINT32_MAX

void text_budget_init(struct text_budget *budget)
{
	user_accounts_init(&budget->users);
}

void text_budget_free(struct text_budget *budget)
{
	user_accounts_free(&budget->users);
	array_free(&budget->known);
	hash_index_free(&budget->index);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	return ((const struct text_budget *)context)->known.items[position];
}

static bool is_known(const struct text_budget *budget, uint64_t hash)
{
	for (struct hash_probe probe = hash_index_probe(&budget->index, hash); hash_index_next(&budget->index, &probe);)
		if (budget->known.items[probe.position] == hash)
			return true;
	return false;
}

/* Without memory it is only asked for again. */
static void note_known(struct text_budget *budget, uint64_t hash)
{
	if (budget->known.count < POSITION_NONE && array_push(&budget->known, hash) &&
	    !hash_index_add(&budget->index, hash, (uint32_t)(budget->known.count - 1), rehash, budget))
		budget->known.count--;
}

static uint32_t user_of(struct text_budget *budget, uint32_t pid)
{
	size_t place = pid % TEXT_BUDGET_RECENT;
	if (budget->recent[place].pid != pid) {
		uint32_t user;
		budget->recent[place].user = proc_user(pid, &user) ? user : USER_UNKNOWN;
		budget->recent[place].pid = pid;
	}
	return budget->recent[place].user;
}

static bool take(struct text_budget *budget, uint32_t user, uint64_t bytes)
{
	if (user_accounts_trust(&budget->users, user))
		return true;
	struct user_account *account = user_accounts_find(&budget->users, user);
	if (!account || bytes > TEXT_BUDGET_USER - account->amount || bytes > TEXT_BUDGET_OTHERS - budget->others)
		return false;
	account->amount += bytes;
	budget->others += bytes;
	return true;
}

bool text_budget_allows(struct text_budget *budget, uint32_t pid, const char *text, size_t length)
{
	uint64_t hash = hash_bytes(text, length);
	if (is_known(budget, hash))
		return true;
	if (!take(budget, user_of(budget, pid), length + TEXT_OVERHEAD)) {
		budget->refused++;
		return false;
	}
	note_known(budget, hash);
	return true;
}

void text_budget_forget_users(struct text_budget *budget)
{
	memset(budget->recent, 0, sizeof budget->recent);
}

uint64_t text_budget_refused(struct text_budget *budget)
{
	uint64_t refused = budget->refused;
	budget->refused = 0;
	return refused;
}
