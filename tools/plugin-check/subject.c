/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin that is checked: see subject.h. */
#include "subject.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static uint32_t host_intern_frame(const struct iaprof_host *host, const struct iaprof_named_frame *frame)
{
	return frame && frame->size >= sizeof *frame ? frame->name : 0; /* at least 1, as an id is */
}

static void host_offline(const struct iaprof_host *host)
{
	((struct test_host *)host->core)->plugin.flags |= IAPROF_PLUGIN_LOSSLESS;
}

static uint32_t host_sample_stride(const struct iaprof_host *host, uint32_t longest)
{
	return 1;
}

/* There are no unwind tables. */
static int host_on_unwind(const struct iaprof_host *host, iaprof_on_unwind *callback)
{
	return callback ? 0 : -EINVAL;
}

static void host_unwind_process(const struct iaprof_host *host, uint32_t pid, uint64_t execution)
{
}

/* Adds what the hosts of tests lack, so that a plugin finds the members of this version of the interface. */
static void complete(struct iaprof_host *host)
{
	host->intern_frame = host_intern_frame;
	host->offline = host_offline;
	host->sample_stride = host_sample_stride;
	host->on_unwind = host_on_unwind;
	host->unwind_process = host_unwind_process;
}

struct test_host *subject_new(void)
{
	struct test_host *host = test_host_new(getenv(SUBJECT_PATH), NULL);
	complete(&host->host);
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
