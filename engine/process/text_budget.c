/* SPDX-License-Identifier: Apache-2.0 */
/* See text_budget.h. */
#include "process/text_budget.h"

#include <string.h>

#include "process/process_stat.h"

/* Memory for a text in addition to its bytes: table entries. */
#define TEXT_OVERHEAD 64

/* Represents the users of processes that have ended. */
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

static bool is_known(const struct text_budget *budget, uint64_t hash)
{
	hash_index_each (probe, &budget->index, hash)
		if (budget->known.items[probe.position] == hash)
			return true;
	return false;
}

uint32_t text_budget_user(struct text_budget *budget, uint32_t pid)
{
	size_t place = pid % TEXT_BUDGET_RECENT;
	if (budget->recent[place].pid != pid) {
		uint32_t user;
		budget->recent[place].user = process_user(pid, &user) ? user : USER_UNKNOWN;
		budget->recent[place].pid = pid;
	}
	return budget->recent[place].user;
}

static bool charge_user(struct text_budget *budget, uint32_t user, uint64_t bytes)
{
	return user_accounts_trust(&budget->users, user) ||
	       user_accounts_take(&budget->users, user, bytes, TEXT_BUDGET_USER, TEXT_BUDGET_OTHERS);
}

bool text_budget_allows(struct text_budget *budget, uint32_t pid, const char *text, size_t length)
{
	uint64_t hash = hash_bytes(text, length);
	if (is_known(budget, hash))
		return true;
	if (!charge_user(budget, text_budget_user(budget, pid), length + TEXT_OVERHEAD)) {
		budget->refused++;
		return false;
	}
	/* Out of memory: its user is charged again the next time. */
	if (budget->known.count < POSITION_NONE)
		(void)hash_index_push(&budget->index, hash, &budget->known, hash);
	return true;
}

void text_budget_begin_period(struct text_budget *budget)
{
	uint64_t refused = budget->refused;
	text_budget_free(budget);
	*budget = (struct text_budget){ .refused = refused };
	text_budget_init(budget);
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
