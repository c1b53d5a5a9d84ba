/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a run as bytes: the struct, the processes, and the folder of the cgroup. */
#include <errno.h>
#include <string.h>

#include "run/isolation/isolated_process.h"

ptrdiff_t isolated_target_pack(const struct iaprof_target *target, char *bytes, size_t capacity)
{
	size_t pids = (size_t)target->pid_count * sizeof *target->pids;
	size_t folder = target->cgroup ? strlen(target->cgroup) + 1 : 0;
	if (sizeof *target + pids + folder > capacity)
		return -E2BIG;
	memcpy(bytes, target, sizeof *target);
	if (pids)
		memcpy(bytes + sizeof *target, target->pids, pids);
	if (folder)
		memcpy(bytes + sizeof *target + pids, target->cgroup, folder);
	return (ptrdiff_t)(sizeof *target + pids + folder);
}

int isolated_target_unpack(const char *bytes, size_t size, struct iaprof_target *target)
{
	if (size < sizeof *target)
		return -EBADMSG;
	memcpy(target, bytes, sizeof *target);
	size_t pids = (size_t)target->pid_count * sizeof *target->pids;
	if (size - sizeof *target < pids)
		return -EBADMSG;
	const char *folder = bytes + sizeof *target + pids;
	target->pids = target->pid_count ? (const uint32_t *)(bytes + sizeof *target) : NULL;
	target->cgroup = folder < bytes + size ? folder : NULL;
	return 0;
}
