/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin that is checked: see subject.h. */
#include "subject.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct test_host *subject_new(void)
{
	struct test_host *host = test_host_new(getenv(SUBJECT_PATH), NULL);
	char *settings CLEANUP_FREE = strdup(getenv(SUBJECT_SETTINGS));
	ck_assert_ptr_nonnull(settings);
	char *rest = settings;
	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		char *value = strchr(line, '=');
		*value++ = '\0';
		ck_assert_msg(test_host_set(host, line, value) == 0, "%s", host->failure);
	}
	return host;
}

void subject_expect_reason(const struct test_host *host, const char *callback, int result)
{
	ck_assert_msg(result <= 0, "%s() returned %d: it is 0 or a negative errno", callback, result);
	if (result < 0)
		ck_assert_msg(host->failure[0], "%s() failed (%s) without a reason: call host->fail()", callback,
			      strerror(-result));
}

void subject_expect_configured(struct test_host *host)
{
	int result = test_host_configure(host);
	subject_expect_reason(host, "configure", result);
	ck_assert_msg(result == 0, "configure: %s (the options it needs can be given as KEY=VALUE)", host->failure);
}

void subject_configure(struct test_host *host)
{
	if (test_host_configure(host))
		ck_abort_msg(SUBJECT_SKIP "configure() fails");
}

void subject_prepare(struct test_host *host)
{
	int result = test_host_probe(host);
	subject_expect_reason(host, "probe", result);
	if (result < 0)
		ck_abort_msg(SUBJECT_SKIP "probe: %s", host->failure);
	result = test_host_prepare(host);
	subject_expect_reason(host, "prepare", result);
	if (result == -EPERM || result == -EACCES)
		ck_abort_msg(SUBJECT_SKIP "prepare: %s", host->failure);
	ck_assert_msg(result == 0, "prepare: %s", host->failure);
}

void subject_expect_thread(const struct test_host *host)
{
	subject_expect_reason(host, "thread", host->thread_result);
	ck_assert_msg(host->thread_result == 0, "thread: %s", host->failure);
}

unsigned subject_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	ck_assert_ptr_nonnull(folder);
	unsigned count = 0;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

void check_add(struct check_list *checks, const char *what, const TTest *test)
{
	if (!array_push(checks, ((struct check){ what, test })))
		exit(EXIT_FAILURE);
}
