/* SPDX-License-Identifier: Apache-2.0 */
/* See handover.h. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "handover.h"
#include "ze-usdt.bpf.skel.h"

/* The earlier run ends within seconds, or it is stuck. */
#define EARLIER_MAX UINT64_C(10000000000) /* ns */

/* A thread id that launches nothing: a run that has ended sets its limit there. */
static const uint32_t ended_key = 0;

int handover_inherit(struct handover *handover, const struct ze_usdt_bpf *earlier)
{
	int map = fcntl(bpf_map__fd(earlier->maps.handover), F_DUPFD_CLOEXEC, 3);

	if (map < 0)
		return -errno;
	handover->map = map;
	handover->waits = true;
	return 0;
}

void handover_limit(struct handover *handover, uint64_t begin, uint64_t end)
{
	__atomic_store_n(&handover->skeleton->bss->limit_begin, begin, __ATOMIC_SEQ_CST);
	__atomic_store_n(&handover->skeleton->data->limit_end, end, __ATOMIC_SEQ_CST);
}

uint64_t handover_time(const struct handover *handover)
{
	return __atomic_load_n(&handover->skeleton->data->limit_end, __ATOMIC_SEQ_CST);
}

/* Without a limit, the earlier run was stopped before this one started. */
static bool earlier_has_ended(const struct handover *handover, uint64_t now)
{
	uint64_t begin = __atomic_load_n(&handover->skeleton->bss->limit_begin, __ATOMIC_SEQ_CST), ended = 0;

	if (begin == UINT64_MAX)
		return false;
	bpf_map_lookup_elem(bpf_map__fd(handover->skeleton->maps.handover), &ended_key, &ended);
	return !begin || ended == begin || (now > begin && now - begin > EARLIER_MAX);
}

bool handover_earlier_ended(struct handover *handover, uint64_t now)
{
	if (!handover->waits || !earlier_has_ended(handover, now))
		return false;
	handover->waits = false;
	return true;
}

void handover_end(const struct handover *handover)
{
	uint64_t end = handover_time(handover);

	if (end != UINT64_MAX)
		bpf_map_update_elem(bpf_map__fd(handover->skeleton->maps.handover), &ended_key, &end, BPF_ANY);
}

void handover_free(struct handover *handover)
{
	if (handover->map > 0)
		close(handover->map);
}
