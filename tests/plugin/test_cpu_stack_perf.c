/* SPDX-License-Identifier: Apache-2.0 */
/* cpu-stack and perf look at the same run of the same program and must see the same functions. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live_source.h"
#include "load_program.h"
#include "test_host.h"
#include "../run_suite.h"

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

/* A running perf, and the two pipes that it has to find open until it ends. */
struct perf {
	pid_t pid;
	int orders, answers;
};

/* Starts perf, which may take seconds, and comes back when it samples. */
static struct perf perf_start(const char *path, pid_t target)
{
	int orders[2], answers[2];
	char answer[5] = { 0 };

	ck_assert_int_eq(pipe2(orders, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(answers, O_CLOEXEC), 0);
	pid_t perf = fork();
	ck_assert_int_ge(perf, 0);
	if (perf == 0) {
		char pid[16], control[32];
		int order = dup(orders[0]), reply = dup(answers[1]);
		snprintf(pid, sizeof pid, "%d", target);
		snprintf(control, sizeof control, "fd:%d,%d", order, reply);
		execlp("perf", "perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", path, "-p", pid,
		       "--delay=-1", "--control", control, (char *)NULL);
		_exit(127);
	}
	close(orders[0]);
	close(answers[1]);
	ck_assert_int_eq(write(orders[1], "enable\n", 7), 7);
	ck_assert_msg(read(answers[0], answer, 4) == 4 && strcmp(answer, "ack\n") == 0, "perf did not start: '%s'",
		      answer);
	return (struct perf){ .pid = perf, .orders = orders[1], .answers = answers[0] };
}

static void perf_wait(struct perf *perf)
{
	int status = 0;
	ck_assert_int_eq(waitpid(perf->pid, &status, 0), perf->pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "perf ended with status %#x", status);
	close(perf->orders);
	close(perf->answers);
}

/* The difference that chance may make between two shares among so many samples, in percentage points. */
static double chance(uint64_t ours, uint64_t theirs)
{
	return 100 * 4 * sqrt(0.25 / (double)ours + 0.25 / (double)theirs);
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

TEST(functions_agree)
{
	struct load_program load = load_program_start("shares", "2500", NULL);
	uint32_t pid = (uint32_t)load.pid;
	struct test_host *host = test_host_new("cpu-stack", "unwind=fp", "frequency=1997", "kernel=no", NULL);
	struct functions ours = { 0 }, theirs = { 0 };
	char path[] = "/tmp/iaprof-test-XXXXXX";
	int descriptor = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	close(descriptor);

	host->target.scope = IAPROF_SCOPE_PIDS;
	host->target.pids = &pid;
	host->target.pid_count = 1;
	test_host_start(host);
	struct perf perf = perf_start(path, load.pid);
	load_program_go(&load);
	while (!load_program_ended(&load))
		ck_assert_int_eq(test_host_run(host, 20), 0);
	test_host_stop(host);
	perf_wait(&perf);

	perf_read(path, &load, &theirs);
	unlink(path);
	for (const struct iaprof_record *record = NULL;
	     (record = test_host_next(host, record, IAPROF_RECORD_SAMPLE));) {
		const struct iaprof_record_sample *sample = (const void *)record;
		const struct iaprof_record_stack *stack = test_host_stack(host, sample->user_stack);
		functions_add(&ours, &load, stack ? iaprof_record_stack_addresses(stack)[0] : 0, sample->count);
	}
	ck_assert_uint_gt(ours.total, 500);
	ck_assert_uint_gt(theirs.total, 500);
	double points = fmax(3, chance(ours.total, theirs.total));
	for (int i = 0; i < LOAD_FUNCTION_COUNT; i++) {
		double our_share = 100.0 * (double)ours.counts[i] / (double)ours.total;
		double their_share = 100.0 * (double)theirs.counts[i] / (double)theirs.total;
		ck_assert_msg(fabs(our_share - their_share) < points, "function %d: %.2f %%, perf says %.2f %%", i,
			      our_share, their_share);
	}
	test_host_free(host);
	load_program_stop(&load);
}

int main(void)
{
	if (system("perf version >/dev/null 2>&1") != 0) {
		puts("1..0 # SKIP perf is not in the PATH");
		return 0;
	}
	if (!live_source_can_run("cpu-stack"))
		return 0;
	return run_all_tests(600, NULL, NULL);
}
