/* SPDX-License-Identifier: Apache-2.0 */
/* See live_source.h. */
#include "live_source.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_host.h"

static const char *source_name, *source_option; /* for the one test below: Check hands it nothing */

START_TEST(probe)
{
	struct test_host *host = test_host_new(source_name, source_option, NULL);
	bool can = test_host_configure(host) == 0 && test_host_probe(host) == 0;
	if (!can)
		printf("1..0 # SKIP %s\n", host->failure);
	fflush(stdout);
	test_host_free(host);
	_exit(can ? 0 : 1);
}
END_TEST

bool live_source_can_run(const char *name)
{
	return live_source_can_run_with(name, NULL);
}

bool live_source_can_run_with(const char *name, const char *option)
{
	int status = 0;

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		/*
		 * The test host works inside a test only. This one's own result is no line of the output, and which
		 * tests the user wants to run is not about it.
		 */
		unsetenv("CK_TAP_LOG_FILE_NAME");
		unsetenv("CK_RUN_SUITE");
		unsetenv("CK_RUN_CASE");
		source_name = name;
		source_option = option;
		Suite *suite = suite_create("probe");
		TCase *tests = tcase_create("probe");
		tcase_add_test(tests, probe);
		suite_add_tcase(suite, tests);
		SRunner *runner = srunner_create(suite);
		srunner_set_fork_status(runner, CK_NOFORK);
		srunner_run_all(runner, CK_SILENT);
		_exit(2); /* an assertion of the test host failed */
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) > 1) {
		fprintf(stderr, "%s: the probe failed\n", name);
		exit(EXIT_FAILURE);
	}
	return WEXITSTATUS(status) == 0;
}
