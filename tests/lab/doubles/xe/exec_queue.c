// SPDX-License-Identifier: GPL-2.0-only
/* See exec_queue.h. */
#include <linux/slab.h>
#include <drm/drm_syncobj.h>
#include "exec_queue.h"
#include "trace.h"

/* A ring of xe has room for some hundred jobs; here it is this many, running and waiting. */
#define QUEUE_JOBS_MAX 1024

static const char *hw_fence_driver_name(struct dma_fence *fence)
{
	return "xe";
}

static const char *hw_fence_timeline_name(struct dma_fence *fence)
{
	return "double";
}

static const struct dma_fence_ops hw_fence_ops = {
	.get_driver_name = hw_fence_driver_name,
	.get_timeline_name = hw_fence_timeline_name,
};

/* The time of the device between two jobs, of any client. */
static void device_change(struct xe_job_times *jobs, bool begins, u64 now)
{
	unsigned long flags;

	spin_lock_irqsave(&jobs->lock, flags);
	if (begins && !jobs->running && jobs->changed)
		jobs->idle += now - jobs->changed;
	if (!begins && jobs->running == 1)
		jobs->busy += now - jobs->changed;
	if (jobs->running == !begins)
		jobs->changed = now;
	jobs->running += begins ? 1 : -1;
	jobs->count += !begins;
	spin_unlock_irqrestore(&jobs->lock, flags);
}

/* Adds up how long each engine class had jobs of a client; while a job runs its beginning is taken off. */
static void busy_change(struct xe_exec_queue *queue, bool begins)
{
	struct xe_engine_time *time = &queue->xef->engines[queue->engine_class];
	u64 now = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&queue->xef->engines_lock, flags);
	time->busy += begins ? -now : now;
	time->running += begins ? 1 : -1;
	spin_unlock_irqrestore(&queue->xef->engines_lock, flags);
	if (queue->engine_class == DRM_XE_ENGINE_CLASS_RENDER || queue->engine_class == DRM_XE_ENGINE_CLASS_COMPUTE)
		device_change(&queue->xe->jobs, begins, now);
}

static void running_job_end(struct xe_exec_queue *queue)
{
	struct xe_hw_fence *fence;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	fence = queue->running;
	queue->running = NULL;
	spin_unlock_irqrestore(&queue->lock, flags);
	if (!fence)
		return;
	busy_change(queue, false);
	dma_fence_signal(&fence->base);
	dma_fence_put(&fence->base);
}

static enum hrtimer_restart job_is_over(struct hrtimer *timer)
{
	running_job_end(container_of(timer, struct xe_exec_queue, timer));
	return HRTIMER_NORESTART;
}

static struct dma_fence *guc_exec_queue_run_job(struct drm_sched_job *drm_job)
{
	struct xe_sched_job *job = container_of(drm_job, struct xe_sched_job, drm);
	struct xe_exec_queue *queue = job->q;
	struct xe_hw_fence *fence = job->fence;
	bool killed;

	trace_xe_sched_job_run(job);
	job->fence = NULL; /* the scheduler's from here on */
	spin_lock_irq(&queue->lock);
	killed = queue->killed;
	if (!killed) {
		dma_fence_get(&fence->base);
		queue->running = fence;
		busy_change(queue, true);
		hrtimer_start(&queue->timer, ns_to_ktime(job->batch_addr), HRTIMER_MODE_REL);
	}
	spin_unlock_irq(&queue->lock);
	if (killed)
		dma_fence_signal(&fence->base);
	return &fence->base;
}

static void guc_exec_queue_free_job(struct drm_sched_job *drm_job)
{
	struct xe_sched_job *job = container_of(drm_job, struct xe_sched_job, drm);
	struct xe_exec_queue *queue = job->q;

	trace_xe_sched_job_free(job);
	if (job->fence)
		dma_fence_put(&job->fence->base);
	drm_sched_job_cleanup(drm_job);
	kfree(job);
	/* Under the lock, so that the queue stays until this is over. */
	spin_lock_irq(&queue->lock);
	if (atomic_dec_and_test(&queue->jobs))
		wake_up(&queue->idle);
	spin_unlock_irq(&queue->lock);
}

static enum drm_gpu_sched_stat guc_exec_queue_timedout_job(struct drm_sched_job *drm_job)
{
	return DRM_GPU_SCHED_STAT_ENODEV; /* never: there is no timeout */
}

static const struct drm_sched_backend_ops drm_sched_ops = {
	.run_job = guc_exec_queue_run_job,
	.free_job = guc_exec_queue_free_job,
	.timedout_job = guc_exec_queue_timedout_job,
};

struct xe_exec_queue *xe_exec_queue_create(struct xe_device *xe, struct xe_file *xef, u16 engine_class, u8 gt_id)
{
	static const char *const engine_names[] = { "rcs", "bcs", "vcs", "vecs", "ccs" };
	static atomic_t numbers = ATOMIC_INIT(0);
	struct xe_exec_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	struct drm_gpu_scheduler *scheduler;
	int err;

	if (!queue)
		return ERR_PTR(-ENOMEM);
	queue->xe = xe;
	queue->xef = xef;
	queue->engine_class = engine_class;
	queue->gt_id = gt_id;
	queue->fence_context = dma_fence_context_alloc(1);
	snprintf(queue->name, sizeof(queue->name), "%s%u", engine_names[engine_class],
		 (unsigned int)atomic_inc_return(&numbers) % 65536);
	mutex_init(&queue->submission);
	spin_lock_init(&queue->lock);
	init_waitqueue_head(&queue->idle);
	xe_hrtimer_setup(&queue->timer, job_is_over);
	err = xe_drm_sched_init(&queue->scheduler, &drm_sched_ops, queue->name, xe->drm.dev);
	if (err)
		goto free;
	scheduler = &queue->scheduler;
	err = drm_sched_entity_init(&queue->entity, 0, &scheduler, 1, NULL);
	if (!err)
		return queue;
	drm_sched_fini(&queue->scheduler);
free:
	mutex_destroy(&queue->submission);
	kfree(queue);
	return ERR_PTR(err);
}

void xe_exec_queue_destroy(struct xe_exec_queue *queue)
{
	spin_lock_irq(&queue->lock);
	queue->killed = true;
	spin_unlock_irq(&queue->lock);
	hrtimer_cancel(&queue->timer);
	running_job_end(queue);
	drm_sched_entity_destroy(&queue->entity);
	wait_event(queue->idle, !atomic_read(&queue->jobs));
	spin_lock_irq(&queue->lock); /* after whoever freed the last job */
	spin_unlock_irq(&queue->lock);
	drm_sched_fini(&queue->scheduler);
	mutex_destroy(&queue->submission);
	kfree(queue);
}

static struct xe_hw_fence *hw_fence_create(struct xe_exec_queue *queue, u32 seqno)
{
	struct xe_hw_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	fence->queue = queue;
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &hw_fence_ops, &fence->lock, queue->fence_context, seqno);
	return fence;
}

static int job_push(struct xe_exec_queue *queue, struct xe_sched_job *job, struct drm_file *file,
		    struct drm_syncobj *signaled)
{
	int err = xe_drm_sched_job_init(&job->drm, &queue->entity, queue, file);

	if (err)
		return err;
	job->seqno = ++queue->seqno;
	job->fence = hw_fence_create(queue, job->seqno);
	if (!job->fence) {
		drm_sched_job_cleanup(&job->drm);
		return -ENOMEM;
	}
	trace_xe_sched_job_create(job);
	atomic_inc(&queue->jobs);
	drm_sched_job_arm(&job->drm);
	if (signaled)
		drm_syncobj_replace_fence(signaled, &job->drm.s_fence->finished);
	trace_xe_sched_job_exec(job);
	drm_sched_entity_push_job(&job->drm);
	return 0;
}

int xe_sched_job_submit(struct xe_exec_queue *queue, struct drm_file *file, u64 duration, struct drm_syncobj *signaled)
{
	struct xe_sched_job *job;
	int err;

	/* As xe says when a ring is full. */
	if (atomic_read(&queue->jobs) >= QUEUE_JOBS_MAX)
		return -EWOULDBLOCK;
	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		return -ENOMEM;
	job->q = queue;
	job->batch_addr = duration;
	mutex_lock(&queue->submission);
	err = job_push(queue, job, file, signaled);
	mutex_unlock(&queue->submission);
	if (err)
		kfree(job);
	return err;
}
