/* SPDX-License-Identifier: Apache-2.0 */
/* Seccomp filters, as this program runs them and as Linux does, which is the truth. */
#include <check.h>
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../run_suite.h"
#include "inject/seccomp_filter.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define OTHERS 99

/* A filter that lets calls fail with numbers of their own, as libseccomp writes it. The caller frees it. */
static struct sock_filter *make_filter(uint32_t more, int call, size_t *count)
{
	static const int calls[] = { SCMP_SYS(swapon),      SCMP_SYS(acct),         SCMP_SYS(reboot),
				     SCMP_SYS(sethostname), SCMP_SYS(settimeofday), SCMP_SYS(pivot_root),
				     SCMP_SYS(mount),       SCMP_SYS(syslog) };
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(OTHERS));
	ck_assert_ptr_nonnull(filter);
	ck_assert_int_eq(seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(exit_group), 0), 0);
	for (size_t i = 0; i < COUNT(calls); i++) {
		const struct scmp_arg_cmp compares[] = { { 0, SCMP_CMP_EQ, 0x100000002, 0 },
							 { 1, SCMP_CMP_GE, 7, 0 },
							 { 2, SCMP_CMP_MASKED_EQ, 0xf0, 0x50 },
							 { 3, SCMP_CMP_LT, 1ull << 33, 0 },
							 { 4, SCMP_CMP_NE, 0, 0 } };
		const struct scmp_arg_cmp compare = compares[i % COUNT(compares)];
		ck_assert_int_eq(
			seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint16_t)(10 + i)), calls[i], 1, &compare), 0);
	}
	if (call >= 0)
		ck_assert_int_eq(seccomp_rule_add(filter, more, call, 0), 0);
	int file = memfd_create("filter", MFD_CLOEXEC);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(seccomp_export_bpf(filter, file), 0);
	seccomp_release(filter);
	off_t size = lseek(file, 0, SEEK_END);
	struct sock_filter *program = malloc((size_t)size);
	ck_assert_ptr_nonnull(program);
	ck_assert_int_eq(pread(file, program, (size_t)size, 0), size);
	close(file);
	*count = (size_t)size / sizeof *program;
	return program;
}

TEST(results_are_those_of_linux)
{
	static const long numbers[] = { SYS_swapon,       SYS_acct,       SYS_reboot, SYS_sethostname,
					SYS_settimeofday, SYS_pivot_root, SYS_mount,  SYS_syslog,
					SYS_getpid,       SYS_openat,     400 };
	static const uint64_t arguments[][5] = { { 0 },
						 { 0x100000002, 7, 0x50, 1, 1 },
						 { 2, 6, 0x15f, 1ull << 33, 0 },
						 { 0x100000002, UINT64_MAX, 0xff, (1ull << 33) - 1, 1ull << 40 } };
	enum { CALLS = COUNT(numbers), KINDS = COUNT(arguments) };
	size_t count;
	struct sock_filter *program = make_filter(0, -1, &count);
	int *found =
		mmap(NULL, CALLS * KINDS * sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(found, MAP_FAILED);
	pid_t child = fork();
	if (!child) {
		/* System calls themselves: what a sanitizer does around the functions is forbidden by then. */
		const struct sock_fprog loaded = { .len = (unsigned short)count, .filter = program };
		if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &loaded, 0, 0))
			syscall(SYS_exit_group, 1);
		for (int i = 0; i < CALLS * KINDS; i++) {
			const uint64_t *with = arguments[i % KINDS];
			(void)syscall(numbers[i / KINDS], with[0], with[1], with[2], with[3], with[4]);
			found[i] = errno;
		}
		syscall(SYS_exit_group, 0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	for (int i = 0; i < CALLS * KINDS; i++) {
		struct seccomp_data call = { .nr = (int)numbers[i / KINDS], .arch = SCMP_ARCH_X86_64 };
		for (int j = 0; j < 5; j++)
			call.args[j] = arguments[i % KINDS][j];
		uint32_t result = seccomp_filter_run(program, count, &call);
		ck_assert_uint_eq(result & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
		ck_assert_msg((int)(result & SECCOMP_RET_DATA) == found[i], "call %ld: %u instead of %d",
			      numbers[i / KINDS], result & SECCOMP_RET_DATA, found[i]);
	}
	munmap(found, CALLS * KINDS * sizeof *found);
	free(program);
}

static bool is_deadly(uint32_t action)
{
	size_t count;
	struct sock_filter *program = make_filter(action, SCMP_SYS(ptrace), &count);
	bool is = seccomp_filter_is_deadly(program, count);
	free(program);
	return is;
}

TEST(filters_that_end_or_hand_over_a_process_are_deadly)
{
	ck_assert(!is_deadly(SCMP_ACT_ALLOW));
	ck_assert(!is_deadly(SCMP_ACT_LOG));
	ck_assert(!is_deadly(SCMP_ACT_ERRNO(1)));
	ck_assert(is_deadly(SCMP_ACT_KILL));
	ck_assert(is_deadly(SCMP_ACT_KILL_PROCESS));
	ck_assert(is_deadly(SCMP_ACT_TRAP));
	ck_assert(is_deadly(SCMP_ACT_TRACE(1)));
	ck_assert(is_deadly(SCMP_ACT_NOTIFY));
}

/* memory protection, as filters against new code have it: only with these arguments. */
TEST(filters_that_end_a_process_by_arguments_are_deadly)
{
	const uint32_t actions[] = { SCMP_ACT_KILL, SCMP_ACT_ERRNO(1) };
	const struct scmp_arg_cmp compare = SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, 4, 4);
	for (size_t i = 0; i < COUNT(actions); i++) {
		struct sock_filter program[1024];
		scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
		int file = memfd_create("filter", MFD_CLOEXEC);
		ck_assert_int_eq(seccomp_rule_add_array(filter, actions[i], SCMP_SYS(mprotect), 1, &compare), 0);
		ck_assert_int_eq(seccomp_export_bpf(filter, file), 0);
		seccomp_release(filter);
		ssize_t size = pread(file, program, sizeof program, 0);
		ck_assert_int_gt(size, 0);
		close(file);
		ck_assert(seccomp_filter_is_deadly(program, (size_t)size / sizeof *program) == (i == 0));
	}
}

TEST(what_linux_does_not_accept_is_deadly)
{
	const struct sock_filter programs[][2] = {
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct seccomp_data)),
		  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_MEM, BPF_MEMWORDS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_MISC | BPF_TXA, 0) },
	};
	for (size_t i = 0; i < COUNT(programs); i++)
		ck_assert_msg(seccomp_filter_is_deadly(programs[i], 2), "program %zu", i);
	ck_assert(seccomp_filter_is_deadly(programs[0], 0));
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
