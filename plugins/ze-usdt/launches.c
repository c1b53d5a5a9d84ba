/* SPDX-License-Identifier: Apache-2.0 */
/* See launches.h. */
#include <errno.h>
#include <iaprof/record.h>
#include "drain.h"
#include "launches.h"

/* Two CPUs that add to the same count leave the time of either. */
static uint64_t last_time(const struct ze_count *count)
{
	return count->last_time > count->first_time ? count->last_time : count->first_time;
}

static int launch_emit(struct drain *drain, uint32_t process, uint32_t kernel, uint32_t stack, uint32_t kernel_stack,
		       const struct ze_count *count, uint64_t times)
{
	struct iaprof_record_launch launch = {
		.header = { .size = sizeof launch, .type = IAPROF_RECORD_LAUNCH, .time = last_time(count) },
		.kernel = kernel,
		.pid = process,
		.user_stack = stack,
		.kernel_stack = kernel_stack,
		.count = count->count * times,
		.first_time = count->first_time,
	};
	return record_batch_append(&drain->batch, &launch.header);
}

int launches_emit(struct drain *drain)
{
	const struct iaprof_host *host = drain->host;
	const struct ze_launch_key *keys = (const void *)drain->launches.keys;
	const struct ze_count *counts = (const void *)drain->launches.values;
	int result = 0;

	for (uint32_t i = 0; i < drain->launches.count && result == 0; i++) {
		const struct kernel *kernel = objects_find_kernel(&drain->objects, keys[i].kernel);
		/* Stored before its first launch; only forgotten when there are more than can be remembered. */
		if (!kernel) {
			host->lost(host, "kernel not known", counts[i].first_time, counts[i].count, 0, 0);
			continue;
		}
		if (!keys[i].list) {
			uint32_t stack =
				stack_index_intern(&drain->index, host, keys[i].process.id, keys[i].user_stack);
			uint32_t kernel_stack = stack_index_intern(&drain->index, host, 0, keys[i].kernel_stack);
			result = launch_emit(drain, keys[i].process.id, kernel->id, stack, kernel_stack, &counts[i], 1);
		} else if (!recordings_add(&drain->recordings, &keys[i], counts[i].count, kernel->id, kernel->module,
					   stack_index_find(&drain->index, keys[i].user_stack))) {
			result = host->fail(host, ENOMEM, "out of memory");
		}
	}
	return result;
}

static int recording_emit(struct drain *drain, const struct recording *recording, const struct ze_count *count,
			  uint64_t kernel_stack)
{
	const struct iaprof_host *host = drain->host;
	uint32_t kernel_stack_id = stack_index_intern(&drain->index, host, 0, kernel_stack);
	int result = 0;

	if (recording->dropped)
		host->lost(host, "launches of a command list not kept", count->first_time,
			   recording->launch_count * count->count, 0, 0);
	for (uint32_t i = 0; i < recording->count && result == 0; i++) {
		const struct recorded_launch *launch = &recording->launches[i];
		uint32_t stack = 0;
		if (launch->stack)
			stack = host->intern_stack(host, recording->process.id, launch->stack->addresses,
						   launch->stack->depth);
		result = launch_emit(drain, recording->process.id, launch->kernel, stack, kernel_stack_id, count,
				     launch->count);
	}
	return result;
}

int executions_emit(struct drain *drain)
{
	const struct iaprof_host *host = drain->host;
	const struct ze_execution_key *keys = (const void *)drain->executions.keys;
	const struct ze_count *counts = (const void *)drain->executions.values;
	int result = 0;

	for (uint32_t i = 0; i < drain->executions.count && result == 0; i++) {
		const struct recording *recording = recordings_find(&drain->recordings, &keys[i].process, keys[i].list);
		if (recording)
			result = recording_emit(drain, recording, &counts[i], keys[i].kernel_stack);
		else if (drain->recordings.forgotten) /* else a list without kernels, or one from before the start */
			host->lost(host, "launches of a command list not kept", counts[i].first_time,
				   IAPROF_COUNT_UNKNOWN, 0, 0);
	}
	return result;
}
