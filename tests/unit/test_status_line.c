/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the status: what was called since the last one. */
#include <check.h>
#include <string.h>

#include "run/status_line.h"
#include "../run_suite.h"

#define SECOND UINT64_C(1000000000)

TEST(calls_since_the_last_status_are_shown_by_family)
{
	char live[4096];
	struct call_families before = { 0 }, now;
	ck_assert_uint_eq(status_line_calls(&before, &before, SECOND, live, sizeof live), 0);
	call_families_add(&before, "buffers", &(struct call_sums){ 6, 800, 300 });
	call_families_add(&before, "memory management", &(struct call_sums){ 30, 500, 500 });
	now = before;
	call_families_add(&now, "memory management", &(struct call_sums){ 10, 2000, 2000 });
	size_t length = status_line_calls(&before, &now, SECOND / 2, live, sizeof live);
	ck_assert_uint_eq(length, strlen(live));
	ck_assert_ptr_nonnull(strstr(live, "        20.0 calls/s        2 us     100%  memory management"));
	ck_assert_ptr_nonnull(strstr(live, "        0.00 calls/s           -    0.00%  buffers"));
	ck_assert_int_ne(live[length - 1], '\n');
	/* What does not fit is left out by whole lines. */
	length = status_line_calls(&before, &now, SECOND / 2, live, 70);
	ck_assert_uint_lt(length, 70);
	ck_assert_uint_eq(length, strlen(live));
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
