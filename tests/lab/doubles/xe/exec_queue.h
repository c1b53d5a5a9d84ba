/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exec queues, which run jobs through the kernel's own DRM scheduler, one scheduler for each queue as xe has it
 * (xe_guc_submit.c). A job does nothing but take its time; queues run beside each other.
 */
#pragma once

#include <linux/dma-fence.h>
#include <linux/hrtimer.h>
#include <drm/gpu_scheduler.h>
#include "device.h"

struct xe_exec_queue {
	struct xe_device *xe;
	struct xe_file *xef;
	u32 id;
	u16 engine_class; /* DRM_XE_ENGINE_CLASS_RENDER, COPY or COMPUTE */
	u8 gt_id;
	char name[16]; /* of its scheduler: engine class and a number */
	struct drm_gpu_scheduler scheduler;
	struct drm_sched_entity entity;
	struct mutex submission; /* jobs are armed and pushed in one order */
	u64 fence_context;
	u32 seqno;
	atomic_t jobs; /* not freed yet */
	wait_queue_head_t idle;
	spinlock_t lock; /* what follows */
	struct xe_hw_fence *running;
	bool killed; /* jobs that have not begun end at once */
	struct hrtimer timer;
};

struct drm_syncobj;

struct xe_hw_fence {
	struct dma_fence base;
	spinlock_t lock;
	struct xe_exec_queue *queue;
};

struct xe_sched_job {
	struct drm_sched_job drm;
	struct xe_exec_queue *q;
	struct xe_hw_fence *fence;
	u32 seqno;
	u64 batch_addr; /* how long it runs, ns */
};

struct xe_exec_queue *xe_exec_queue_create(struct xe_device *xe, struct xe_file *xef, u16 engine_class, u8 gt_id);
/* Ends its jobs and waits for it. */
void xe_exec_queue_destroy(struct xe_exec_queue *queue);
/* Queues a job that takes duration ns, and gives signaled (NULL: none) its end. */
int xe_sched_job_submit(struct xe_exec_queue *queue, struct drm_file *file, u64 duration, struct drm_syncobj *signaled);
