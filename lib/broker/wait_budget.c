/* SPDX-License-Identifier: Apache-2.0 */
/* See wait_budget.h. */
#include "broker/wait_budget.h"

#include "base/clock.h"

/* Not charged, ns: fifty times what 1,000 mappings take. */
#define USUAL (NANOSECONDS_PER_SECOND / 20)
/* What may be waited for in any run, ns, and which part of its time in addition: an attack delays a long run more. */
#define USER_MAX NANOSECONDS_PER_SECOND
#define USER_PART 100
#define ALL_MAX (2 * NANOSECONDS_PER_SECOND)
#define ALL_PART 20
/* Further users but root share the last account. */
#define USERS_MAX 1024
/* A process that takes so long is taken for one that does not answer, ns: a little less than BROKER_READ_TIMEOUT. */
#define SILENT_AFTER (NANOSECONDS_PER_SECOND / 5)
/* How long a process that did not answer is not asked again, ns: its pid may be that of another one by then. */
#define SILENT_FOR (10 * NANOSECONDS_PER_SECOND)

static struct waited_user *find(struct wait_budget *budget, uint32_t user)
{
	for (size_t i = 0; i < budget->users.count; i++)
		if (budget->users.items[i].user == user)
			return &budget->users.items[i];
	return budget->users.count < USERS_MAX || user == 0 ? NULL : &budget->users.items[USERS_MAX - 1];
}

static bool is_silent(const struct wait_budget *budget, uint32_t pid, uint64_t now)
{
	for (size_t i = 0; i < SILENT_PROCESSES_MAX; i++)
		if (budget->silent[i].pid == pid && now - budget->silent[i].since < SILENT_FOR)
			return true;
	return false;
}

bool wait_budget_allows(struct wait_budget *budget, uint32_t user, uint32_t pid)
{
	uint64_t now = clock_monotonic();
	if (!budget->begin)
		budget->begin = now;
	if (budget->waited && is_silent(budget, pid, now))
		return false;
	const struct waited_user *known = find(budget, user);
	uint64_t most =
		user == 0 ? ALL_MAX + (now - budget->begin) / ALL_PART : USER_MAX + (now - budget->begin) / USER_PART;
	if (known && known->waited > most)
		return false;
	return user == 0 || budget->waited <= ALL_MAX + (now - budget->begin) / ALL_PART;
}

void wait_budget_charge(struct wait_budget *budget, uint32_t user, uint32_t pid, uint64_t waited)
{
	if (waited <= USUAL)
		return;
	if (waited >= SILENT_AFTER)
		budget->silent[budget->next++ % SILENT_PROCESSES_MAX] =
			(struct silent_process){ .pid = pid, .since = clock_monotonic() };
	struct waited_user *known = find(budget, user);
	if (!known && array_push(&budget->users, ((struct waited_user){ .user = user })))
		known = &budget->users.items[budget->users.count - 1];
	if (known)
		known->waited += waited - USUAL;
	budget->waited += waited - USUAL;
}

void wait_budget_free(struct wait_budget *budget)
{
	array_free(&budget->users);
}
