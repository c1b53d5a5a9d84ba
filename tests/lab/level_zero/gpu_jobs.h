/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs on the lab's double of an xe device: a queue that runs them one after another, each for a time that is asked for
 * (tests/lab/doubles/xe). With windows jobs run only in a part of each period, so that processes can take turns:
 * periods count from the machine's start (CLOCK_MONOTONIC), the same for all.
 */
#pragma once

#include <stdint.h>

/* Jobs of a queue that are there at once: one runs, one waits, so that the engine is never idle between them. */
#define GPU_JOBS_QUEUED 2

/* Engines, as DRM_XE_ENGINE_CLASS_ in xe_drm.h. */
#define GPU_JOBS_COPY 1
#define GPU_JOBS_COMPUTE 4

struct gpu_windows {
	uint64_t active, pause; /* ns; active 0: always */
	uint64_t offset;        /* ns: the first window begins so long after a period */
};

struct gpu_jobs {
	int node;
	uint32_t queue;
	uint64_t time; /* ns that each job takes */
	struct gpu_windows windows;
	uint32_t ends[GPU_JOBS_QUEUED]; /* sync objects of the newest jobs */
	uint64_t count;                 /* jobs so far */
};

/* Opens the device's node and makes a queue on its first GT. Returns 0 or a negative errno. */
int gpu_jobs_open(struct gpu_jobs *jobs, const char *node, uint16_t engine, uint64_t time,
		  const struct gpu_windows *windows);
/*
 * Queues a job on the calling thread, once there is room and, with windows, when it will be over within the window.
 * Returns 0 or a negative errno.
 */
int gpu_jobs_submit(struct gpu_jobs *jobs);
/* Waits until all jobs are over. Returns 0 or a negative errno. */
int gpu_jobs_wait(struct gpu_jobs *jobs);
/* Waits for all jobs, and closes the node. Returns 0 or a negative errno. */
int gpu_jobs_close(struct gpu_jobs *jobs);

/* Sleeps until a time of CLOCK_MONOTONIC. */
void sleep_until(uint64_t moment);
