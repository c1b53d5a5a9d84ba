/* SPDX-License-Identifier: Apache-2.0 */
/* Tests written with Check: TEST() defines a test, and run_all_tests() is the whole main(). */
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

/* Returns the test case of the file's TEST()s. */
static inline TCase *all_tests(void)
{
	static TCase *tests;
	if (!tests)
		tests = tcase_create("tests");
	return tests;
}

/* Runs the TEST()s of the file with a fixture, whose functions can be NULL. A test that takes longer than these seconds
 * (0: CK_DEFAULT_TIMEOUT) hangs, and fails. Returns the exit status. */
static inline int run_all_tests(int seconds, SFun before_each, SFun after_each)
{
	if (seconds)
		tcase_set_timeout(all_tests(), seconds);
	tcase_add_checked_fixture(all_tests(), before_each, after_each);
	return run_tests(all_tests());
}

/* Defines a test, which run_all_tests() runs once. Its body follows. */
#define TEST(name) TEST_LOOP(name, 0, 1)

/* Defines a test that runs with each `_i` from `begin` up to but not including `end`. The constructor's priority keeps
 * the order of the file; numbers up to 100 are the compiler's. */
#define TEST_LOOP(name, begin, end)                                                                                    \
	static const TTest *name;                                                                                      \
	static void __attribute__((constructor(101 + __COUNTER__))) name##_added(void)                                 \
	{                                                                                                              \
		tcase_add_loop_test(all_tests(), name, begin, end);                                                    \
	}                                                                                                              \
	START_TEST(name)
