/* SPDX-License-Identifier: Apache-2.0 */
/* The process table's parts by themselves: accounts of users, names, files mapped as code. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/live_processes.h"
#include "process/mapped_files.h"
#include "process/name_throttle.h"
#include "process/text_budget.h"
#include "process/user_accounts.h"
#include "../run_suite.h"

/* Users */

TEST(a_user_and_all_users_are_bounded)
{
	struct user_accounts accounts;
	user_accounts_init(&accounts);
	ck_assert(user_accounts_take(&accounts, 1001, 60, 100, 150));
	ck_assert(user_accounts_take(&accounts, 1001, 40, 100, 150));
	ck_assert(!user_accounts_take(&accounts, 1001, 1, 100, 150));
	ck_assert(!user_accounts_take(&accounts, 1002, 51, 100, 150));
	ck_assert(user_accounts_take(&accounts, 1002, 50, 100, 150));
	ck_assert(!user_accounts_take(&accounts, 1003, 1, 100, 150));
	user_accounts_give_back(&accounts, 1001, 30);
	ck_assert_uint_eq(user_accounts_find(&accounts, 1001)->amount, 70);
	ck_assert_uint_eq(accounts.amount, 120);
	ck_assert(user_accounts_take(&accounts, 1003, 30, 100, 150));
	ck_assert_uint_eq(accounts.count, 3);
	/* Beyond so many they share one. */
	for (uint32_t user = 2000; user < 2000 + 2 * USER_ACCOUNTS_MAX; user++)
		ck_assert_ptr_nonnull(user_accounts_find(&accounts, user));
	ck_assert_uint_eq(accounts.count, USER_ACCOUNTS_MAX);
	struct user_account *last = &accounts.items[USER_ACCOUNTS_MAX - 1];
	ck_assert_ptr_eq(user_accounts_find(&accounts, 9999), last);
	ck_assert_ptr_eq(user_accounts_find(&accounts, 1001), &accounts.items[0]);
	ck_assert_uint_eq(last->user, 2000 + USER_ACCOUNTS_MAX - 4);
	ck_assert_uint_eq((last - 1)->user, 2000 + USER_ACCOUNTS_MAX - 5);
	user_accounts_free(&accounts);
	ck_assert_uint_eq(accounts.count, 0);
}

TEST(only_root_and_who_runs_it_are_trusted)
{
	struct user_accounts accounts;
	static const char *const wrong[] = { "", "12x", "x", "4294967295", "99999999999" };
	bool is_root = geteuid() == 0 && getuid() == 0;
	setenv("SUDO_UID", "1234", 1);
	user_accounts_init(&accounts);
	ck_assert(user_accounts_trust(&accounts, 0));
	ck_assert(user_accounts_trust(&accounts, geteuid()));
	ck_assert_int_eq(user_accounts_trust(&accounts, 1234), is_root || geteuid() == 1234);
	ck_assert(!user_accounts_trust(&accounts, 1235) || geteuid() == 1235);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		setenv("SUDO_UID", wrong[i], 1);
		user_accounts_init(&accounts);
		ck_assert_uint_eq(accounts.own_users[1], 0);
		ck_assert_uint_eq(accounts.own_users[0], geteuid());
	}
	setenv("SUDO_UID", "4294967294", 1);
	user_accounts_init(&accounts);
	ck_assert_uint_eq(accounts.own_users[1], is_root ? UINT32_MAX - 1 : 0);
}

/* A process that is gone has an unknown user, who is not trusted: 8 MiB of texts, each of which counts once. */
TEST(texts_of_a_user_are_bounded)
{
	enum { LENGTH = 4096 - 64 };
	struct text_budget *budget = calloc(1, sizeof *budget);
	ck_assert_ptr_nonnull(budget);
	char text[LENGTH];
	memset(text, 'x', sizeof text);
	text_budget_init(budget);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < TEXT_BUDGET_USER / 4096; i++) {
			memcpy(text, &i, sizeof i);
			ck_assert(text_budget_allows(budget, UINT32_MAX, text, LENGTH));
		}
	ck_assert_uint_eq(text_budget_refused(budget), 0);
	text[100] = 'y';
	ck_assert(!text_budget_allows(budget, UINT32_MAX, text, LENGTH));
	ck_assert(!text_budget_allows(budget, UINT32_MAX, text, LENGTH));
	ck_assert_uint_eq(text_budget_refused(budget), 2);
	ck_assert_uint_eq(text_budget_refused(budget), 0);
	/* One that is trusted has no bound, and what he has may be anybody's. */
	ck_assert(text_budget_allows(budget, (uint32_t)getpid(), text, LENGTH));
	ck_assert(text_budget_allows(budget, UINT32_MAX, text, LENGTH));
	text_budget_forget_users(budget);
	text[101] = 'y';
	ck_assert(!text_budget_allows(budget, UINT32_MAX, text, LENGTH));
	ck_assert(text_budget_allows(budget, (uint32_t)getpid(), text, LENGTH));
	text_budget_free(budget);
	free(budget);
}

/* Names */

TEST(names_are_reported_once_a_second)
{
	struct name_throttle renames = { 0 };
	uint64_t second = NANOSECONDS_PER_SECOND, start = 5 * second;
	char long_name[RENAME_LENGTH_MAX + 1];
	memset(long_name, 'l', sizeof long_name);
	for (unsigned i = 0; i < RENAMES_AT_ONCE; i++)
		ck_assert(name_throttle_take(&renames, start, "first", 5));
	ck_assert(!name_throttle_is_due(&renames, start + 10 * second));
	ck_assert(!name_throttle_take(&renames, start, "second", 6));
	ck_assert(!name_throttle_take(&renames, start + second - 1, "third", 5));
	ck_assert_uint_eq(renames.length, 5);
	ck_assert_mem_eq(renames.name, "third", 5);
	ck_assert(name_throttle_take(&renames, start + 1, long_name, sizeof long_name));
	ck_assert(!name_throttle_is_due(&renames, start + second - 1));
	ck_assert(renames.waits);
	ck_assert(name_throttle_is_due(&renames, start + second));
	ck_assert(!renames.waits);
	ck_assert(!name_throttle_is_due(&renames, start + 3 * second));
	ck_assert(!name_throttle_take(&renames, start + 2 * second - 1, long_name, RENAME_LENGTH_MAX));
	ck_assert(name_throttle_take(&renames, start + 2 * second, "last", 4));
	ck_assert(!renames.waits);
}

TEST(processes_come_and_go)
{
	struct live_processes processes = { 0 };
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t pid = 1; pid <= 1000; pid++)
			live_process_add(&processes, pid)->scanned = pid + round;
		ck_assert_uint_eq(processes.items.count, 1000);
		for (uint32_t pid = 1; pid <= 1000; pid++) {
			struct live_process *process = live_process_find(&processes, pid);
			ck_assert_ptr_nonnull(process);
			ck_assert_uint_eq(process->scanned, pid + round);
			ck_assert_ptr_eq(live_process_add(&processes, pid), process);
			process->leader_ended = pid % 2;
			process->renames.waits = pid % 4 == 0;
		}
		processes.leaders_ended = 500;
		processes.names_waiting = 250;
		for (uint32_t pid = 1; pid <= 1000; pid++) {
			live_process_remove(&processes, live_process_find(&processes, pid));
			ck_assert_ptr_null(live_process_find(&processes, pid));
		}
		ck_assert_uint_eq(processes.leaders_ended + processes.names_waiting, 0);
	}
	live_processes_free(&processes);
}

/* Files */

static unsigned told[2];
static char path[] = "/tmp/iaprof-test-mapped-XXXXXX";

static void tell(void *context, const struct iaprof_mapped_file *file)
{
	struct stat status;
	++*(unsigned *)context;
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_str_eq(file->path, path);
	ck_assert_uint_eq(file->pid, (uint32_t)getpid());
	ck_assert_uint_eq(file->start, 0x1000);
	ck_assert_uint_eq(file->length, 0x2000);
	ck_assert_uint_eq(file->file_offset, 0x3000);
	ck_assert_uint_eq(file->inode, status.st_ino);
	ck_assert_uint_eq(file->device_major, major(status.st_dev));
	ck_assert_uint_eq(file->device_minor, minor(status.st_dev));
	ck_assert_uint_eq(file->size, sizeof *file);
}

static void map(struct mapped_files *files, uint64_t time, uint32_t flags, uint64_t inode, const char *of)
{
	struct iaprof_record_mapping mapping = { .header.time = time,
						 .pid = (uint32_t)getpid(),
						 .start = 0x1000,
						 .size = 0x2000,
						 .file_offset = 0x3000,
						 .inode = inode,
						 .flags = flags };
	mapped_files_take(files, &mapping, of);
}

static void expect_told(unsigned times)
{
	ck_assert_uint_eq(told[0], times);
	ck_assert_uint_eq(told[1], times);
}

TEST(a_mapped_file_is_reported_once)
{
	/* A mapped file is opened by openat2(), which valgrind 3.19 does not know. */
	if (syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == ENOSYS)
		return;
	uint64_t second = NANOSECONDS_PER_SECOND, start = 10 * second;
	struct mapped_files files = { .broker = broker_new() };
	struct stat before, after;
	int descriptor = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	map(&files, start, 0, 7, path); /* nobody watches */
	ck_assert(mapped_files_watch(&files, tell, &told[0]));
	ck_assert(mapped_files_watch(&files, tell, &told[1]));
	map(&files, start, 0, 0, "[vdso]");
	map(&files, start, 0, 0, "//anon");
	map(&files, start, 0, 0, "/no/such/file");
	map(&files, start, IAPROF_MAPPING_DELETED, 7, path);
	expect_told(0);
	map(&files, start, 0, 7, path);
	expect_told(1);
	/* The same file again, by the same name, later, and by another: it may not have changed. */
	map(&files, start + 1, 0, 7, path);
	map(&files, start + second, 0, 7, path);
	map(&files, start + second, 0, 8, path);
	expect_told(1);
	/* It has, and is looked at again after a second. */
	ck_assert_int_eq(fstat(descriptor, &before), 0);
	do {
		ck_assert_int_eq(fchmod(descriptor, 0600), 0);
		ck_assert_int_eq(fstat(descriptor, &after), 0);
	} while (before.st_ctim.tv_sec == after.st_ctim.tv_sec && before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
	map(&files, start + 2 * second - 1, 0, 7, path);
	expect_told(1);
	map(&files, start + 2 * second, 0, 7, path);
	expect_told(2);
	map(&files, start + 2 * second, 0, 9, path);
	expect_told(2);
	broker_free(files.broker);
	mapped_files_free(&files);
	close(descriptor);
	unlink(path);
}

/* Room for one more. */
#define FILL(array, room)                                                                                              \
	do {                                                                                                           \
		ck_assert(array_reserve(array, room));                                                                 \
		(array)->count = (room)-1;                                                                             \
		memset((array)->items, 0, (array)->count * sizeof *(array)->items);                                    \
	} while (0)

/* A full table of names is cleared, and so is one of files: then files are reported again. */
TEST(tables_of_mapped_files_are_bounded)
{
	enum { ROOM = 65536 };
	if (syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == ENOSYS)
		return;
	uint64_t second = NANOSECONDS_PER_SECOND, start = 10 * second;
	struct mapped_files files = { .broker = broker_new() };
	int descriptor = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	ck_assert(mapped_files_watch(&files, tell, &told[0]));
	FILL(&files.names, ROOM);
	FILL(&files.files, ROOM);
	map(&files, start, 0, 7, path);
	ck_assert_uint_eq(told[0], 1);
	ck_assert_uint_eq(files.names.count, ROOM);
	ck_assert_uint_eq(files.files.count, ROOM);
	map(&files, start, 0, 7, path);
	ck_assert_uint_eq(files.names.count, ROOM);
	map(&files, start, 0, 8, path); /* another name for the same file */
	ck_assert_uint_eq(files.names.count, 1);
	ck_assert_uint_eq(files.files.count, ROOM);
	ck_assert_uint_eq(told[0], 1);
	map(&files, start, 0, 7, path);
	map(&files, start, 0, 8, path);
	ck_assert_uint_eq(files.names.count, 2);
	ck_assert_uint_eq(told[0], 1);
	static char another[] = "/tmp/iaprof-test-mapped-XXXXXX";
	unlink(path);
	close(descriptor);
	strcpy(path, another);
	descriptor = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	for (unsigned i = 0; i < 2; i++) {
		map(&files, start + second, 0, 9 + i, path);
		ck_assert_uint_eq(told[0], 2);
		ck_assert_uint_eq(files.files.count, 1);
	}
	broker_free(files.broker);
	mapped_files_free(&files);
	close(descriptor);
	unlink(path);
}

/* The mount namespace of a process is looked up again after 50 ms; a name is another one in another namespace. */
TEST(names_are_of_their_namespace)
{
	uint64_t start = 10 * NANOSECONDS_PER_SECOND, kept = NANOSECONDS_PER_SECOND / 20;
	struct mapped_files files = { .broker = broker_new() };
	struct stat status;
	ck_assert_int_eq(stat("/proc/self/ns/mnt", &status), 0);
	ck_assert(mapped_files_watch(&files, tell, &told[0]));
	map(&files, start, 0, 7, "/no/such/file");
	ck_assert_uint_eq(files.names.count, 1);
	ck_assert_uint_eq(files.names.items[0].namespace_inode, status.st_ino);
	files.last_namespace = 1;
	map(&files, start + kept - 1, 0, 7, "/no/such/file");
	ck_assert_uint_eq(files.names.count, 2);
	ck_assert_uint_eq(files.names.items[1].namespace_inode, 1);
	map(&files, start + kept, 0, 7, "/no/such/file");
	ck_assert_uint_eq(files.names.count, 2);
	ck_assert_uint_eq(files.last_namespace, status.st_ino);
	files.last_namespace = 1;
	files.last_pid = 1;
	map(&files, start + kept, 0, 8, "/no/such/file");
	ck_assert_uint_eq(files.names.count, 3);
	ck_assert_uint_eq(files.names.items[2].namespace_inode, status.st_ino);
	ck_assert_uint_eq(files.last_pid, (uint32_t)getpid());
	struct iaprof_record_mapping mapping = {
		.header.time = start + kept, .pid = UINT32_MAX, .start = 1, .size = 1
	};
	mapped_files_take(&files, &mapping, "/no/such/file"); /* there is no such process */
	ck_assert_uint_eq(files.names.items[3].namespace_inode, 0);
	broker_free(files.broker);
	mapped_files_free(&files);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
