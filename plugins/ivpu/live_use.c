/* SPDX-License-Identifier: Apache-2.0 */
/* See live_use.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/machine.h"
#include "live_use.h"
#include "npu_users.h"

/* The name is "" if the process has exited. */
static void comm_read(uint32_t pid, char *comm, size_t size)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
	if (line_read(path, comm, size))
		*comm = '\0';
}

void live_use_add(struct live_use *live, const struct ivpu_function *function, const struct calls *calls,
		  const struct call_place *place)
{
	enum ivpu_phase phase = place->place.phase;
	char comm[NPU_USE_COMM_SIZE] = "";

	if (calls->pid && !npu_use_knows(&live->use, calls->pid))
		comm_read(calls->pid, comm, sizeof comm);
	npu_use_add(&live->use, &(struct npu_calls){ .function = function,
						     .place = place->place,
						     .pid = calls->pid,
						     .comm = comm,
						     .count = calls->count,
						     .driver_time = calls->self_duration });
	/* In these, the driver also waits outside of its own functions. */
	bool is_whole = phase == IVPU_PHASE_BOOT || phase == IVPU_PHASE_RECOVERY;
	if (is_whole && place->begins_phase)
		live->use.phases[phase].elapsed += calls->duration;
	else if (!is_whole && phase != IVPU_PHASE_RUN && phase != IVPU_PHASE_IDLE)
		live->use.phases[phase].elapsed += calls->self_duration;
}

static void oldest_sum(struct live_use *live)
{
	live->use.phases[IVPU_PHASE_RUN].elapsed += live->busy[0].end - live->busy[0].begin;
	live->busy_count--;
	memmove(live->busy, live->busy + 1, live->busy_count * sizeof *live->busy);
}

void live_use_add_job(struct live_use *live, const struct iaprof_record_job *job)
{
	uint64_t begin = job->queued, end = job->header.time;

	npu_use_add_job(&live->use, job);
	if (!begin || end <= begin)
		return;
	/* Nearly always, the last interval ends before this one begins, or overlaps it. */
	while (live->busy_count && live->busy[live->busy_count - 1].end >= begin) {
		live->busy_count--;
		begin = live->busy[live->busy_count].begin < begin ? live->busy[live->busy_count].begin : begin;
		end = live->busy[live->busy_count].end > end ? live->busy[live->busy_count].end : end;
	}
	if (live->busy_count == LIVE_USE_INTERVALS)
		oldest_sum(live);
	live->busy[live->busy_count].begin = begin;
	live->busy[live->busy_count++].end = end;
}

void live_use_read_memory(struct live_use *live)
{
	uint64_t bytes;

	for (size_t i = 0; i < live->use.processes.count; i++) {
		const struct npu_process *process = &live->use.processes.items[i];
		if (process->is_user && npu_user_memory("/proc", process->key, &bytes))
			npu_use_set_memory(&live->use, process->key, bytes);
	}
}

void live_use_finish(struct live_use *live, uint64_t length)
{
	uint64_t others = 0;

	while (live->busy_count)
		oldest_sum(live);
	for (uint32_t i = 0; i < IVPU_PHASE_COUNT; i++)
		others += live->use.phases[i].elapsed;
	/* Phases of several programs overlap. */
	live->use.phases[IVPU_PHASE_IDLE].elapsed = length > others ? length - others : 0;
}
