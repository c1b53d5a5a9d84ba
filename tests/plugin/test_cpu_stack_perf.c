/* SPDX-License-Identifier: Apache-2.0 */
/* cpu-stack and perf look at the same run of the same program and must see the same functions. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live_source.h"
#include "load_program.h"
#include "test_host.h"

/*
 * Samples by the function whose code ran. Others do not count: the address that perf gives for a sample in the Linux
 * kernel is there, the user stack's is where the program was, so on a busy machine the two would differ.
 */
struct functions {
	uint64_t counts[LOAD_FUNCTION_COUNT];
	uint64_t total;
};

static void functions_add(struct functions *functions, const struct load_program *load, uint64_t address,
			  uint64_t count)
{
	int function = load_program_function_at(load, address);
	if (function < 0)
		return;
	functions->counts[function] += count;
	functions->total += count;
}

static pid_t perf_start(const char *path, pid_t target)
{
	pid_t perf = fork();
	ck_assert_int_ge(perf, 0);
	if (perf == 0) {
		char pid[16];
		snprintf(pid, sizeof pid, "%d", target);
		execlp("perf", "perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", path, "-p", pid,
		       (char *)NULL);
		_exit(127);
	}
	return perf;
}

static void perf_read(const char *path, const struct load_program *load, struct functions *functions)
{
	char command[256];
	uint64_t address;

	snprintf(command, sizeof command, "perf script -i '%s' -F ip", path);
	FILE *script = popen(command, "r");
	ck_assert_ptr_nonnull(script);
	while (fscanf(script, "%" SCNx64, &address) == 1)
		functions_add(functions, load, address, 1);
	ck_assert_int_eq(pclose(script), 0);
}

START_TEST(functions_agree)
{
	struct load_program load = load_program_start("shares", "2500", NULL);
	uint32_t pid = (uint32_t)load.pid;
	struct test_host *host = test_host_new("cpu-stack", "frequency=1997", "kernel=no", NULL);
	struct functions ours = { 0 }, theirs = { 0 };
	char path[] = "/tmp/iaprof-test-XXXXXX";
	int descriptor = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	close(descriptor);

	host->target.scope = IAPROF_SCOPE_PIDS;
	host->target.pids = &pid;
	host->target.pid_count = 1;
	test_host_start(host);
	pid_t perf = perf_start(path, load.pid);
	load_program_go(&load);
	/* perf sees the shares of a part of the run only, for it takes a moment to start: they are the same all along.
	 */
	while (!load_program_ended(&load))
		ck_assert_int_eq(test_host_run(host, 20), 0);
	test_host_stop(host);
	int status = 0;
	ck_assert_int_eq(waitpid(perf, &status, 0), perf);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "perf ended with status %#x", status);

	perf_read(path, &load, &theirs);
	unlink(path);
	for (const struct iaprof_record *record = NULL;
	     (record = test_host_next(host, record, IAPROF_RECORD_SAMPLE));) {
		const struct iaprof_record_sample *sample = (const void *)record;
		const struct iaprof_record_stack *stack = test_host_stack(host, sample->user_stack);
		functions_add(&ours, &load, stack ? iaprof_record_stack_addresses(stack)[0] : 0, sample->count);
	}
	ck_assert_uint_gt(ours.total, 1500);
	ck_assert_uint_gt(theirs.total, 1500);
	for (int i = 0; i < LOAD_FUNCTION_COUNT; i++) {
		double our_share = 100.0 * (double)ours.counts[i] / (double)ours.total;
		double their_share = 100.0 * (double)theirs.counts[i] / (double)theirs.total;
		ck_assert_msg(our_share > their_share - 3 && our_share < their_share + 3,
			      "function %d: %.2f %%, perf says %.2f %%", i, our_share, their_share);
	}
	test_host_free(host);
	load_program_stop(&load);
}
END_TEST

int main(void)
{
	if (system("perf version >/dev/null 2>&1") != 0) {
		puts("1..0 # SKIP perf is not in the PATH");
		return 0;
	}
	if (!live_source_can_run("cpu-stack"))
		return 0;
	Suite *suite = suite_create("cpu-stack-perf");
	TCase *tests = tcase_create("live");
	tcase_set_timeout(tests, 600);
	tcase_add_test(tests, functions_agree);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
