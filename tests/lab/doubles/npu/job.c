// SPDX-License-Identifier: GPL-2.0-only
/* Jobs: from submission to completion, and who waits for them. The hardware does those of a queue in the order of
 * submission. */
#include <linux/slab.h>
#include <drm/drm_utils.h>
#include "play.h"
#include "trace.h"

/* A job's identifier: bits 7:0 count in the context, the others are the context (JOB_ID_*_MASK, ivpu_job.h). */
#define JOBS_OF_CONTEXT 256

struct ivpu_job *double_job_create(struct drm_file *file, const u32 *handles, u32 count, u32 offset, u32 engine,
				   u32 queue)
{
	struct ivpu_file_priv *file_priv = file->driver_priv;
	struct ivpu_device *vdev = file_priv->vdev;
	struct ivpu_job *job;
	int ret = 0;
	u32 i;

	job = kzalloc(struct_size(job, bos, count), GFP_KERNEL);
	if (!job)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&job->link);
	job->engine_idx = engine;
	job->cmdq_id = queue;
	job->file_priv = file_priv;
	kref_get(&file_priv->ref);
	trace_job("create", job);
	for (i = 0; i < count; i++) {
		struct drm_gem_object *object = drm_gem_object_lookup(file, handles[i]);

		if (!object) {
			ret = -ENOENT;
			break;
		}
		job->bos[job->bo_count++] = to_ivpu_bo(object);
	}
	if (!ret) {
		spin_lock_irq(&vdev->job_lock);
		if (job->bos[0]->unfinished)
			ret = -EBUSY;
		else if (offset >= job->bos[0]->base.size)
			ret = -EINVAL;
		else
			job->bos[0]->unfinished++;
		job->counted = !ret;
		spin_unlock_irq(&vdev->job_lock);
	}
	if (!ret)
		return job;
	double_job_discard(job);
	return ERR_PTR(ret);
}

static void job_free(struct ivpu_job *job)
{
	u32 i;

	for (i = 0; i < job->bo_count; i++)
		drm_gem_object_put(&job->bos[i]->base);
	double_context_put(job->file_priv);
	kfree(job);
}

/* A job that was never submitted. */
void double_job_discard(struct ivpu_job *job)
{
	struct ivpu_device *vdev = job->file_priv->vdev;

	if (job->counted) {
		spin_lock_irq(&vdev->job_lock);
		job->bos[0]->unfinished--;
		spin_unlock_irq(&vdev->job_lock);
	}
	job_free(job);
}

static bool job_id_is_used(struct ivpu_device *vdev, u32 id)
{
	struct ivpu_job *job;

	list_for_each_entry(job, &vdev->jobs, link) if (job->job_id == id) return true;
	return false;
}

int double_job_submit(struct ivpu_job *job)
{
	struct ivpu_file_priv *file_priv = job->file_priv;
	struct ivpu_device *vdev = file_priv->vdev;
	int tries, ret;

	/* The device stays awake while it has a job. */
	ret = pm_runtime_resume_and_get(vdev->drm.dev);
	if (ret < 0)
		return ret;
	spin_lock_irq(&vdev->job_lock);
	/* An unbound device ends its jobs once. */
	ret = drm_dev_is_unplugged(&vdev->drm) ? -ENODEV : -EBUSY;
	for (tries = 0; tries < JOBS_OF_CONTEXT && ret == -EBUSY; tries++) {
		u32 id = file_priv->ctx.id << 8 | (file_priv->job_counter++ & 0xff);

		if (job_id_is_used(vdev, id))
			continue;
		job->job_id = id;
		ret = 0;
	}
	if (!ret) {
		if (list_empty(&vdev->jobs))
			vdev->busy_start = ktime_get();
		list_add_tail(&job->link, &vdev->jobs);
		double_count(vdev, COUNT_JOBS_SUBMITTED, 1);
		trace_job("submit", job);
	}
	spin_unlock_irq(&vdev->job_lock);
	if (ret)
		pm_runtime_put_autosuspend(vdev->drm.dev);
	return ret;
}

/* The oldest job, or that of a queue. NULL: there is none. */
static struct ivpu_job *job_oldest(struct ivpu_device *vdev, u32 queue)
{
	struct ivpu_job *job;

	list_for_each_entry(job, &vdev->jobs, link) if (!queue || job->cmdq_id == queue) return job;
	return NULL;
}

/* The oldest job, of a queue if it is not 0, is over. false: there was none. May be called in an interrupt. */
bool double_job_finish(struct ivpu_device *vdev, u32 queue, u32 status)
{
	struct ivpu_job *job;
	unsigned long flags;

	spin_lock_irqsave(&vdev->job_lock, flags);
	job = job_oldest(vdev, queue);
	if (job) {
		list_del(&job->link);
		if (list_empty(&vdev->jobs))
			vdev->busy_time = ktime_add(vdev->busy_time, ktime_sub(ktime_get(), vdev->busy_start));
		job->bos[0]->job_status = status;
		job->bos[0]->unfinished--;
		double_count(vdev, status == DRM_IVPU_JOB_STATUS_SUCCESS ? COUNT_JOBS_DONE : COUNT_JOBS_ABORTED, 1);
		trace_job("done", job);
		list_add_tail(&job->link, &vdev->jobs_to_free);
	}
	spin_unlock_irqrestore(&vdev->job_lock, flags);
	if (!job)
		return false;
	wake_up_all(&vdev->job_wait);
	/* Its buffers may go away with it, which sleeps. */
	if (in_interrupt() || irqs_disabled())
		schedule_work(&vdev->free_jobs);
	else
		double_job_free_work(&vdev->free_jobs);
	pm_runtime_mark_last_busy(vdev->drm.dev);
	pm_runtime_put_autosuspend(vdev->drm.dev);
	return true;
}

/* All jobs that there are now. Who waits for one may submit another before the others are over: that one stays. */
void double_job_abort_all(struct ivpu_device *vdev)
{
	unsigned long flags;
	size_t count;

	spin_lock_irqsave(&vdev->job_lock, flags);
	count = list_count_nodes(&vdev->jobs);
	spin_unlock_irqrestore(&vdev->job_lock, flags);
	while (count-- && double_job_finish(vdev, 0, DRM_IVPU_JOB_STATUS_ABORTED))
		;
}

void double_job_free_work(struct work_struct *work)
{
	struct ivpu_device *vdev = container_of(work, struct ivpu_device, free_jobs);
	struct ivpu_job *job;

	for (;;) {
		spin_lock_irq(&vdev->job_lock);
		job = list_first_entry_or_null(&vdev->jobs_to_free, struct ivpu_job, link);
		if (job)
			list_del(&job->link);
		spin_unlock_irq(&vdev->job_lock);
		if (!job)
			return;
		job_free(job);
	}
}

u64 double_busy_time_us(struct ivpu_device *vdev)
{
	ktime_t total;

	spin_lock_irq(&vdev->job_lock);
	total = vdev->busy_time;
	if (!list_empty(&vdev->jobs))
		total = ktime_add(total, ktime_sub(ktime_get(), vdev->busy_start));
	spin_unlock_irq(&vdev->job_lock);
	return ktime_to_us(total);
}

static bool buffer_is_idle(struct ivpu_device *vdev, struct ivpu_bo *bo)
{
	bool idle;

	spin_lock_irq(&vdev->job_lock);
	idle = !bo->unfinished;
	spin_unlock_irq(&vdev->job_lock);
	return idle;
}

int double_buffer_wait(struct ivpu_bo *bo, s64 timeout_ns)
{
	struct ivpu_device *vdev = to_ivpu_device(bo->base.dev);
	/* One more, as the real driver does: never earlier than asked. */
	unsigned long timeout = drm_timeout_abs_to_jiffies(timeout_ns) + 1;
	long ret;

	ret = wait_event_interruptible_timeout(vdev->job_wait, buffer_is_idle(vdev, bo), min(timeout, LONG_MAX));
	if (ret < 0)
		return ret;
	return ret ? 0 : -ETIMEDOUT;
}
