// SPDX-License-Identifier: Apache-2.0
/* TAP output. Checks may run in several threads and in child processes of a test; only the parent prints results. */
#include "tap.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int test_count, failed_count;
static atomic_bool test_failed;
static const char *skip_reason, *chosen;

bool tap_check(bool passed, const char *file, int line, const char *text)
{
	if (!passed) {
		test_failed = true;
		tap_comment("%s:%d: not so: %s", file, line, text);
	}
	return passed;
}

bool tap_check_equal(long long actual, long long expected, const char *file, int line, const char *text)
{
	if (actual != expected) {
		test_failed = true;
		tap_comment("%s:%d: %s is %lld, not %lld", file, line, text, actual, expected);
	}
	return actual == expected;
}

bool tap_check_errno(long long result, int error, int expected, const char *file, int line, const char *text)
{
	bool passed = result == -1 && error == expected;

	if (!passed) {
		test_failed = true;
		tap_comment("%s:%d: %s gave %lld (%s), not %s", file, line, text, result,
			    result < 0 ? strerrorname_np(error) : "no error", strerrorname_np(expected));
	}
	return passed;
}

void tap_comment(const char *format, ...)
{
	va_list arguments;
	char text[512];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	printf("# %s\n", text);
	fflush(stdout);
}

void tap_skip(const char *reason)
{
	skip_reason = reason;
}

void tap_choose(const char *words)
{
	chosen = words;
}

void tap_run(const char *name, void (*test)(void))
{
	char readable[128];

	snprintf(readable, sizeof(readable), "%s", name);
	for (char *c = readable; *c; c++)
		if (*c == '_')
			*c = ' ';
	if (chosen && !strstr(readable, chosen))
		return;
	test_failed = false;
	skip_reason = NULL;
	test();
	test_count++;
	if (test_failed)
		failed_count++;
	printf("%s %d - %s%s%s\n", test_failed ? "not ok" : "ok", test_count, readable,
	       skip_reason && !test_failed ? " # SKIP " : "", skip_reason && !test_failed ? skip_reason : "");
	fflush(stdout);
}

int tap_finish(void)
{
	printf("1..%d\n", test_count);
	return failed_count ? 1 : 0;
}
