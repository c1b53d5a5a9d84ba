/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu_jobs.h. */
#include "gpu_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../conformance/xe_uapi.h"
#include "../../../lib/base/clock.h"

#define SECOND UINT64_C(1000000000)

/* However slow the machine is, a job is over by then. */
#define PATIENCE (60 * SECOND)

void sleep_until(uint64_t moment)
{
	struct timespec time = { (time_t)(moment / SECOND), (long)(moment % SECOND) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
		;
}

static int call(int node, unsigned long request, void *argument)
{
	int result;

	do
		result = ioctl(node, request, argument);
	while (result != 0 && (errno == EINTR || errno == EAGAIN));
	return result ? -errno : 0;
}

static int queue_make(struct gpu_jobs *jobs, uint16_t engine)
{
	struct xe_engine_class_instance instance = { .engine_class = engine };
	struct xe_vm_create vm = { 0 };
	struct xe_exec_queue_create queue = { .width = 1, .num_placements = 1, .instances = (uintptr_t)&instance };
	int result = call(jobs->node, XE_IOCTL_VM_CREATE, &vm);

	queue.vm_id = vm.vm_id;
	if (result == 0)
		result = call(jobs->node, XE_IOCTL_EXEC_QUEUE_CREATE, &queue);
	jobs->queue = queue.exec_queue_id;
	for (unsigned i = 0; i < GPU_JOBS_QUEUED && result == 0; i++) {
		struct drm_syncobj_create end = { 0 };
		result = call(jobs->node, DRM_IOCTL_SYNCOBJ_CREATE, &end);
		jobs->ends[i] = end.handle;
	}
	return result;
}

int gpu_jobs_open(struct gpu_jobs *jobs, const char *node, uint16_t engine, uint64_t time,
		  const struct gpu_windows *windows)
{
	*jobs = (struct gpu_jobs){ .time = time, .windows = *windows };
	jobs->node = open(node, O_RDWR | O_CLOEXEC);
	if (jobs->node < 0)
		return -errno;
	int result = queue_make(jobs, engine);
	if (result)
		close(jobs->node);
	return result;
}

/* Waits for the job that had this place. */
static int job_wait(struct gpu_jobs *jobs, uint64_t number)
{
	uint32_t *end = &jobs->ends[number % GPU_JOBS_QUEUED];
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)end,
					 .count_handles = 1,
					 .timeout_nsec = (int64_t)(clock_monotonic() + PATIENCE) };

	return call(jobs->node, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

/* Sleeps until a job that is queued behind another one is over before the window is. */
static void window_wait(const struct gpu_jobs *jobs)
{
	const struct gpu_windows *windows = &jobs->windows;
	uint64_t period = windows->active + windows->pause, moment = clock_monotonic();

	if (!windows->active)
		return;
	uint64_t phase = (moment + period - windows->offset % period) % period;
	if (phase + GPU_JOBS_QUEUED * jobs->time > windows->active)
		sleep_until(moment + period - phase);
}

int gpu_jobs_submit(struct gpu_jobs *jobs)
{
	struct xe_sync end = { .flags = 1, .handle = jobs->ends[jobs->count % GPU_JOBS_QUEUED] };
	struct xe_exec exec = { .exec_queue_id = jobs->queue,
				.num_syncs = 1,
				.syncs = (uintptr_t)&end,
				.address = jobs->time,
				.num_batch_buffer = 1 };
	int result = jobs->count < GPU_JOBS_QUEUED ? 0 : job_wait(jobs, jobs->count);

	if (result)
		return result;
	window_wait(jobs);
	result = call(jobs->node, XE_IOCTL_EXEC, &exec);
	if (result == 0)
		jobs->count++;
	return result;
}

int gpu_jobs_wait(struct gpu_jobs *jobs)
{
	int result = 0;

	for (unsigned i = 0; i < GPU_JOBS_QUEUED && i < jobs->count && result == 0; i++)
		result = job_wait(jobs, i);
	return result;
}

int gpu_jobs_close(struct gpu_jobs *jobs)
{
	int result = gpu_jobs_wait(jobs);

	close(jobs->node);
	return result;
}
