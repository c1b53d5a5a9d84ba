/* SPDX-License-Identifier: Apache-2.0 */
/* What files may cost: whom a file is of decides, and one owner takes nothing from another. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbolizer/budget.h"
#include "../run_suite.h"

#define STRANGER 61234u

static struct file_identity file_of(uint32_t owner, uint32_t mode)
{
	return (struct file_identity){ .owner = owner, .mode = mode };
}

TEST(who_can_write_a_file_decides)
{
	struct budget budget;
	budget_init(&budget);
	struct file_identity roots = file_of(0, 0755), own = file_of(geteuid(), 0755), others = file_of(STRANGER, 0755);
	struct file_identity group = file_of(0, 0775), all = file_of(0, 0757);
	ck_assert(budget_trusts(&budget, &roots));
	ck_assert(budget_trusts(&budget, &own));
	ck_assert(!budget_trusts(&budget, &others));
	ck_assert(!budget_trusts(&budget, &group));
	ck_assert(!budget_trusts(&budget, &all));
	budget_free(&budget);
}

TEST(who_called_sudo_harms_only_himself)
{
	if (geteuid() || getuid())
		return;
	struct budget budget;
	struct file_identity callers = file_of(STRANGER, 0755);
	ck_assert_int_eq(setenv("SUDO_UID", "61234", 1), 0);
	budget_init(&budget);
	ck_assert(budget_trusts(&budget, &callers));
	budget_free(&budget);
	ck_assert_int_eq(setenv("SUDO_UID", "61234x", 1), 0);
	budget_init(&budget);
	ck_assert(!budget_trusts(&budget, &callers));
	budget_free(&budget);
	ck_assert_int_eq(unsetenv("SUDO_UID"), 0);
}

TEST(tables_of_one_owner_are_bounded)
{
	struct budget budget;
	budget_init(&budget);
	struct file_identity first = file_of(STRANGER, 0755), second = file_of(STRANGER + 1, 0755);
	struct file_identity third = file_of(STRANGER + 2, 0755), roots = file_of(0, 0755);
	ck_assert(budget_take(&budget, &first, BUDGET_TABLES_OWNER));
	ck_assert(!budget_take(&budget, &first, 1));
	ck_assert(budget_take(&budget, &second, BUDGET_TABLES_OTHERS - BUDGET_TABLES_OWNER));
	ck_assert(!budget_take(&budget, &third, 1));
	ck_assert(budget_take(&budget, &roots, BUDGET_TABLES_OWNER));
	budget_give_back(&budget, &first, BUDGET_TABLES_OWNER);
	ck_assert(budget_take(&budget, &third, BUDGET_TABLES_OWNER));
	ck_assert(!budget_take(&budget, &roots, UINT64_MAX));
	budget_free(&budget);
}

/* Returns how long the deadline is, ns. */
static uint64_t time_left(struct budget *budget, const struct file_identity *file, enum budget_patience patience)
{
	struct deadline deadline = budget_deadline(budget, file, patience);
	return deadline.time - deadline.begin;
}

TEST(who_lost_much_time_has_little)
{
	struct budget budget;
	budget_init(&budget);
	struct file_identity first = file_of(STRANGER, 0755), second = file_of(STRANGER + 1, 0755);
	struct file_identity roots = file_of(0, 0755);
	ck_assert_uint_eq(time_left(&budget, &first, BUDGET_FULL), BUDGET_TIME_OTHER);
	ck_assert_uint_eq(time_left(&budget, &first, BUDGET_QUICK), BUDGET_TIME_QUICK);
	budget_refuse(&budget, &first, "a", "slow", BUDGET_TIME_LOST_MAX);
	ck_assert_uint_eq(time_left(&budget, &first, BUDGET_FULL), BUDGET_TIME_QUICK);
	ck_assert_uint_eq(time_left(&budget, &second, BUDGET_FULL), BUDGET_TIME_OTHER);
	ck_assert_uint_eq(time_left(&budget, &roots, BUDGET_FULL), BUDGET_TIME_TRUSTED);
	budget_end_by(&budget, 1);
	ck_assert(budget_is_over(&budget));
	struct deadline deadline = budget_deadline(&budget, &roots, BUDGET_FULL);
	ck_assert(deadline_has_passed(&deadline));
	budget_free(&budget);
}

TEST(refusals_are_named_once_and_counted)
{
	struct budget budget;
	budget_init(&budget);
	for (int i = 0; i < 3; i++)
		budget_refuse(&budget, NULL, "a", "no", 0);
	budget_refuse(&budget, NULL, "a", "other", 0);
	ck_assert_uint_eq(budget.refusals.count, 2);
	ck_assert_uint_eq(budget.refusals.items[0].count, 3);
	for (int i = 0; i < BUDGET_REFUSALS_MAX; i++) {
		char path[16];
		snprintf(path, sizeof path, "file %d", i);
		budget_refuse(&budget, NULL, path, "no", 0);
	}
	ck_assert_uint_eq(budget.refusals.count, BUDGET_REFUSALS_MAX);
	ck_assert_uint_eq(budget.refused_more, 2);
	budget_free(&budget);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
