/* SPDX-License-Identifier: Apache-2.0 */
/* See confinement.h. */
#include "child/confinement.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sanitizer.h"
#include "child/privileges.h"

/* System calls of the C library, libelf, libdw and the decompressors with the descriptors that they are given. */
static const int allowed_to_all[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(readv),
	SCMP_SYS(write),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(lseek),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(getpid),
	SCMP_SYS(sysinfo), /* qsort() */
	SCMP_SYS(gettid),
	SCMP_SYS(getrandom),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sigaltstack),
};

/* System calls that the worker also needs, to create its children and to end them. */
static const int allowed_to_worker[] = {
	SCMP_SYS(clone),
	SCMP_SYS(fork),
	SCMP_SYS(wait4),
	SCMP_SYS(kill),
	SCMP_SYS(prlimit64),
	SCMP_SYS(setrlimit),
	SCMP_SYS(prctl),
	SCMP_SYS(seccomp),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(getppid),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rseq),
	SCMP_SYS(setsid),
	SCMP_SYS(setpriority),
};

static bool allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
		if (code && code != -EDOM) /* the architecture has no such call */
			return false;
	}
	return true;
}

/* Requires a value of an argument, counted from 0. */
static struct scmp_arg_cmp argument(unsigned position, uint64_t value)
{
	return (struct scmp_arg_cmp){ .arg = position, .op = SCMP_CMP_EQ, .datum_a = value };
}

/* Memory may be mapped and its protection changed, but it must never become executable. */
static bool allow_memory(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp not_executable = { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 };
	/* RLIMIT_DATA does not include shared memory. */
	const struct scmp_arg_cmp not_shared = { 3, SCMP_CMP_MASKED_EQ, MAP_SHARED, 0 };
	if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_executable) ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, not_executable, not_shared))
		return false;
	/* libelf checks whether a descriptor is open. */
	if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, argument(1, F_GETFD)))
		return false;
	/* fstat() of the C library, for a descriptor and not for a path. */
	int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1, argument(3, AT_EMPTY_PATH));
	return !code || code == -EDOM;
}

static scmp_filter_ctx make_filter(bool for_child)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return NULL;
	bool made =
		allow(filter, allowed_to_all, sizeof allowed_to_all / sizeof *allowed_to_all) && allow_memory(filter);
	if (made && !for_child)
		made = allow(filter, allowed_to_worker, sizeof allowed_to_worker / sizeof *allowed_to_worker);
	if (made)
		return filter;
	seccomp_release(filter);
	return NULL;
}

void *confinement_prepare(void)
{
	return make_filter(true);
}

static int filter_calls(void)
{
	scmp_filter_ctx filter = make_filter(false);
	int code = filter ? seccomp_load(filter) : -ENOMEM;
	seccomp_release(filter);
	return code;
}

/*
 * If the machine runs out of memory, the kernel should kill a process that a hostile file caused to grow, not the run.
 */
static void volunteer_for_out_of_memory(void)
{
	int descriptor = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (descriptor < 0)
		return;
	if (write(descriptor, "1000", 4) < 0) {
		/* Best effort: on failure, it has the score of any other process of its size. */
	}
	close(descriptor);
}

/*
 * Returns whether root is the only user of the user namespace (user_namespaces(7): a line of uid_map has the first id
 * inside, the first one outside, and their number).
 */
static bool is_only_user(void)
{
	unsigned inside, outside, count;
	CLEANUP_FCLOSE FILE *file = fopen("/proc/self/uid_map", "re");
	return file && fscanf(file, "%u %u %u", &inside, &outside, &count) == 3 && count == 1 &&
	       fscanf(file, "%u %u %u", &inside, &outside, &count) != 3;
}

/*
 * Returns whether the process must and can change its user: an unprivileged run keeps its user, and root without the
 * capabilities to change it lacks the dangerous ones as well.
 */
static bool can_change_user(void)
{
	capng_get_caps_process();
	return geteuid() == 0 && !is_only_user() && capng_have_capability(CAPNG_EFFECTIVE, CAP_SETUID) &&
	       capng_have_capability(CAPNG_EFFECTIVE, CAP_SETGID);
}

/* Changes to a root folder without files that can be opened: it contains only entries for this process. */
static void enter_empty_root(void)
{
	if (geteuid() == 0 && chroot("/proc/self/fdinfo")) {
		/* Without CAP_SYS_CHROOT, the system call filter must suffice. */
	}
}

int confinement_enter(void)
{
	volunteer_for_out_of_memory();
	bool changes_user = can_change_user();
	if (!HAS_SANITIZER)
		enter_empty_root();
	if (chdir("/") || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	capng_clear(CAPNG_SELECT_BOUNDS);
	capng_apply(CAPNG_SELECT_BOUNDS); /* requires CAP_SETPCAP, which an unprivileged run does not have */
	int code = changes_user ? privileges_change_user(true) : 0;
	if (code)
		return code;
	capng_clear(CAPNG_SELECT_BOTH);
	capng_apply(CAPNG_SELECT_CAPS);
	if (capng_have_capabilities(CAPNG_SELECT_CAPS) != CAPNG_NONE)
		return -EPERM;
	if (prctl(PR_SET_DUMPABLE, HAS_SANITIZER, 0, 0, 0))
		return -errno;
	code = privileges_limit(RLIMIT_CORE, 0);
	if (!code)
		code = privileges_limit(RLIMIT_FSIZE, 0);
	return code ? code : filter_calls();
}

int confinement_tighten(void *prepared, uint64_t data_limit)
{
	if (!HAS_SANITIZER && data_limit != UINT64_MAX) {
		int code = privileges_limit(RLIMIT_DATA, data_limit);
		if (code)
			return code;
	}
	return seccomp_load(prepared);
}
