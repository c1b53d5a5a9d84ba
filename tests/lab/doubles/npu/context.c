// SPDX-License-Identifier: GPL-2.0-only
/* Contexts, one for each open file, and buffers. A buffer has a size and addresses, but no memory behind it. */
#include <linux/slab.h>
#include "play.h"

/* IVPU_USER_CONTEXT_MIN_SSID and _MAX_SSID of drivers/accel/ivpu/ivpu_drv.h: 64 contexts. */
#define CONTEXT_FIRST 2
#define CONTEXT_LAST 65

int double_context_create(struct ivpu_device *vdev, struct drm_file *file)
{
	struct ivpu_file_priv *file_priv = kzalloc(sizeof(*file_priv), GFP_KERNEL);
	int ret;

	if (!file_priv)
		return -ENOMEM;
	kref_init(&file_priv->ref);
	file_priv->vdev = vdev;
	file_priv->priority = DRM_IVPU_CONTEXT_PRIORITY_NORMAL;
	xa_init_flags(&file_priv->command_queues, XA_FLAGS_ALLOC1);
	ret = xa_alloc_irq(&vdev->contexts, &file_priv->ctx.id, file_priv, XA_LIMIT(CONTEXT_FIRST, CONTEXT_LAST),
			   GFP_KERNEL);
	if (ret) {
		xa_destroy(&file_priv->command_queues);
		kfree(file_priv);
		return ret;
	}
	atomic_inc(&vdev->opens);
	double_count(vdev, COUNT_CONTEXTS, 1);
	file->driver_priv = file_priv;
	return 0;
}

static void context_release(struct kref *ref)
{
	struct ivpu_file_priv *file_priv = container_of(ref, struct ivpu_file_priv, ref);

	xa_erase_irq(&file_priv->vdev->contexts, file_priv->ctx.id);
	xa_destroy(&file_priv->command_queues);
	atomic_dec(&file_priv->vdev->opens);
	kfree(file_priv);
}

void double_context_put(struct ivpu_file_priv *file_priv)
{
	kref_put(&file_priv->ref, context_release);
}

static const struct drm_gem_object_funcs buffer_funcs = {
	.free = ivpu_gem_bo_free,
};

struct ivpu_bo *double_buffer_create(struct ivpu_device *vdev, struct ivpu_mmu_context *ctx, u64 size, u32 flags)
{
	struct ivpu_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->base.funcs = &buffer_funcs;
	bo->ctx = ctx;
	drm_gem_private_object_init(&vdev->drm, &bo->base, size);
	bo->flags = flags;
	spin_lock_irq(&vdev->scenario_lock);
	bo->vpu_addr = vdev->vpu_address;
	vdev->vpu_address += size;
	spin_unlock_irq(&vdev->scenario_lock);
	atomic64_add(size, &vdev->bytes);
	atomic_inc(&vdev->buffers);
	double_count(vdev, COUNT_BUFFERS_CREATED, 1);
	double_count(vdev, COUNT_BYTES_CREATED, size);
	return bo;
}

void double_buffer_free(struct ivpu_bo *bo)
{
	struct ivpu_device *vdev = to_ivpu_device(bo->base.dev);

	atomic64_sub(bo->base.size, &vdev->bytes);
	atomic_dec(&vdev->buffers);
	double_count(vdev, COUNT_BUFFERS_FREED, 1);
	drm_gem_object_release(&bo->base);
	kfree(bo);
}
