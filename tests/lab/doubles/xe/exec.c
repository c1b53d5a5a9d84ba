// SPDX-License-Identifier: GPL-2.0-only
/*
 * EXEC_QUEUE_CREATE, EXEC_QUEUE_DESTROY and EXEC (xe_exec_queue.c, xe_exec.c, Linux 7.2): arguments are checked as
 * there, and a job runs through the DRM scheduler. What the batch buffer's address means is the double's own: the job's
 * time in nanoseconds.
 */
#include <linux/uaccess.h>
#include <drm/drm_syncobj.h>
#include "exec_queue.h"

#define JOB_TIME_MAX (10 * NSEC_PER_SEC)

static bool engine_is_there(struct xe_device *xe, const struct drm_xe_engine_class_instance *engine)
{
	struct xe_gt *gt = xe_device_get_gt(xe, engine->gt_id);

	if (!gt || gt->config.media || engine->engine_instance || engine->gt_id >= XE_MAX_GT)
		return false;
	return engine->engine_class == DRM_XE_ENGINE_CLASS_COMPUTE ||
	       engine->engine_class == DRM_XE_ENGINE_CLASS_COPY ||
	       (engine->engine_class == DRM_XE_ENGINE_CLASS_RENDER && !xe->platform.pvc);
}

noinline int xe_exec_queue_create_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_xe_exec_queue_create *args = data;
	struct xe_device *xe = to_xe_device(dev);
	struct xe_file *xef = file->driver_priv;
	struct drm_xe_engine_class_instance engine;
	struct xe_exec_queue *queue;
	int err;

	if (args->flags & ~XE_EXEC_QUEUE_LOW_LATENCY_HINT || args->reserved[0] || args->reserved[1] || args->extensions)
		return -EINVAL;
	/* One batch on one engine: that is all the double has. */
	if (args->width != 1 || args->num_placements != 1)
		return -EINVAL;
	if (copy_from_user(&engine, u64_to_user_ptr(args->instances), sizeof(engine)))
		return -EFAULT;
	down_read(&xe->config);
	err = engine_is_there(xe, &engine) ? 0 : -EINVAL;
	up_read(&xe->config);
	if (err)
		return err;
	if (!xa_load(&xef->vms, args->vm_id))
		return -ENOENT;
	queue = xe_exec_queue_create(xe, xef, engine.engine_class, engine.gt_id);
	if (IS_ERR(queue))
		return PTR_ERR(queue);
	/* Others see it only when all of it is there. */
	err = xa_alloc(&xef->exec_queues, &queue->id, NULL, xa_limit_31b, GFP_KERNEL);
	if (err) {
		xe_exec_queue_destroy(queue);
		return err;
	}
	args->exec_queue_id = queue->id;
	WRITE_ONCE(xef->has_queues, true);
	xa_store(&xef->exec_queues, queue->id, queue, GFP_KERNEL);
	return 0;
}

noinline int xe_exec_queue_destroy_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_xe_exec_queue_destroy *args = data;
	struct xe_file *xef = file->driver_priv;
	struct xe_exec_queue *queue;

	if (args->pad || args->reserved[0] || args->reserved[1])
		return -EINVAL;
	down_write(&xef->exec_queues_lock);
	queue = xa_erase(&xef->exec_queues, args->exec_queue_id);
	if (queue)
		xe_exec_queue_destroy(queue);
	up_write(&xef->exec_queues_lock);
	return queue ? 0 : -ENOENT;
}

/* The sync object that the job is to signal; NULL none. */
static int exec_sync(const struct drm_xe_exec *args, struct drm_file *file, struct drm_syncobj **signaled)
{
	struct drm_xe_sync sync;

	*signaled = NULL;
	if (!args->num_syncs)
		return 0;
	if (args->num_syncs > 1)
		return -EINVAL;
	if (copy_from_user(&sync, u64_to_user_ptr(args->syncs), sizeof(sync)))
		return -EFAULT;
	if (sync.extensions || sync.type != DRM_XE_SYNC_TYPE_SYNCOBJ || sync.flags != DRM_XE_SYNC_FLAG_SIGNAL ||
	    sync.reserved[0] || sync.reserved[1])
		return -EINVAL;
	*signaled = drm_syncobj_find(file, sync.handle);
	return *signaled ? 0 : -ENOENT;
}

noinline int xe_exec_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_xe_exec *args = data;
	struct xe_file *xef = file->driver_priv;
	struct drm_syncobj *signaled;
	struct xe_exec_queue *queue;
	int err;

	if (args->extensions || args->pad[0] || args->pad[1] || args->pad[2] || args->reserved[0] || args->reserved[1])
		return -EINVAL;
	if (args->num_batch_buffer != 1 || !args->address || args->address > JOB_TIME_MAX)
		return -EINVAL;
	err = exec_sync(args, file, &signaled);
	if (err)
		return err;
	down_read(&xef->exec_queues_lock);
	queue = xa_load(&xef->exec_queues, args->exec_queue_id);
	err = queue ? xe_sched_job_submit(queue, file, args->address, signaled) : -ENOENT;
	up_read(&xef->exec_queues_lock);
	if (signaled)
		drm_syncobj_put(signaled);
	return err;
}

void xe_exec_queues_close(struct xe_file *xef)
{
	struct xe_exec_queue *queue;
	unsigned long id;

	xa_for_each(&xef->exec_queues, id, queue) xe_exec_queue_destroy(queue);
	xa_destroy(&xef->exec_queues);
}

u64 xe_engine_busy(struct xe_file *xef, u16 engine_class)
{
	u64 busy;

	spin_lock_irq(&xef->engines_lock);
	busy = xef->engines[engine_class].busy + xef->engines[engine_class].running * ktime_get_ns();
	spin_unlock_irq(&xef->engines_lock);
	return busy;
}
