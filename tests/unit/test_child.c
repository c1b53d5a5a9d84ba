/* SPDX-License-Identifier: Apache-2.0 */
/* Real children that hang, die, send what is wrong, start processes of their own and use CPU time. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "child/channel.h"
#include "child/child.h"
#include "child/privileges.h"
#include "../run_suite.h"

/* For what happens, and for what does not. */
#define PATIENCE (100 * NANOSECONDS_PER_SECOND)
#define SHORT (NANOSECONDS_PER_SECOND / 20)
/* CPU time of a child, ns. */
#define BURNT (NANOSECONDS_PER_SECOND / 20)
/* Linux kernels without CONFIG_PROC_CHILDREN do not show running grandchildren. */
#define BURNS (access("/proc/thread-self/children", F_OK) ? 2 : 3)
/* Resolution of the time of ended children, ns. */
#define TICKS (2 * NANOSECONDS_PER_SECOND / 100)
/* Argument of this program: exits with the number of open descriptors. */
#define COUNT_DESCRIPTORS "count-descriptors"
#define MESSAGE 7

typedef void run(void *context, int channel);

static struct child start_type(run *function, void *context, int type)
{
	struct child child = CHILD_NONE;
	const struct child_setup setup = {
		.run = function, .context = context, .channel = type, .is_leader = true, .dies_with_us = true
	};
	ck_assert_int_eq(child_start(&child, &setup), 0);
	return child;
}

static struct child start(run *function, void *context)
{
	return start_type(function, context, SOCK_STREAM);
}

/* Receives an answer with a number and up to rest_max bytes within duration ns. */
static int receive(const struct child *child, int *number, uint32_t rest_max, uint64_t duration)
{
	struct deadline deadline = deadline_make(NULL, duration);
	struct channel_answer answer = {
		.type = MESSAGE, .head = number, .head_size = sizeof *number, .rest_max = rest_max
	};
	return channel_receive_answer(child->channel, &answer, &deadline);
}

static void send_number(int channel, int number)
{
	channel_send_bytes(channel, MESSAGE, &number, sizeof number, -1, NULL);
}

/* Sends a header that announces size bytes, and four of them. */
static void send_part(int channel, uint32_t size)
{
	const struct {
		struct channel_header header;
		int number;
	} message = { { MESSAGE, size }, 1 };
	ck_assert_int_eq(send(channel, &message, sizeof message, MSG_NOSIGNAL), sizeof message);
}

static const char *cause_of(struct child *child)
{
	static char text[CHILD_CAUSE_SIZE];
	ck_assert(child_wait(child, PATIENCE));
	return child_cause(child->status, text);
}

static size_t open_descriptors(void)
{
	size_t count = 0;
	CLEANUP_CLOSEDIR DIR *folder = opendir("/proc/self/fd");
	while (folder && readdir(folder))
		count++;
	return count;
}

static void hang(void *context, int channel)
{
	for (;;)
		pause();
}

static void answer(void *context, int channel)
{
	send_number(channel, 42);
}

static void answer_and_hang(void *context, int channel)
{
	send_number(channel, 1);
	hang(NULL, channel);
}

static void send_half_and_hang(void *context, int channel)
{
	send_part(channel, 100);
	hang(NULL, channel);
}

static void send_half(void *context, int channel)
{
	send_part(channel, 100);
}

static void send_length_of_4_gib(void *context, int channel)
{
	send_part(channel, UINT32_MAX);
}

static void close_early(void *context, int channel)
{
	close(channel);
	hang(NULL, -1);
}

static void end_by_signal(void *context, int channel)
{
	signal(*(int *)context, SIG_DFL);
	raise(*(int *)context);
}

static void end_with_3(void *context, int channel)
{
	_exit(3);
}

TEST(an_answer_and_the_end)
{
	int number = 0;
	struct child child = start(answer, NULL);
	ck_assert_int_eq(receive(&child, &number, 0, PATIENCE), 0);
	ck_assert_int_eq(number, 42);
	ck_assert_int_eq(receive(&child, &number, 0, PATIENCE), -EPIPE);
	ck_assert_str_eq(cause_of(&child), "ended with status 127");
	child_close(&child);
}

TEST(a_child_that_hangs_is_killed)
{
	int number;
	char text[CHILD_CAUSE_SIZE];
	struct child child = start(hang, NULL);
	pid_t pid = child.pid;
	ck_assert_int_eq(receive(&child, &number, 0, SHORT), -ETIMEDOUT);
	ck_assert(!child_wait(&child, SHORT));
	child_kill(&child, PATIENCE);
	child_close(&child);
	ck_assert_str_eq(child_cause(child.status, text), "was killed by SIGKILL");
	ck_assert_int_eq(kill(pid, 0), -1);
	ck_assert(child.pid == 0 && child.channel == -1 && child.descriptor == -1);
}

TEST(causes_of_an_end)
{
	char text[CHILD_CAUSE_SIZE];
	int numbers[] = { SIGTERM, SIGRTMIN + 3 };
	struct child term = start(end_by_signal, &numbers[0]), other = start(end_by_signal, &numbers[1]);
	struct child status = start(end_with_3, NULL);
	ck_assert_str_eq(cause_of(&term), "was killed by SIGTERM");
	ck_assert_str_eq(cause_of(&other), "was killed by signal 37");
	ck_assert_str_eq(cause_of(&status), "ended with status 3");
	ck_assert_str_eq(child_cause(-1, text), "ended");
	child_close(&term);
	child_close(&other);
	child_close(&status);
}

TEST(half_a_message_is_none)
{
	int number;
	char bytes[100];
	struct deadline deadline = deadline_make(NULL, SHORT);
	struct child hanging = start(send_half_and_hang, NULL), ended = start(send_half, NULL);
	ck_assert_int_eq(receive(&hanging, &number, sizeof bytes, PATIENCE), 0);
	ck_assert_int_eq(channel_read(hanging.channel, bytes, 96, &deadline), -ETIMEDOUT);
	ck_assert_int_eq(receive(&ended, &number, sizeof bytes, PATIENCE), 0);
	ck_assert_int_eq(channel_read(ended.channel, bytes, 96, NULL), -EPIPE);
	child_close(&hanging);
	child_close(&ended);
}

TEST(a_length_of_4_gib_is_refused)
{
	int number;
	struct {
		struct channel_header header;
		char bytes[64];
	} packet;
	struct child child = start(send_length_of_4_gib, NULL);
	ck_assert_int_eq(receive(&child, &number, 1 << 20, PATIENCE), -EPROTO);
	child_close(&child);
	for (int i = 0; i < 2; i++) {
		child = start_type(i ? send_half : send_length_of_4_gib, NULL, SOCK_SEQPACKET);
		ck_assert_int_eq(channel_receive_packet(child.channel, &packet.header, sizeof packet.bytes, NULL, NULL),
				 -EBADMSG);
		child_close(&child);
	}
}

static void send_packets(void *context, int channel)
{
	char bytes[65] = "packet";
	int result;
	channel_send_bytes(channel, MESSAGE, bytes, 64, STDERR_FILENO, NULL);
	channel_send_bytes(channel, MESSAGE, bytes, 65, STDERR_FILENO, NULL);
	channel_send_bytes(channel, MESSAGE, NULL, 0, STDERR_FILENO, NULL);
	/* Without a reader there is room for some, and none is sent in part. */
	while (!(result = channel_send_bytes(channel, MESSAGE, bytes, 64, -1, CHANNEL_NOW)))
		;
	_exit(result == -ETIMEDOUT ? 0 : 1);
}

TEST(packets_are_whole)
{
	int descriptor = -1;
	struct {
		struct channel_header header;
		char bytes[64];
	} packet;
	struct child child = start_type(send_packets, NULL, SOCK_SEQPACKET);
	ck_assert_str_eq(cause_of(&child), "ended with status 0");
	size_t before = open_descriptors();
	ck_assert_int_eq(channel_receive_packet(child.channel, &packet.header, 64, &descriptor, NULL), 0);
	ck_assert_uint_eq(packet.header.size, 64);
	ck_assert_str_eq(packet.bytes, "packet");
	ck_assert_int_ge(descriptor, 0);
	close(descriptor);
	/* Too long, with a descriptor; and a descriptor that is not expected. */
	ck_assert_int_eq(channel_receive_packet(child.channel, &packet.header, 64, &descriptor, NULL), -EBADMSG);
	ck_assert_int_eq(descriptor, -1);
	ck_assert_int_eq(channel_receive_packet(child.channel, &packet.header, 64, NULL, NULL), 0);
	ck_assert_uint_eq(open_descriptors(), before);
	int result;
	while (!(result = channel_receive_packet(child.channel, &packet.header, 64, NULL, CHANNEL_NOW)))
		ck_assert_uint_eq(packet.header.size, 64);
	ck_assert_int_eq(result, -EPIPE);
	child_close(&child);
}

TEST(a_child_that_closes_early)
{
	int number;
	struct child child = start(close_early, NULL);
	ck_assert_int_eq(receive(&child, &number, 0, PATIENCE), -EPIPE);
	/* Without SIGPIPE. */
	ck_assert_int_eq(channel_send_bytes(child.channel, MESSAGE, NULL, 0, -1, NULL), -EPIPE);
	ck_assert(!child_wait(&child, 0));
	child_close(&child);
}

/* What it does not read resets the channel, and what it has sent is received. */
static void answer_without_reading(void *context, int channel)
{
	channel_wait(channel, NULL);
	send_number(channel, 42);
}

TEST(an_answer_before_a_reset_is_received)
{
	int number = 0;
	struct child child = start(answer_without_reading, NULL);
	send_number(child.channel, 1);
	ck_assert(child_wait(&child, PATIENCE));
	ck_assert_int_eq(receive(&child, &number, 0, PATIENCE), 0);
	ck_assert_int_eq(number, 42);
	ck_assert_int_eq(receive(&child, &number, 0, PATIENCE), -EPIPE);
	child_close(&child);
}

TEST(a_child_that_reads_nothing)
{
	int number;
	static char bytes[16 << 20];
	struct child child = start(answer_and_hang, NULL);
	struct deadline deadline = deadline_make(NULL, SHORT);
	ck_assert_int_eq(receive(&child, &number, 0, PATIENCE), 0);
	ck_assert_int_eq(channel_send_bytes(child.channel, MESSAGE, bytes, sizeof bytes, -1, &deadline), -ETIMEDOUT);
	child_close(&child);
}

/* Sends the pid of a child of its own, which keeps the channel open, and hangs or ends. */
static void start_grandchild(void *context, int channel)
{
	pid_t pid = fork();
	if (!pid)
		hang(NULL, channel);
	send_number(channel, pid);
	if (context)
		hang(NULL, channel);
}

static void ends_by_kill(pid_t pid)
{
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST_LOOP(grandchildren_delay_nothing, 0, 2)
{
	int pid, number;
	bool hangs = _i;
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	struct child child = start(start_grandchild, hangs ? &child : NULL);
	ck_assert_int_eq(receive(&child, &pid, 0, PATIENCE), 0);
	/* The grandchild has the channel. */
	ck_assert_int_eq(receive(&child, &number, 0, SHORT), -ETIMEDOUT);
	ck_assert(hangs || child_wait(&child, PATIENCE));
	child_kill(&child, PATIENCE);
	child_close(&child);
	/* One that is left by a child that has ended is not killed: its process group may be another one by now. */
	if (!hangs)
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ends_by_kill(pid);
}

static void start_dependent(void *context, int channel)
{
	int number;
	struct child child = start(answer_and_hang, NULL);
	if (!receive(&child, &number, 0, PATIENCE))
		send_number(channel, child.pid);
	hang(NULL, channel);
}

TEST(a_child_dies_with_its_parent)
{
	int pid;
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	struct child child = start(start_dependent, NULL);
	ck_assert_int_eq(receive(&child, &pid, 0, PATIENCE), 0);
	child_kill(&child, PATIENCE);
	child_close(&child);
	ends_by_kill(pid);
}

static void burn(void)
{
	while (clock_read(CLOCK_PROCESS_CPUTIME_ID) < BURNT)
		;
}

/* Uses CPU time by itself, in a child that it waits for, and in one that goes on. */
static void burn_thrice(void *context, int channel)
{
	int descriptors[2];
	char byte;
	burn();
	pid_t pid = fork();
	if (!pid) {
		burn();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (pipe(descriptors))
		_exit(1);
	if (!fork()) {
		burn();
		if (write(descriptors[1], "", 1) == 1)
			hang(NULL, channel);
	}
	if (read(descriptors[0], &byte, 1) == 1)
		send_number(channel, 1);
	hang(NULL, channel);
}

TEST(cpu_time_includes_grandchildren_and_outlasts_the_child)
{
	int number;
	struct child child = start(burn_thrice, NULL);
	ck_assert_int_eq(receive(&child, &number, 0, PATIENCE), 0);
	uint64_t running = child_cpu_time(&child);
	ck_assert_uint_ge(running, BURNS * BURNT - TICKS);
	child_close(&child);
	ck_assert_uint_ge(child_cpu_time(&child), running);
	/* Another one adds its own. */
	const struct child_setup setup = { .run = burn_thrice, .channel = SOCK_STREAM, .is_leader = true };
	ck_assert_int_eq(child_start(&child, &setup), 0);
	ck_assert_int_eq(receive(&child, &number, 0, PATIENCE), 0);
	ck_assert_uint_ge(child_cpu_time(&child), running + BURNS * BURNT - TICKS);
	child_close(&child);
}

TEST(cpu_time_of_a_child_that_has_ended_by_itself)
{
	int signal = SIGTERM;
	struct child child = start(end_by_signal, &signal);
	ck_assert(child_wait(&child, PATIENCE));
	uint64_t time = child_cpu_time(&child);
	ck_assert_uint_lt(time, PATIENCE);
	child_close(&child);
	ck_assert_uint_eq(child_cpu_time(&child), time);
}

static int exit_status_of(const struct child_setup *setup)
{
	struct child child = CHILD_NONE;
	ck_assert_int_eq(child_start(&child, setup), 0);
	ck_assert(child_wait(&child, PATIENCE));
	child_close(&child);
	ck_assert(WIFEXITED(child.status));
	return WEXITSTATUS(child.status);
}

TEST(a_program_has_only_its_descriptors)
{
	int opened[16];
	char *const arguments[] = { "test_child", COUNT_DESCRIPTORS, NULL };
	for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
		opened[i] = open("/dev/null", O_RDONLY);
		ck_assert_int_ge(opened[i], 0);
	}
	struct child_setup program = { .path = "/proc/self/exe", .arguments = arguments, .channel = SOCK_STREAM };
	ck_assert_int_eq(exit_status_of(&program), 4);
	program.passed[0] = opened[15];
	program.passed[2] = CHILD_CHANNEL; /* the number that another one gets */
	ck_assert_int_eq(exit_status_of(&program), 6);
	for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
		close(opened[i]);
	program = (struct child_setup){ .path = "/proc/self/exe", .arguments = arguments };
	ck_assert_int_eq(exit_status_of(&program), 3);
}

TEST(starting_and_ending_leaves_no_descriptors)
{
	size_t before = open_descriptors();
	char *const arguments[] = { "none", NULL };
	const struct child_setup missing = { .path = "/nonexistent", .arguments = arguments, .channel = SOCK_STREAM };
	for (int i = 0; i < 20; i++) {
		struct child child = start(hang, NULL);
		child_close(&child);
		ck_assert_int_eq(exit_status_of(&missing), CHILD_NOT_EXECUTED);
	}
	struct rlimit limit;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	struct child child = CHILD_NONE;
	limit.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(child_start(&child, &missing), -EMFILE);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(open_descriptors(), before);
}

static void give_up(void)
{
	if (privileges_limit(RLIMIT_FSIZE, 4096) || privileges_keep(NULL, 0, false))
		_exit(2);
}

static void check_privileges(void *context, int channel)
{
	struct rlimit size;
	bool is_limited = !getrlimit(RLIMIT_FSIZE, &size) && size.rlim_cur == 4096 && size.rlim_max == 4096;
	_exit(is_limited && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && getsid(0) == getpid() ? 0 : 1);
}

TEST(a_child_gives_up_privileges)
{
	const struct child_setup setup = { .run = check_privileges, .prepare = give_up, .is_leader = true };
	ck_assert_int_eq(exit_status_of(&setup), 0);
}

static void ignore(int number)
{
}

TEST(a_program_has_default_signal_settings)
{
	static const int numbers[] = { SIGTERM, SIGHUP, SIGUSR1 };
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, ignore);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		CLEANUP_FREE char *script = NULL;
		ck_assert_int_ge(asprintf(&script, "kill -%d $$; exit 9", numbers[i]), 0);
		char *const arguments[] = { "sh", "-c", script, NULL };
		const struct child_setup setup = { .path = "/bin/sh", .arguments = arguments };
		struct child child = CHILD_NONE;
		ck_assert_int_eq(child_start(&child, &setup), 0);
		ck_assert(child_wait(&child, PATIENCE));
		ck_assert(WIFSIGNALED(child.status) && WTERMSIG(child.status) == numbers[i]);
		child_close(&child);
	}
}

static int count_descriptors(void)
{
	int count = 0;
	for (int i = 0; i < 1024; i++)
		count += fcntl(i, F_GETFD) >= 0;
	return count;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], COUNT_DESCRIPTORS))
		return count_descriptors();
	return run_all_tests(0, NULL, NULL);
}
