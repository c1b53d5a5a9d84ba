/* SPDX-License-Identifier: Apache-2.0 */
/* See budget.h. */
#include "symbolizer/budget.h"

#include <errno.h>
#include <string.h>
#include <iaprof/record.h>

#include "base/clock.h"
#include "broker/broker.h"

void budget_init(struct budget *budget)
{
	*budget = (struct budget){ 0 };
	user_accounts_init(&budget->owners);
}

void budget_free(struct budget *budget)
{
	run_delay_release(&budget->delay);
	user_accounts_free(&budget->owners);
	array_free(&budget->refusals);
	string_table_free(&budget->strings);
}

void budget_end_by(struct budget *budget, uint64_t end)
{
	uint64_t now = clock_monotonic();
	budget->end = deadline_make(&budget->delay, end > now ? end - now : 0);
	atomic_store(&budget->is_ending, true);
}

struct deadline budget_end(const struct budget *budget)
{
	return atomic_load(&budget->is_ending) ? budget->end : DEADLINE_NONE;
}

bool budget_trusts(const struct budget *budget, const struct file_identity *file)
{
	return user_accounts_trust(&budget->owners, file->owner) && !(file->mode & 0022);
}

uint64_t budget_data_limit(const struct budget *budget, const struct file_identity *file, enum budget_patience patience)
{
	if (budget_trusts(budget, file))
		return BUDGET_DATA_TRUSTED;
	return patience == BUDGET_QUICK ? BUDGET_DATA_QUICK : BUDGET_DATA_OTHER;
}

struct deadline budget_deadline(struct budget *budget, const struct file_identity *file, enum budget_patience patience)
{
	uint64_t time = BUDGET_TIME_TRUSTED;
	run_delay_follow(&budget->delay);
	if (!budget_trusts(budget, file)) {
		const struct user_account *owner = user_accounts_find(&budget->owners, file->owner);
		bool is_spent = !owner || owner->time_lost >= BUDGET_TIME_LOST_MAX ||
				budget->time_lost_others >= 4 * BUDGET_TIME_LOST_MAX;
		time = is_spent || patience == BUDGET_QUICK ? BUDGET_TIME_QUICK : BUDGET_TIME_OTHER;
	}
	struct deadline deadline = deadline_make(&budget->delay, time), end = budget_end(budget);
	return deadline_earlier(&deadline, &end);
}

bool budget_is_over(const struct budget *budget)
{
	struct deadline end = budget_end(budget);
	return deadline_has_passed(&end);
}

const char *open_reason(struct budget *budget, int code)
{
	return code == -ETIMEDOUT && budget_is_over(budget) ? "the run ended before it was read" : broker_reason(code);
}

bool budget_take(struct budget *budget, const struct file_identity *file, uint64_t bytes)
{
	if (budget_trusts(budget, file)) {
		if (bytes > BUDGET_TABLES_TRUSTED - budget->tables_trusted)
			return false;
		budget->tables_trusted += bytes;
		return true;
	}
	return user_accounts_take(&budget->owners, file->owner, bytes, BUDGET_TABLES_OWNER, BUDGET_TABLES_OTHERS);
}

void budget_give_back(struct budget *budget, const struct file_identity *file, uint64_t bytes)
{
	if (budget_trusts(budget, file))
		budget->tables_trusted -= bytes;
	else
		user_accounts_give_back(&budget->owners, file->owner, bytes);
}

static void note(struct budget *budget, const char *path, const char *reason)
{
	for (size_t i = 0; i < budget->refusals.count; i++) {
		struct refusal *known = &budget->refusals.items[i];
		if (strcmp(known->path, path) == 0 && strcmp(known->reason, reason) == 0) {
			known->count++;
			return;
		}
	}
	if (budget->refusals.count >= BUDGET_REFUSALS_MAX) {
		budget->refused_more++;
		return;
	}
	struct refusal refusal = { .path = string_table_intern(&budget->strings, path,
							       strnlen(path, IAPROF_STRING_LENGTH_MAX)),
				   .reason = string_table_intern(&budget->strings, reason, strlen(reason)),
				   .count = 1 };
	if (!refusal.path || !refusal.reason || !array_push(&budget->refusals, refusal))
		budget->refused_more++;
}

void budget_refuse(struct budget *budget, const struct file_identity *file, const char *path, const char *reason,
		   uint64_t time)
{
	note(budget, path, reason);
	if (file)
		budget_charge(budget, file, time);
}

void budget_charge(struct budget *budget, const struct file_identity *file, uint64_t time)
{
	struct user_account *owner =
		budget_trusts(budget, file) ? NULL : user_accounts_find(&budget->owners, file->owner);
	if (!owner)
		return;
	/* The time lost on files of one owner counts against the others only up to that owner's limit. */
	uint64_t left = owner->time_lost < BUDGET_TIME_LOST_MAX ? BUDGET_TIME_LOST_MAX - owner->time_lost : 0;
	budget->time_lost_others += time < left ? time : left;
	owner->time_lost += time;
}

void budget_charge_excess(struct budget *budget, const struct file_identity *file, const struct deadline *since)
{
	/* The time without run delay, which requires system calls, cannot be longer than this. */
	if (clock_monotonic() - since->begin <= BUDGET_TIME_USUAL)
		return;
	uint64_t spent = deadline_spent(since);
	if (spent > BUDGET_TIME_USUAL)
		budget_charge(budget, file, spent - BUDGET_TIME_USUAL);
}

void budget_begin_period(struct budget *budget)
{
	for (size_t i = 0; i < budget->owners.count; i++)
		budget->owners.items[i].time_lost = 0;
	budget->time_lost_others = 0;
}

bool budget_is_spent(struct budget *budget, const struct file_identity *file)
{
	const struct user_account *owner =
		budget_trusts(budget, file) ? NULL : user_accounts_find(&budget->owners, file->owner);
	return owner && owner->time_lost >= BUDGET_TIME_LOST_MAX;
}
