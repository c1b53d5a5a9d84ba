/* SPDX-License-Identifier: Apache-2.0 */
/* See target_map.h. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "target_map.h"
#include "targets.h"

int target_map_set(const struct iaprof_host *host, int map, const struct iaprof_target *target)
{
	size_t size = TARGET_WORDS * sizeof(uint64_t);
	uint64_t *words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (words == MAP_FAILED)
		return host->fail(host, errno, "map the BPF program's targets: %s", strerror(errno));

	const uint32_t *pids = target->pids;
	size_t count = target->pid_count;
	if (target->scope == IAPROF_SCOPE_COMMAND) {
		pids = &target->command_pid;
		count = 1;
	}
	for (size_t i = 0; i < count; i++) {
		if (pids[i] / 64 < TARGET_WORDS)
			__atomic_fetch_or(&words[pids[i] / 64], 1ull << pids[i] % 64, __ATOMIC_RELAXED);
	}
	munmap(words, size);
	return 0;
}
