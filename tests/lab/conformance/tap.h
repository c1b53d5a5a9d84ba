/* SPDX-License-Identifier: Apache-2.0 */
/* A test program that prints TAP: one line for each test, a comment for each check in it that failed. */
#pragma once

#include <errno.h>
#include <stdbool.h>

/* What a test found wrong; the test goes on. */
#define CHECK(condition) tap_check(!!(condition), __FILE__, __LINE__, #condition)
/* What a test cannot go on without. */
#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!CHECK(condition))                                                                                 \
			return;                                                                                        \
	} while (0)
/* Equal numbers; both are shown if they are not. */
#define CHECK_EQUAL(actual, expected)                                                                                  \
	tap_check_equal((long long)(actual), (long long)(expected), __FILE__, __LINE__, #actual)
/* A system call that has to fail, with this errno. */
#define CHECK_FAILS(call, expected)                                                                                    \
	({                                                                                                             \
		errno = 0;                                                                                             \
		long long result_ = (call);                                                                            \
		tap_check_errno(result_, errno, (expected), __FILE__, __LINE__, #call);                                \
	})

bool tap_check(bool passed, const char *file, int line, const char *text);
bool tap_check_equal(long long actual, long long expected, const char *file, int line, const char *text);
bool tap_check_errno(long long result, int error, int expected, const char *file, int line, const char *text);
/* A comment in the output. */
__attribute__((format(printf, 1, 2))) void tap_comment(const char *format, ...);

/* The test that runs is skipped; it should return. */
void tap_skip(const char *reason);
/* Only tests with these words in their name run; NULL is all. */
void tap_choose(const char *words);
void tap_run(const char *name, void (*test)(void));
#define TAP_RUN(test) tap_run(#test, test)
/* Prints the plan; returns the exit status: 0, or 1 if a test failed. */
int tap_finish(void);
