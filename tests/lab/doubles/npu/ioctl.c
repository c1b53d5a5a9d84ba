// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of /dev/accel/accel0. Each does what include/uapi/drm/ivpu_accel.h says, with the errors of
 * drivers/accel/ivpu/{ivpu_drv,ivpu_gem,ivpu_job}.c, and plays the scenario's tree when the arguments are right.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_vma_manager.h>
#include "play.h"

#define JOB_MAX_BUFFER_COUNT 65535
#define BO_FLAGS                                                                                                       \
	(DRM_IVPU_BO_SHAVE_MEM | DRM_IVPU_BO_MAPPABLE | DRM_IVPU_BO_DMA_MEM | DRM_IVPU_BO_READ_ONLY |                  \
	 DRM_IVPU_BO_CACHE_MASK)

/* A handler: `action` checks and does, then the tree is played. */
#define HANDLER(name, number, action)                                                                                  \
	noinline int name(struct drm_device *dev, void *data, struct drm_file *file);                                  \
	noinline int name(struct drm_device *dev, void *data, struct drm_file *file)                                   \
	{                                                                                                              \
		struct double_player player;                                                                           \
		struct double_frame frame;                                                                             \
		int ret;                                                                                               \
                                                                                                                       \
		double_begin(&player, &frame, FUNCTION_##name, to_ivpu_device(dev));                                   \
		ret = action(&player, data, file);                                                                     \
		if (!ret) {                                                                                            \
			double_choose(&frame, number);                                                                 \
			DOUBLE_CALLS(&frame);                                                                          \
			ret = after(&player, number, data, file);                                                      \
		}                                                                                                      \
		double_end(&player, &frame);                                                                           \
		return ret;                                                                                            \
	}

static notrace int wait_for_buffer(struct drm_ivpu_bo_wait *args, struct drm_file *file)
{
	struct drm_gem_object *object = drm_gem_object_lookup(file, args->handle);
	int ret;

	if (!object)
		return -EINVAL;
	ret = double_buffer_wait(to_ivpu_bo(object), args->timeout_ns);
	if (!ret)
		args->job_status = to_ivpu_bo(object)->job_status;
	drm_gem_object_put(object);
	return ret;
}

/* What comes after the tree. */
static notrace int after(struct double_player *player, int number, void *data, struct drm_file *file)
{
	int ret;

	if (number == DRM_IVPU_BO_WAIT)
		return wait_for_buffer(data, file);
	/* A tree without `job submit` submits at its end. */
	if (!player->job)
		return 0;
	ret = player->job_result ?: double_job_submit(player->job);
	if (ret)
		double_job_discard(player->job);
	return ret;
}

static notrace int get_capability(struct ivpu_device *vdev, struct drm_ivpu_param *args)
{
	bool newer = vdev->generation >= IN_7_2;

	switch (args->index) {
	case DRM_IVPU_CAP_METRIC_STREAMER:
	case DRM_IVPU_CAP_DMA_MEMORY_RANGE:
		args->value = 1;
		return 0;
	case DRM_IVPU_CAP_MANAGE_CMDQ:
	case DRM_IVPU_CAP_BO_CREATE_FROM_USERPTR:
		args->value = 1;
		return newer ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static notrace int get_param(struct double_player *player, struct drm_ivpu_param *args, struct drm_file *file)
{
	struct ivpu_file_priv *file_priv = file->driver_priv;
	struct double_scenario *scenario = player->scenario;
	struct ivpu_device *vdev = player->vdev;

	switch (args->param) {
	case DRM_IVPU_PARAM_CONTEXT_PRIORITY:
		args->value = file_priv->priority;
		return 0;
	case DRM_IVPU_PARAM_CONTEXT_ID:
		args->value = file_priv->ctx.id;
		return 0;
	case DRM_IVPU_PARAM_FW_API_VERSION:
		if (args->index >= ARRAY_SIZE(scenario->firmware_api))
			return -EINVAL;
		args->value = scenario->firmware_api[args->index];
		return 0;
	case DRM_IVPU_PARAM_ENGINE_HEARTBEAT:
		if (args->index != DRM_IVPU_ENGINE_COMPUTE)
			return -EINVAL;
		args->value = atomic64_inc_return(&vdev->heartbeat);
		return 0;
	case DRM_IVPU_PARAM_UNIQUE_INFERENCE_ID:
		args->value = atomic64_inc_return(&vdev->unique_id);
		return 0;
	case DRM_IVPU_PARAM_CAPABILITIES:
		return get_capability(vdev, args);
	case DRM_IVPU_PARAM_PREEMPT_BUFFER_SIZE:
		if (vdev->generation < IN_7_2)
			return -EINVAL;
		fallthrough;
	case DRM_IVPU_PARAM_DEVICE_ID ... DRM_IVPU_PARAM_CONTEXT_BASE_ADDRESS:
	case DRM_IVPU_PARAM_TILE_CONFIG:
	case DRM_IVPU_PARAM_SKU:
		args->value = scenario->parameters[args->param];
		return 0;
	}
	return -EINVAL;
}

static notrace int set_param(struct double_player *player, struct drm_ivpu_param *args, struct drm_file *file)
{
	struct ivpu_file_priv *file_priv = file->driver_priv;

	if (args->param != DRM_IVPU_PARAM_CONTEXT_PRIORITY || args->value > DRM_IVPU_CONTEXT_PRIORITY_REALTIME)
		return -EINVAL;
	file_priv->priority = args->value;
	return 0;
}

static notrace int bo_add(struct double_player *player, struct drm_file *file, u64 asked, u32 flags, u32 *handle,
			  u64 *vpu_addr)
{
	struct ivpu_file_priv *file_priv = file->driver_priv;
	u64 size = PAGE_ALIGN(asked);
	struct ivpu_bo *bo;
	int ret;

	if (flags & ~BO_FLAGS || !size)
		return -EINVAL;
	switch (flags & DRM_IVPU_BO_CACHE_MASK) {
	case DRM_IVPU_BO_CACHED:
	case DRM_IVPU_BO_WC:
		break;
	default:
		return -EINVAL;
	}
	bo = double_buffer_create(player->vdev, &file_priv->ctx, size, flags);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = drm_gem_create_mmap_offset(&bo->base);
	if (!ret)
		ret = drm_gem_handle_create(file, &bo->base, handle);
	if (!ret)
		*vpu_addr = bo->vpu_addr;
	drm_gem_object_put(&bo->base);
	return ret;
}

static notrace int bo_create(struct double_player *player, struct drm_ivpu_bo_create *args, struct drm_file *file)
{
	return bo_add(player, file, args->size, args->flags, &args->handle, &args->vpu_addr);
}

static notrace int bo_from_user(struct double_player *player, struct drm_ivpu_bo_create_from_userptr *args,
				struct drm_file *file)
{
	/* drivers/accel/ivpu/ivpu_gem_userptr.c: whole pages, and only these two flags. */
	if (args->flags & ~(u32)(DRM_IVPU_BO_SHAVE_MEM | DRM_IVPU_BO_DMA_MEM | DRM_IVPU_BO_READ_ONLY))
		return -EINVAL;
	if (!args->user_ptr || !args->size || !PAGE_ALIGNED(args->user_ptr | args->size))
		return -EINVAL;
	if (!access_ok((const void __user *)args->user_ptr, args->size))
		return -EFAULT;
	return bo_add(player, file, args->size, args->flags, &args->handle, &args->vpu_addr);
}

static notrace int bo_info(struct double_player *player, struct drm_ivpu_bo_info *args, struct drm_file *file)
{
	struct drm_gem_object *object = drm_gem_object_lookup(file, args->handle);

	if (!object)
		return -ENOENT;
	args->flags = to_ivpu_bo(object)->flags;
	args->mmap_offset = drm_vma_node_offset_addr(&object->vma_node);
	args->vpu_addr = to_ivpu_bo(object)->vpu_addr;
	args->size = object->size;
	drm_gem_object_put(object);
	return 0;
}

static notrace int bo_wait(struct double_player *player, struct drm_ivpu_bo_wait *args, struct drm_file *file)
{
	struct drm_gem_object *object = drm_gem_object_lookup(file, args->handle);

	if (!object)
		return -EINVAL;
	drm_gem_object_put(object);
	return 0;
}

static notrace int job_new(struct double_player *player, struct drm_file *file, u64 address, u32 count, u32 offset,
			   u32 engine, u32 queue)
{
	struct ivpu_job *job;
	u32 *handles;

	if (!count || count > JOB_MAX_BUFFER_COUNT || !IS_ALIGNED(offset, 8))
		return -EINVAL;
	handles = vmemdup_array_user(u64_to_user_ptr(address), count, sizeof(*handles));
	if (IS_ERR(handles))
		return PTR_ERR(handles);
	job = double_job_create(file, handles, count, offset, engine, queue);
	kvfree(handles);
	if (IS_ERR(job))
		return PTR_ERR(job);
	player->job = job;
	return 0;
}

static notrace int submit(struct double_player *player, struct drm_ivpu_submit *args, struct drm_file *file)
{
	/* The copy engine is refused since 6.13 (ivpu_submit_ioctl() of drivers/accel/ivpu/ivpu_job.c). */
	if (args->engine > (player->vdev->generation < IN_6_13 ? DRM_IVPU_ENGINE_COPY : DRM_IVPU_ENGINE_COMPUTE))
		return -EINVAL;
	if (args->priority > DRM_IVPU_JOB_PRIORITY_REALTIME)
		return -EINVAL;
	return job_new(player, file, args->buffers_ptr, args->buffer_count, args->commands_offset, args->engine, 0);
}

static notrace int queue_create(struct double_player *player, struct drm_ivpu_cmdq_create *args, struct drm_file *file)
{
	struct ivpu_file_priv *file_priv = file->driver_priv;

	if (args->priority > DRM_IVPU_JOB_PRIORITY_REALTIME || args->flags & ~DRM_IVPU_CMDQ_FLAG_TURBO)
		return -EINVAL;
	return xa_alloc(&file_priv->command_queues, &args->cmdq_id, file_priv, XA_LIMIT(1, COMMAND_QUEUES_MAX),
			GFP_KERNEL);
}

static notrace int queue_destroy(struct double_player *player, struct drm_ivpu_cmdq_destroy *args,
				 struct drm_file *file)
{
	struct ivpu_file_priv *file_priv = file->driver_priv;

	return xa_erase(&file_priv->command_queues, args->cmdq_id) ? 0 : -ENOENT;
}

static notrace int queue_submit(struct double_player *player, struct drm_ivpu_cmdq_submit *args, struct drm_file *file)
{
	struct ivpu_file_priv *file_priv = file->driver_priv;

	if (!args->cmdq_id || !xa_load(&file_priv->command_queues, args->cmdq_id))
		return -EINVAL;
	return job_new(player, file, args->buffers_ptr, args->buffer_count, args->commands_offset,
		       DRM_IVPU_ENGINE_COMPUTE, args->cmdq_id);
}

HANDLER(ivpu_get_param_ioctl, DRM_IVPU_GET_PARAM, get_param)
HANDLER(ivpu_set_param_ioctl, DRM_IVPU_SET_PARAM, set_param)
HANDLER(ivpu_bo_create_ioctl, DRM_IVPU_BO_CREATE, bo_create)
HANDLER(ivpu_bo_info_ioctl, DRM_IVPU_BO_INFO, bo_info)
HANDLER(ivpu_bo_wait_ioctl, DRM_IVPU_BO_WAIT, bo_wait)
HANDLER(ivpu_submit_ioctl, DRM_IVPU_SUBMIT, submit)
HANDLER(ivpu_cmdq_create_ioctl, DRM_IVPU_CMDQ_CREATE, queue_create)
HANDLER(ivpu_cmdq_destroy_ioctl, DRM_IVPU_CMDQ_DESTROY, queue_destroy)
HANDLER(ivpu_cmdq_submit_ioctl, DRM_IVPU_CMDQ_SUBMIT, queue_submit)
HANDLER(ivpu_bo_create_from_userptr_ioctl, DRM_IVPU_BO_CREATE_FROM_USERPTR, bo_from_user)

int ivpu_ms_start_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int ivpu_ms_stop_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int ivpu_ms_get_data_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int ivpu_ms_get_info_ioctl(struct drm_device *dev, void *data, struct drm_file *file);

const struct drm_ioctl_desc double_ioctls[DOUBLE_IOCTL_NUMBERS] = {
	DRM_IOCTL_DEF_DRV(IVPU_GET_PARAM, ivpu_get_param_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_SET_PARAM, ivpu_set_param_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_BO_CREATE, ivpu_bo_create_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_BO_INFO, ivpu_bo_info_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_SUBMIT, ivpu_submit_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_BO_WAIT, ivpu_bo_wait_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_METRIC_STREAMER_START, ivpu_ms_start_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_METRIC_STREAMER_STOP, ivpu_ms_stop_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_METRIC_STREAMER_GET_DATA, ivpu_ms_get_data_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_METRIC_STREAMER_GET_INFO, ivpu_ms_get_info_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_CMDQ_CREATE, ivpu_cmdq_create_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_CMDQ_DESTROY, ivpu_cmdq_destroy_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_CMDQ_SUBMIT, ivpu_cmdq_submit_ioctl, 0),
	DRM_IOCTL_DEF_DRV(IVPU_BO_CREATE_FROM_USERPTR, ivpu_bo_create_from_userptr_ioctl, 0),
};
