/* SPDX-License-Identifier: GPL-2.0-only */
/* The double's device, contexts, buffers and jobs. */
#pragma once

#include <linux/irqreturn.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include "compat.h"

#define DOUBLE_PLAYERS 64   /* threads that are inside the driver at the same time */
#define DOUBLE_PROCESSES 64 /* processes that `truth` tells apart; slot 0 is interrupts, the last one all others */

/* The works of the real driver, of every generation; each function is the work's own, as in the real driver. */
#define DOUBLE_WORKS(W)                                                                                                \
	W(ivpu_ipc_irq_work_fn)                                                                                        \
	W(ivpu_context_abort_work_fn)                                                                                  \
	W(ivpu_pm_irq_dct_work_fn)                                                                                     \
	W(ivpu_pm_recovery_work)                                                                                       \
	W(ivpu_job_timeout_work)                                                                                       \
	W(ivpu_job_destroy_work_fn)

enum double_work_id {
#define W(name) WORK_##name,
	DOUBLE_WORKS(W)
#undef W
		DOUBLE_WORK_COUNT
};

struct double_work {
	struct work_struct work;
	struct list_head occurrences; /* under ivpu_device.event_lock */
	struct ivpu_device *vdev;
};

enum double_count {
	COUNT_JOBS_SUBMITTED,
	COUNT_JOBS_DONE,
	COUNT_JOBS_ABORTED,
	COUNT_IPC_SENT,
	COUNT_IPC_RECEIVED,
	COUNT_INTERRUPTS,
	COUNT_RESUMES,
	COUNT_SUSPENDS,
	COUNT_CONTEXTS,
	COUNT_BUFFERS_CREATED,
	COUNT_BUFFERS_FREED,
	COUNT_BYTES_CREATED,
	COUNT_EVENTS_LOST,
	DOUBLE_COUNTS
};

struct double_player;
struct double_scenario;
struct double_truth;

struct ivpu_device {
	struct drm_device drm;
	struct list_head link;   /* of the devices that there are, bound or still open */
	void __iomem *registers; /* of the edu device */
	int irq;
	int generation;
	struct xarray contexts;
	u64 vpu_address; /* where the next buffer begins */
	atomic64_t unique_id;
	atomic64_t heartbeat;
	atomic_t opens;
	atomic_t request_id;

	spinlock_t job_lock; /* the jobs, their buffers' job counts, the busy time */
	struct list_head jobs;
	struct list_head jobs_to_free;
	struct work_struct free_jobs;
	wait_queue_head_t job_wait;
	ktime_t busy_start;
	ktime_t busy_time;
	atomic64_t bytes;
	atomic_t buffers;
	atomic_t reset_counter;

	struct mutex scenario_mutex; /* who replaces the scenario */
	spinlock_t scenario_lock;    /* the pointer, the cursors in it, vpu_address; interrupts take it too */
	struct double_scenario *scenario;
	struct double_player *players[DOUBLE_PLAYERS];
	struct task_struct *player_tasks[DOUBLE_PLAYERS]; /* whose each of them is; compared, never followed */

	spinlock_t event_lock;
	struct list_head interrupts; /* waiting to be raised */
	bool interrupt_in_flight;
	bool stopping;
	struct double_occurrence *in_thread;
	struct list_head timers;
	struct double_work works[DOUBLE_WORK_COUNT];

	atomic64_t counts[DOUBLE_COUNTS];
	struct double_truth *truth;
	struct dentry *debugfs;
};

/* As in the driver: readers of its structs find the number of a context here. */
struct ivpu_mmu_context {
	u32 id;
};

struct ivpu_file_priv {
	struct kref ref;
	struct ivpu_device *vdev;
	struct ivpu_mmu_context ctx;
	u32 priority;
	u32 job_counter;
	u32 streams; /* bit mask of the metric groups that stream */
	struct xarray command_queues;
};

struct ivpu_bo {
	struct drm_gem_object base;
	struct ivpu_mmu_context *ctx;
	u64 vpu_addr;
	u32 flags;
	u32 job_status;
	u32 unfinished; /* jobs of which this is the command buffer; under job_lock */
	bool internal;
};

#define COMMAND_QUEUES_MAX 255

struct ivpu_job {
	struct list_head link;
	struct ivpu_file_priv *file_priv;
	u32 cmdq_id; /* 0: not of a queue that the program created */
	u32 job_id;
	u32 engine_idx;
	u32 bo_count;
	bool counted; /* in its command buffer's `unfinished` */
	struct ivpu_bo *bos[];
};

static inline struct ivpu_device *to_ivpu_device(struct drm_device *drm)
{
	return container_of(drm, struct ivpu_device, drm);
}

static inline struct ivpu_bo *to_ivpu_bo(struct drm_gem_object *object)
{
	return container_of(object, struct ivpu_bo, base);
}

static inline void double_count(struct ivpu_device *vdev, enum double_count what, s64 by)
{
	atomic64_add(by, &vdev->counts[what]);
}

/* context.c */
int double_context_create(struct ivpu_device *vdev, struct drm_file *file);
void double_context_put(struct ivpu_file_priv *file_priv);
struct ivpu_bo *double_buffer_create(struct ivpu_device *vdev, struct ivpu_mmu_context *ctx, u64 size, u32 flags);
void double_buffer_free(struct ivpu_bo *bo);

/* job.c */
struct ivpu_job *double_job_create(struct drm_file *file, const u32 *handles, u32 count, u32 offset, u32 engine,
				   u32 queue);
int double_job_submit(struct ivpu_job *job);
void double_job_discard(struct ivpu_job *job);
bool double_job_finish(struct ivpu_device *vdev, u32 queue, u32 status);
void double_job_abort_all(struct ivpu_device *vdev);
void double_job_free_work(struct work_struct *work);
u64 double_busy_time_us(struct ivpu_device *vdev);
int double_buffer_wait(struct ivpu_bo *bo, s64 timeout_ns);

/* entry.c, ioctl.c: what the kernel calls */
int ivpu_open(struct drm_device *dev, struct drm_file *file);
void ivpu_postclose(struct drm_device *dev, struct drm_file *file);
void ivpu_gem_bo_free(struct drm_gem_object *object);
int ivpu_pm_runtime_resume_cb(struct device *dev);
int ivpu_pm_runtime_suspend_cb(struct device *dev);
irqreturn_t ivpu_hw_irq_handler(int irq, void *ptr);
irqreturn_t double_irq_thread(int irq, void *ptr);
#define DOUBLE_IOCTL_NUMBERS 15
extern const struct drm_ioctl_desc double_ioctls[DOUBLE_IOCTL_NUMBERS];
#define W(name) void name(struct work_struct *work);
DOUBLE_WORKS(W)
#undef W

/* files.c, truth.c */
extern const struct attribute_group *double_attribute_groups[];
int double_files_create(struct ivpu_device *vdev);
int double_truth_create(struct ivpu_device *vdev);
void double_truth_free(struct ivpu_device *vdev);
void double_truth_reset(struct ivpu_device *vdev);
void double_truth_file(struct ivpu_device *vdev);
