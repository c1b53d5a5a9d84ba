/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the status: what was called since the last one. */
#include <check.h>

#include "run/status_line.h"
#include "../run_suite.h"

#define SECOND UINT64_C(1000000000)

TEST(calls_since_the_last_status_are_shown_by_family)
{
	struct text text = { 0 };
	struct call_families before = { 0 }, now;
	status_line_append_calls(&text, &before, &before, SECOND);
	ck_assert_str_eq(text_string(&text), "");
	call_families_add(&before, "buffers", &(struct call_sums){ 6, 800, 300 });
	call_families_add(&before, "memory management", &(struct call_sums){ 30, 500, 500 });
	now = before;
	call_families_add(&now, "memory management", &(struct call_sums){ 10, 2000, 2000 });
	status_line_append_calls(&text, &before, &now, SECOND / 2);
	ck_assert_str_eq(text_string(&text), "        0.00 calls/s           -       0%  buffers\n"
					     "        20.0 calls/s        2 us     100%  memory management\n");
	text_free(&text);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
