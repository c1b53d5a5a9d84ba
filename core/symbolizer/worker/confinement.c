/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of the worker: see confinement.h. */
#include "symbolizer/worker/confinement.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * User ids for services that exist only while they run (systemd.exec(5), DynamicUser=): nobody else has a process with
 * such an id, so nobody but root can send the worker a signal.
 */
#define TRANSIENT_USER_FIRST 61184u
#define TRANSIENT_USER_COUNT 4336u
/* Where the user namespace has no such id. */
#define OVERFLOW_USER 65534u

/* Calls of the C library, libelf, libdw and the decompressors with the files that they are given. */
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

/* What the worker needs on top of it to make its children and to end them. */
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
};

static bool allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
		if (code && code != -EDOM) /* the machine has no such call */
			return false;
	}
	return true;
}

/* An argument of a call, the first is 0, that has to have this value. */
static struct scmp_arg_cmp argument(unsigned position, uint64_t value)
{
	return (struct scmp_arg_cmp){ .arg = position, .op = SCMP_CMP_EQ, .datum_a = value };
}

/* Memory may be mapped and changed, but never made executable. */
static bool allow_memory(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp not_executable = { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0 };
	/* Shared memory is not counted by RLIMIT_DATA. */
	const struct scmp_arg_cmp not_shared = { 3, SCMP_CMP_MASKED_EQ, MAP_SHARED, 0 };
	if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_executable) ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, not_executable, not_shared))
		return false;
	/* libelf asks whether a descriptor is open. */
	if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1, argument(1, F_GETFD)))
		return false;
	/* fstat() of the C library: of a descriptor, not of a path. */
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

static int limit(int resource, rlim_t most)
{
	struct rlimit now;
	if (getrlimit(resource, &now))
		return -errno;
	if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
		most = now.rlim_max;
	now.rlim_cur = now.rlim_max = most;
	return setrlimit(resource, &now) ? -errno : 0;
}

/* When memory runs short, the process that a hostile file made large goes first, not the run. */
static void volunteer_for_out_of_memory(void)
{
	int descriptor = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (descriptor < 0)
		return;
	if (write(descriptor, "1000", 4) < 0) {
		/* Then its chances are those of any process of its size. */
	}
	close(descriptor);
}

static int become_user(uid_t user)
{
	return setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user) ? -errno : 0;
}

/*
 * Whether root here is the only user that the user namespace has: whoever made it, and no more than that
 * (user_namespaces(7): a line of uid_map has the first id inside, the first one outside, and how many).
 */
static bool is_only_user(void)
{
	unsigned inside, outside, count;
	FILE *file = fopen("/proc/self/uid_map", "re");
	bool is_only = file && fscanf(file, "%u %u %u", &inside, &outside, &count) == 3 && count == 1 &&
		       fscanf(file, "%u %u %u", &inside, &outside, &count) != 3;
	if (file)
		fclose(file);
	return is_only;
}

/*
 * Whether another user has to be chosen, and can be: an unprivileged user's own run stays its user's, and root without
 * the capabilities for it has none of those that matter either.
 */
static bool can_leave_root(void)
{
	capng_get_caps_process();
	return geteuid() == 0 && !is_only_user() && capng_have_capability(CAPNG_EFFECTIVE, CAP_SETUID) &&
	       capng_have_capability(CAPNG_EFFECTIVE, CAP_SETGID);
}

static int leave_root(void)
{
	uint32_t random = 0;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return -EIO;
	int code = become_user(TRANSIENT_USER_FIRST + random % TRANSIENT_USER_COUNT);
	return code ? become_user(OVERFLOW_USER) : 0;
}

/* A root folder where no path leads to a file: what is in it is there for this process alone, and not to be opened. */
static void leave_files(void)
{
	if (geteuid() == 0 && chroot("/proc/self/fdinfo")) {
		/* Without CAP_SYS_CHROOT the filter of calls has to do. */
	}
}

int confinement_enter(void)
{
	volunteer_for_out_of_memory();
	bool can_leave = can_leave_root();
	if (!CONFINEMENT_HAS_SANITIZER)
		leave_files();
	if (chdir("/") || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	capng_clear(CAPNG_SELECT_BOUNDS);
	capng_apply(CAPNG_SELECT_BOUNDS); /* needs CAP_SETPCAP, which an unprivileged run does not have */
	int code = can_leave ? leave_root() : 0;
	if (code)
		return code;
	capng_clear(CAPNG_SELECT_BOTH);
	capng_apply(CAPNG_SELECT_CAPS);
	if (capng_have_capabilities(CAPNG_SELECT_CAPS) != CAPNG_NONE)
		return -EPERM;
	if (prctl(PR_SET_DUMPABLE, CONFINEMENT_HAS_SANITIZER, 0, 0, 0))
		return -errno;
	code = limit(RLIMIT_CORE, 0);
	if (!code)
		code = limit(RLIMIT_FSIZE, 0);
	return code ? code : filter_calls();
}

int confinement_tighten(void *prepared, uint64_t data_limit)
{
	if (!CONFINEMENT_HAS_SANITIZER && data_limit != UINT64_MAX) {
		int code = limit(RLIMIT_DATA, data_limit);
		if (code)
			return code;
	}
	return seccomp_load(prepared);
}
