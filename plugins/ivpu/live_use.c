/* SPDX-License-Identifier: Apache-2.0 */
/* See live_use.h. */
#include <inttypes.h>
#include <stdio.h>
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
						     .context = calls->context,
						     .comm = comm,
						     .count = calls->count,
						     .driver_time = calls->self_duration });
	if (place->begins_phase && phase == IVPU_PHASE_BOOT)
		npu_use_add_boot_time(&live->use, calls->pid, calls->context, calls->duration);
	/* In these, the driver also waits outside of its own functions. */
	bool is_whole = phase == IVPU_PHASE_BOOT || phase == IVPU_PHASE_RECOVERY;
	if (is_whole && place->begins_phase)
		live->use.phases[phase].elapsed += calls->duration;
	else if (!is_whole && phase != IVPU_PHASE_RUN && phase != IVPU_PHASE_IDLE)
		live->use.phases[phase].elapsed += calls->self_duration;
}

void live_use_add_job(struct live_use *live, const struct iaprof_record_job *job, const char *thread_name)
{
	npu_use_add_job(&live->use, job);
	if (*thread_name && npu_use_knows(&live->use, job->pid))
		npu_use_name(&live->use, job->pid, thread_name);
	if (job->queued && job->state != IAPROF_JOB_IN_FLIGHT)
		busy_times_add(&live->busy, job->queued, job->header.time);
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

	live->use.phases[IVPU_PHASE_RUN].elapsed = busy_times_total(&live->busy);
	for (uint32_t i = 0; i < IVPU_PHASE_COUNT; i++)
		others += live->use.phases[i].elapsed;
	/* Phases of several programs overlap. */
	live->use.phases[IVPU_PHASE_IDLE].elapsed = length > others ? length - others : 0;
}
