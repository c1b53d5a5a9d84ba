/* SPDX-License-Identifier: Apache-2.0 */
/* What cpu-stack requires from the machine, and its messages if that is missing. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "live_source.h"
#include "test_host.h"
#include "../run_suite.h"

/* What the plugin opens must not leak into the command or anything else that is executed. */
TEST(descriptors_close_on_exec)
{
	struct test_host *host = test_host_new("cpu-stack", NULL);
	test_host_start(host);
	DIR *folder = opendir("/proc/self/fd");
	ck_assert_ptr_nonnull(folder);
	size_t ours = 0;
	for (const struct dirent *entry; (entry = readdir(folder));) {
		char target[256] = { 0 };
		if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) <= 0 ||
		    strncmp(target, "anon_inode:", 11) != 0)
			continue;
		ck_assert_msg(fcntl(atoi(entry->d_name), F_GETFD) & FD_CLOEXEC, "%s stays open", target);
		ours++;
	}
	closedir(folder);
	ck_assert_uint_gt(ours, 5);
	test_host_free(host);
}

TEST(stops_without_start)
{
	struct test_host *host = test_host_new("cpu-stack", NULL);
	ck_assert_int_eq(test_host_configure(host), 0);
	ck_assert_int_eq(test_host_prepare(host), 0);
	ck_assert_int_eq(host->operations.stop(&host->host, host->instance), 0);
	test_host_free(host);
}

/* Without a hardware counter, a message states the remedy; auto applies it. */
TEST(hardware_clock_or_reason)
{
	struct test_host *host = test_host_new("cpu-stack", "clock=hardware", NULL);
	int result = test_host_probe(host);
	ck_assert_msg(result == 0 || strstr(host->failure, "clock=software"), "%s", host->failure);
	test_host_free(host);
	host = test_host_new("cpu-stack", NULL);
	test_host_start(host);
	const char *clock = test_host_metadata(host, "clock");
	ck_assert_ptr_nonnull(clock);
	ck_assert_str_eq(clock, result == 0 ? "cycles (hardware)" : "cpu-clock (software)");
	test_host_free(host);
}

/* Probes in a child process that an action has changed; the failure must contain text. */
static void probe_fails(void (*action)(void), const char *text)
{
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		action();
		struct test_host *host = test_host_new("cpu-stack", NULL);
		bool right = test_host_probe(host) < 0 && strstr(host->failure, text);
		if (!right)
			fprintf(stderr, "probe: %s\n", host->failure);
		test_host_free(host);
		_exit(right ? 0 : 1);
	}
	int status = 0;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void rights_drop(void)
{
	if (setgid(65534) != 0 || setuid(65534) != 0)
		_exit(2);
}

static void namespace_enter(void)
{
	if (unshare(CLONE_NEWPID) != 0)
		_exit(2);
	pid_t child = fork();
	if (child < 0)
		_exit(2);
	if (child > 0) {
		int status = 0;
		_exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
}

/* From here on a system call gives an error instead of running: what a kernel built without it, or a container, does.
 */
static void call_forbid(unsigned number, unsigned error)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof program / sizeof program[0], .filter = program };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		_exit(2);
}

static void bpf_leave_out(void)
{
	call_forbid(SYS_bpf, ENOSYS);
}

static void bpf_forbid(void)
{
	call_forbid(SYS_bpf, EPERM);
}

static void perf_forbid(void)
{
	call_forbid(SYS_perf_event_open, EACCES);
}

TEST(probe_reports_what_is_missing)
{
	probe_fails(bpf_leave_out, "CONFIG_BPF_SYSCALL");
	probe_fails(bpf_forbid, "seccomp");
	probe_fails(perf_forbid, "kernel.perf_event_paranoid");
	probe_fails(rights_drop, "CAP_BPF and CAP_PERFMON");
	probe_fails(namespace_enter, "PID namespace");
}

int main(void)
{
	if (!live_source_can_run("cpu-stack"))
		return 0;
	return run_all_tests(600, NULL, NULL);
}
