/* SPDX-License-Identifier: Apache-2.0 */
/* Why the correlator cannot attribute a record: see unattributable.h. */
#include "profile/unattributable.h"

#include "profile/collector.h"
#include "profile/loss.h"

/* Returns why a stall sample cannot be attributed, or NULL. */
static const char *stall_sample_refused(const struct run_metadata *facts,
					const struct iaprof_record_stall_sample *sample)
{
	static const struct iaprof_record_stall_details none;
	const struct iaprof_record_stall_details *details = iaprof_record_stall_sample_details(sample);
	details = details ? details : &none;
	bool names_kernel = sample->address_space == IAPROF_ADDRESS_KERNEL;
	if (sample->address_space > IAPROF_ADDRESS_KERNEL || names_kernel != !!details->kernel ||
	    (details->correlation && !sample->pid))
		return COLLECTOR_REASON_STALL_DETAILS;
	return details->value_type && run_metadata_find_value_type(facts, details->value_type) == LOSS_NO_VALUE_TYPE
		       ? COLLECTOR_REASON_VALUE_TYPE
		       : NULL;
}

/* Returns why the time of a job cannot be attributed, or NULL. */
static const char *job_refused(const struct run_metadata *facts, const struct iaprof_record_job *job)
{
	if (!iaprof_record_job_has_kernel(job))
		return NULL;
	if (!job->started || job->started > job->header.time)
		return COLLECTOR_REASON_JOB_START;
	return run_metadata_find_value_type(facts, job->time_type) == LOSS_NO_VALUE_TYPE ? COLLECTOR_REASON_JOB_TYPE
											 : NULL;
}

const char *unattributable_reason(const struct run_metadata *facts, const struct iaprof_record *record)
{
	return record->type == IAPROF_RECORD_STALL_SAMPLE ? stall_sample_refused(facts, (const void *)record)
	       : record->type == IAPROF_RECORD_JOB        ? job_refused(facts, (const void *)record)
							  : NULL;
}
