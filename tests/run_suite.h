/* SPDX-License-Identifier: Apache-2.0 */
/* The end of main() of a test written with Check. */
#pragma once

#include <check.h>
#include <stdlib.h>

/* Runs the suite, frees it, and returns the exit status. */
static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Runs a suite of one test case, frees it, and returns the exit status. */
static inline int run_tests(TCase *tests)
{
	Suite *suite = suite_create("tests");
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
