/* SPDX-License-Identifier: Apache-2.0 */
/* See privileges.h. */
#include "child/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

/* Of all Linux kernels: capabilities are a mask of 64 bits. */
#define CAPABILITIES_MAX 64u
#define TRANSIENT_USER_FIRST 61184u
#define TRANSIENT_USER_COUNT 4336u
#define OVERFLOW_USER 65534u

int privileges_keep(const unsigned *capabilities, size_t count, bool inherits)
{
	capng_get_caps_process();
	for (unsigned capability = 0; capability < CAPABILITIES_MAX; capability++) {
		bool is_kept = false;
		for (size_t i = 0; i < count; i++)
			is_kept |= capabilities[i] == capability;
		if (!is_kept)
			capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED, capability);
		if (!is_kept || !inherits)
			capng_update(CAPNG_DROP, CAPNG_INHERITABLE, capability);
	}
	int code = capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : code;
}

static int become_user(uid_t user)
{
	return setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user) ? -errno : 0;
}

int privileges_change_user(bool may_be_shared)
{
	uint32_t random = 0;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return -EIO;
	int code = become_user(TRANSIENT_USER_FIRST + random % TRANSIENT_USER_COUNT);
	return code && may_be_shared ? become_user(OVERFLOW_USER) : code;
}

int privileges_limit(int resource, rlim_t most)
{
	struct rlimit now;
	if (getrlimit(resource, &now))
		return -errno;
	if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most)
		most = now.rlim_max;
	now.rlim_cur = now.rlim_max = most;
	return setrlimit(resource, &now) ? -errno : 0;
}
