/* SPDX-License-Identifier: Apache-2.0 */
/* See job_records.h. */
#include "job_records.h"

int job_records_append(struct record_batch *batch, const struct scheduler_job *job, uint32_t device, uint64_t now)
{
	/* The times were taken on several CPUs. */
	uint64_t started = !now && job->started > job->ended ? job->ended : job->started;
	const struct iaprof_record_job record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_JOB, .time = now ? now : job->ended },
		.submitted = job->submitted,
		.queued = job->queued,
		.started = now || !job->queued ? 0 : started,
		.id = (uint32_t)job->key.seqno,
		.pid = job->process.pid,
		.tid = job->thread,
		.device = device,
		.context = (uint32_t)job->key.context,
		.engine = record_batch_text(batch, job->engine == SCHEDULER_ENGINE_RENDER ? "render" : "compute"),
		.state = now          ? IAPROF_JOB_IN_FLIGHT
			 : job->error ? IAPROF_JOB_ABORTED
				      : IAPROF_JOB_DONE,
		.status = (uint32_t)-job->error,
	};
	return record_batch_append(batch, &record.header);
}
