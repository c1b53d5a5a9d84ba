/* SPDX-License-Identifier: Apache-2.0 */
/* See child.h. */
#include "child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/process_stat.h"

/* Longest wait at a time, in ms: for a pidfd, and without one (Linux before 5.3, some containers). */
#define WAIT_STEP_MAX 1000
#define WAIT_STEP_BLIND 1

/* Like the Linux kernel at execve(2), and also what was ignored. */
static void default_signals(void)
{
	sigset_t none;
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns whether it failed. */
static bool redirect(const int *streams)
{
	int null = open("/dev/null", O_RDWR);
	bool failed = null < 0;
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		failed |= dup2(streams[i] < 0 ? null : streams[i], i) < 0;
	return failed;
}

/* Moves the descriptors of a program to the numbers that it expects, and closes all others. Returns whether it failed.
 */
static bool pass(int channel, const int *passed)
{
	const int end = CHILD_CHANNEL + 1 + CHILD_PASSED_MAX;
	int copies[CHILD_PASSED_MAX + 1];
	bool failed = false;
	/* Away from those numbers, and then without a close-on-exec flag. */
	for (int i = CHILD_CHANNEL; i < end; i++) {
		int descriptor = i == CHILD_CHANNEL ? channel : passed[i - CHILD_CHANNEL - 1];
		copies[i - CHILD_CHANNEL] = descriptor > 0 ? fcntl(descriptor, F_DUPFD, end) : -1;
		failed |= descriptor > 0 && copies[i - CHILD_CHANNEL] < 0;
	}
	for (int i = CHILD_CHANNEL; i < end; i++)
		if (copies[i - CHILD_CHANNEL] < 0)
			close(i);
		else
			failed |= dup2(copies[i - CHILD_CHANNEL], i) < 0;
	/* Linux before 5.9 and some containers lack the system call. */
	if (syscall(SYS_close_range, end, ~0u, 0u))
		for (long i = end, limit = sysconf(_SC_OPEN_MAX); i < limit; i++)
			close((int)i);
	return failed;
}

bool child_die_with(pid_t parent)
{
	return !prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent;
}

/* Runs in the child of a process that may have threads: only calls that are safe after fork(2). */
static _Noreturn void become(const struct child_setup *setup, pid_t parent, int channel)
{
	bool failed = setup->is_leader && setsid() < 0;
	if (setup->streams)
		failed |= redirect(setup->streams);
	if (setup->path)
		failed |= pass(channel, setup->passed);
	if (!failed && setup->prepare)
		setup->prepare();
	/* A change of the user resets it. */
	failed |= setup->dies_with_us && !child_die_with(parent);
	if (!failed && setup->path)
		execve(setup->path, setup->arguments, setup->environment ? setup->environment : environ);
	else if (!failed)
		setup->run(setup->context, channel);
	_exit(CHILD_NOT_EXECUTED);
}

int child_start(struct child *child, const struct child_setup *setup)
{
	int channel[2] = { -1, -1 };
	sigset_t all, before;
	*child = (struct child){ .spent = child->spent, .descriptor = -1, .channel = -1, .status = -1 };
	if (setup->channel && socketpair(AF_UNIX, setup->channel | SOCK_CLOEXEC, 0, channel))
		return -errno;
	/* A program must not run handlers of this process. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0 && setup->path)
		default_signals();
	else
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid == 0) {
		if (channel[0] >= 0)
			close(channel[0]);
		become(setup, parent, channel[1]);
	}
	int result = pid < 0 ? -errno : 0;
	if (channel[1] >= 0)
		close(channel[1]);
	child->channel = channel[0];
	if (result) {
		child_close(child);
		return result;
	}
	child->pid = child->delayed.pid = pid;
	child->is_leader = setup->is_leader;
	child->descriptor = (int)syscall(SYS_pidfd_open, pid, 0);
	return 0;
}

/*
 * Kills what a leader has left behind. Its number stays that of its group until it has been waited for; later it can be
 * that of another process.
 */
static void kill_group_of_ended(const struct child *child)
{
	siginfo_t ended = { 0 };
	if (child->is_leader && child->pid && !waitid(P_PID, (id_t)child->pid, &ended, WEXITED | WNOHANG | WNOWAIT) &&
	    ended.si_pid)
		kill(-child->pid, SIGKILL);
}

/* Reads the status if the process has ended. Returns whether it has. */
static bool has_ended(struct child *child)
{
	struct rusage usage = { 0 };
	kill_group_of_ended(child);
	pid_t pid = child->pid, ended = pid ? wait4(pid, &child->status, WNOHANG, &usage) : 0;
	if (ended > 0)
		child->spent += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NANOSECONDS_PER_SECOND +
				(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	if (ended)
		child->pid = 0;
	return !pid || ended;
}

bool child_wait(struct child *child, uint64_t duration)
{
	struct deadline deadline = deadline_make(NULL, duration);
	while (!has_ended(child)) {
		uint64_t left = deadline_left(&deadline), step = left / 1000000 + 1;
		uint64_t step_max = child->descriptor < 0 ? WAIT_STEP_BLIND : WAIT_STEP_MAX;
		struct pollfd end = { .fd = child->descriptor, .events = POLLIN };
		if (!left)
			return false;
		poll(&end, 1, (int)(step < step_max ? step : step_max));
	}
	return true;
}

void child_kill(struct child *child, uint64_t duration)
{
	if (has_ended(child))
		return;
	/* Its session, if it has one by now. */
	if (getsid(child->pid) == child->pid)
		kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
	child_wait(child, duration);
}

void child_forget(struct child *child)
{
	int *const descriptors[] = { &child->channel, &child->descriptor };
	for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
		if (*descriptors[i] >= 0)
			close(STEAL_DESCRIPTOR(*descriptors[i]));
	child->pid = 0;
}

void child_close(struct child *child)
{
	uint64_t spent = child_cpu_time(child);
	child_kill(child, CHILD_KILL_TIME);
	child_forget(child);
	/* Its own children have not been waited for. */
	if (child->spent < spent)
		child->spent = spent;
}

/* Adds the CPU time of running children; none on Linux kernels without CONFIG_PROC_CHILDREN. Returns whether any run.
 */
static bool add_running_children(pid_t pid, uint64_t *sum)
{
	char path[64];
	bool has_children = false;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	for (int running; file && fscanf(file, "%d", &running) == 1; has_children = true)
		*sum += clock_of_process(running);
	return has_children;
}

/* Reads /proc only if the process has run, because it has no new children, and none have ended, otherwise. */
uint64_t child_cpu_time(struct child *child)
{
	pid_t pid = child->pid;
	if (!pid)
		return child->spent;
	uint64_t own = clock_of_process(pid), running = 0;
	if (own != child->own || child->has_children) {
		child->own = own;
		child->ended = process_ended_children_time((uint32_t)pid);
		child->has_children = add_running_children(pid, &running);
	}
	return child->spent + own + child->ended + running;
}

const char *child_cause(int status, char text[CHILD_CAUSE_SIZE])
{
	int number = status != -1 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	const char *name = sigabbrev_np(number);
	if (name)
		snprintf(text, CHILD_CAUSE_SIZE, "was killed by SIG%s", name);
	else if (number)
		snprintf(text, CHILD_CAUSE_SIZE, "was killed by signal %d", number);
	else if (status != -1)
		snprintf(text, CHILD_CAUSE_SIZE, "ended with status %d", WEXITSTATUS(status));
	else
		snprintf(text, CHILD_CAUSE_SIZE, "ended");
	return text;
}
