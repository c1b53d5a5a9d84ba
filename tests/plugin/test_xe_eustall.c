/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xe-eustall where there is no GPU: its messages, and the options that it rejects. With a device it is held
 * against the double's truth in the lab: tests/lab/tests/test_xe_eustall.py.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "test_host.h"
#include "../run_suite.h"

static bool there_is_a_gpu(void)
{
	DIR *folder = opendir("/sys/bus/pci/drivers/xe");
	if (folder)
		closedir(folder);
	return folder != NULL;
}

TEST(no_gpu)
{
	if (there_is_a_gpu())
		return; /* its truth is nobody's here */
	struct test_host *host = test_host_new("xe-eustall", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	ck_assert_int_eq(test_host_probe(host), -ENODEV);
	ck_assert_ptr_nonnull(strstr(host->failure, "no GPU with the xe driver"));
	ck_assert_ptr_null(strchr(host->failure, '\n'));
	test_host_free(host);
}

TEST(no_such_gpu)
{
	struct test_host *host = test_host_new("xe-eustall", "device=ffff:ff:1f.7", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	ck_assert_int_eq(test_host_probe(host), -ENODEV);
	ck_assert_ptr_nonnull(strstr(host->failure, "device=ffff:ff:1f.7"));
	test_host_free(host);
}

static const struct {
	const char *option, *said;
} refused[] = {
	{ "rate=fast", "rate=fast" },     { "rate=0", "rate=0" },           { "budget=0%", "budget=0%" },
	{ "budget=200%", "budget=200%" }, { "budget=much", "budget=much" },
};

TEST_LOOP(options_are_refused, 0, sizeof refused / sizeof *refused)
{
	struct test_host *host = test_host_new("xe-eustall", refused[_i].option, NULL);
	ck_assert_int_eq(test_host_configure(host), -EINVAL);
	ck_assert_ptr_nonnull(strstr(host->failure, refused[_i].said));
	test_host_free(host);
}

/* A run that fails before anything is open leaves nothing behind. */
TEST(nothing_to_prepare)
{
	struct test_host *host = test_host_new("xe-eustall", "device=ffff:ff:1f.7", "rate=auto", "budget=0.1%", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	ck_assert_int_lt(test_host_prepare(host), 0);
	test_host_free(host);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
