/* SPDX-License-Identifier: Apache-2.0 */
/* What the broker opens and reads of other processes, and how long it is waited for. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/broker.h"
#include "broker/wait_budget.h"
#include "../run_suite.h"

#define SECOND NANOSECONDS_PER_SECOND
#define USER 1000u
#define OTHER 1001u

static struct broker *broker;
static uint64_t offset; /* ns, by which the clock is ahead */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = __real_clock_gettime(clock, time);
	time->tv_sec += (time_t)(offset / SECOND);
	return result;
}

static void begin(void)
{
	offset = 0;
	broker = broker_new();
	ck_assert_ptr_nonnull(broker);
}

static void end(void)
{
	broker_free(broker);
}

/* Starts cat(1), which waits for input that does not come. */
static pid_t child_start_with(char *const *environment)
{
	int ends[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid_t pid = fork();
	if (!pid) {
		char *const arguments[] = { "cat", "-", NULL };
		dup2(ends[1], STDIN_FILENO);
		execve("/bin/cat", arguments, environment);
		_exit(1);
	}
	close(ends[1]);
	/* Until its program runs, its command line is this one's. */
	char text[16] = "";
	while (strcmp(text, "cat") != 0)
		ck_assert_int_ge(broker_read(broker, (uint32_t)pid, BROKER_COMMAND_LINE, false, text, sizeof text), 0);
	return pid;
}

static void child_stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(files_of_a_process_are_read)
{
	char *const environment[] = { "A=1", "RANK=3", "WORLD_SIZE=8", NULL };
	pid_t pid = child_start_with(environment);
	size_t length;
	CLEANUP_FREE char *text = broker_read_all(broker, (uint32_t)pid, BROKER_ENVIRONMENT, &length);
	ck_assert_uint_eq(length, sizeof "A=1\0RANK=3\0WORLD_SIZE=8");
	ck_assert_mem_eq(text, "A=1\0RANK=3\0WORLD_SIZE=8", length);
	CLEANUP_FREE char *line = broker_read_all(broker, (uint32_t)pid, BROKER_COMMAND_LINE, &length);
	ck_assert_uint_eq(length, sizeof "cat\0-");
	ck_assert_mem_eq(line, "cat\0-", length);
	char head[3];
	ck_assert_int_eq(broker_read(broker, (uint32_t)pid, BROKER_ENVIRONMENT, false, head, sizeof head), 3);
	ck_assert_mem_eq(head, "A=1", 3);
	ck_assert_int_eq(broker_read(broker, (uint32_t)pid, BROKER_ENVIRONMENT, true, head, sizeof head), 3);
	ck_assert_mem_eq(head, "\0RA", 3);
	/* Another file was begun. */
	ck_assert_int_eq(broker_read(broker, (uint32_t)pid, BROKER_COMMAND_LINE, true, head, sizeof head), -ESTALE);
	child_stop(pid);
	ck_assert_int_eq(broker_read(broker, (uint32_t)pid, BROKER_MAPS, false, head, sizeof head), -ESRCH);
	ck_assert_ptr_null(broker_read_all(broker, (uint32_t)pid, BROKER_MAPS, &length));
	ck_assert_int_eq(errno, ESRCH);
}

TEST(memory_maps_longer_than_a_message_are_read)
{
	enum { COUNT = 2000 };
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (size_t)(2 * COUNT * page), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), line[64];
	size_t length, lines = 0;
	ck_assert_ptr_ne(memory, MAP_FAILED);
	for (size_t i = 0; i < COUNT; i++)
		ck_assert_int_eq(mprotect(memory + 2 * (long)i * page, (size_t)page, PROT_READ | PROT_WRITE), 0);
	CLEANUP_FREE char *maps = broker_read_all(broker, (uint32_t)getpid(), BROKER_MAPS, &length);
	ck_assert_ptr_nonnull(maps);
	ck_assert_uint_gt(length, BROKER_BYTES_MAX);
	for (size_t i = 0; i < COUNT; i++) {
		uintptr_t start = (uintptr_t)memory + 2 * i * (size_t)page;
		snprintf(line, sizeof line, "%zx-%zx rw-p", (size_t)start, (size_t)start + (size_t)page);
		lines += strstr(maps, line) != NULL;
	}
	ck_assert_uint_eq(lines, COUNT);
}

TEST(ranks_are_read_together)
{
	char *const first[] = { "OMPI_COMM_WORLD_RANK=3", NULL }, *const second[] = { "HOME=/", NULL };
	pid_t pids[] = { child_start_with(first), child_start_with(second), child_start_with(first) };
	child_stop(pids[2]);
	const uint32_t asked[] = { (uint32_t)pids[0], (uint32_t)pids[2], (uint32_t)pids[1], (uint32_t)pids[0] };
	struct process_rank ranks[4];
	broker_ranks(broker, asked, 4, ranks);
	ck_assert_int_eq(ranks[0].state, PROCESS_RANK_FOUND);
	ck_assert_uint_eq(ranks[0].rank, 3);
	ck_assert_int_eq(ranks[1].state, PROCESS_RANK_NONE);
	ck_assert_int_eq(ranks[2].state, PROCESS_RANK_NONE);
	ck_assert_uint_eq(ranks[3].rank, 3);
	child_stop(pids[0]);
	child_stop(pids[1]);
}

TEST(memory_is_read)
{
	static const char secret[] = "memory of a process";
	char found[sizeof secret];
	ck_assert_int_eq(broker_read_memory(broker, (uint32_t)getpid(), (uintptr_t)secret, found, sizeof found), 0);
	ck_assert_str_eq(found, secret);
	ck_assert_int_eq(broker_read_memory(broker, (uint32_t)getpid(), 8, found, sizeof found), -EFAULT);
}

TEST(only_plain_files_of_a_process_are_opened)
{
	char folder[] = "/tmp/iaprof-broker-XXXXXX", path[64], other[64];
	struct stat status;
	uint32_t pid = (uint32_t)getpid();
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/file", folder);
	snprintf(other, sizeof other, "%s/other", folder);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(symlink(path, other), 0);
	int file = broker_open_file(broker, &(struct target_file_name){ .pid = pid, .path = path }, &status);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(fcntl(file, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(file);
	ck_assert_int_eq(broker_open_file(broker, &(struct target_file_name){ .pid = pid, .path = other }, &status),
			 -ELOOP);
	ck_assert_int_eq(broker_open_file(broker, &(struct target_file_name){ .pid = pid, .path = folder }, &status),
			 -EISDIR);
	ck_assert_int_eq(
		broker_open_file(broker, &(struct target_file_name){ .pid = pid, .path = "/proc/kmsg" }, &status),
		-EOPNOTSUPP);
	ck_assert_int_eq(broker_open_file(broker, &(struct target_file_name){ .pid = pid, .path = "file" }, &status),
			 -EINVAL);
	int found = broker_open_folder(broker, pid, folder);
	ck_assert_int_ge(found, 0);
	ck_assert(fcntl(found, F_GETFL) & O_PATH);
	close(found);
	ck_assert_int_lt(broker_open_folder(broker, pid, path), 0);
	unlink(path);
	unlink(other);
	rmdir(folder);
}

TEST(a_process_that_did_not_answer_is_left_alone_for_ten_seconds)
{
	struct wait_budget budget = { 0 };
	ck_assert(wait_budget_allows(&budget, USER, 10));
	wait_budget_charge(&budget, USER, 10, SECOND / 100); /* usual */
	ck_assert(wait_budget_allows(&budget, USER, 10));
	wait_budget_charge(&budget, USER, 10, SECOND / 4);
	ck_assert(!wait_budget_allows(&budget, USER, 10));
	ck_assert(wait_budget_allows(&budget, USER, 11));
	offset = 11 * SECOND;
	ck_assert(wait_budget_allows(&budget, USER, 10));
	wait_budget_free(&budget);
}

TEST(a_user_is_waited_for_as_long_as_the_run_permits)
{
	struct wait_budget budget = { 0 };
	ck_assert(wait_budget_allows(&budget, USER, 1));
	for (uint32_t pid = 1; pid < 10; pid++)
		wait_budget_charge(&budget, USER, pid, SECOND / 4);
	ck_assert(!wait_budget_allows(&budget, USER, 100));
	ck_assert(wait_budget_allows(&budget, OTHER, 100));
	/* It waited 1.8 s: 0.8 s more than it may at once, which are 1 % of 80 s. */
	offset = 70 * SECOND;
	ck_assert(!wait_budget_allows(&budget, USER, 100));
	offset = 90 * SECOND;
	ck_assert(wait_budget_allows(&budget, USER, 100));
	wait_budget_free(&budget);
}

TEST(many_users_are_waited_for_no_longer)
{
	struct wait_budget budget = { 0 };
	ck_assert(wait_budget_allows(&budget, USER, 1));
	for (uint32_t user = 1; user < 3000; user++)
		wait_budget_charge(&budget, USER + user, user, SECOND / 4);
	ck_assert(!wait_budget_allows(&budget, USER, 1));
	ck_assert(wait_budget_allows(&budget, 0, 1));
	wait_budget_free(&budget);
}

int main(void)
{
	return run_all_tests(0, begin, end);
}
