// SPDX-License-Identifier: GPL-2.0-only
/*
 * GEM_CREATE, VM_CREATE, VM_DESTROY and VM_BIND: what a user needs to make a bind call that the real driver would take
 * (xe_bo.c, xe_vm.c, Linux 6.15). Objects have no memory and nothing is mapped; the arguments are checked, so that
 * whoever traces xe_vm_bind_ioctl() sees calls with the real structures in them.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_gem.h>
#include "device.h"

#define VM_BINDS_MAX 65536u

/* Of include/uapi/drm/xe_drm.h, Linux 7.2: bits up to DECOMPRESS. */
#define VM_BIND_FLAGS 0xffu
#define VM_BIND_FLAG_CPU_ADDR_MIRROR (1u << 5)

static void xe_gem_object_free(struct drm_gem_object *object)
{
	drm_gem_object_release(object);
	kfree(object);
}

static const struct drm_gem_object_funcs xe_gem_object_funcs = { .free = xe_gem_object_free };

noinline int xe_gem_create_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_xe_gem_create *args = data;
	struct xe_device *xe = to_xe_device(dev);
	struct xe_file *xef = file->driver_priv;
	u32 regions = xe->platform.discrete ? 3 : 1;
	struct drm_gem_object *object;
	int err;

	if (args->extensions || args->pad[0] || args->pad[1] || args->pad[2] || args->reserved[0] || args->reserved[1])
		return -EINVAL;
	if (!args->placement || args->placement & ~regions || args->handle)
		return -EINVAL;
	if (!args->size || !PAGE_ALIGNED(args->size) || args->size > SZ_2G)
		return -EINVAL;
	if (args->cpu_caching != DRM_XE_GEM_CPU_CACHING_WB && args->cpu_caching != DRM_XE_GEM_CPU_CACHING_WC)
		return -EINVAL;
	if (args->vm_id && !xa_load(&xef->vms, args->vm_id))
		return -ENOENT;
	object = kzalloc(sizeof(*object), GFP_KERNEL);
	if (!object)
		return -ENOMEM;
	drm_gem_private_object_init(dev, object, args->size);
	object->funcs = &xe_gem_object_funcs;
	err = drm_gem_handle_create(file, object, &args->handle);
	drm_gem_object_put(object);
	return err;
}

noinline int xe_vm_create_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_xe_vm_create *args = data;
	struct xe_file *xef = file->driver_priv;

	if (args->extensions || args->reserved[0] || args->reserved[1])
		return -EINVAL;
	if (args->flags &
	    ~(DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE | DRM_XE_VM_CREATE_FLAG_LR_MODE | DRM_XE_VM_CREATE_FLAG_FAULT_MODE))
		return -EINVAL;
	if (args->flags & DRM_XE_VM_CREATE_FLAG_FAULT_MODE && !(args->flags & DRM_XE_VM_CREATE_FLAG_LR_MODE))
		return -EINVAL;
	/* A VM has no state here but its number. */
	return xa_alloc(&xef->vms, &args->vm_id, xef, xa_limit_31b, GFP_KERNEL);
}

noinline int xe_vm_destroy_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_xe_vm_destroy *args = data;
	struct xe_file *xef = file->driver_priv;

	if (args->pad || args->reserved[0] || args->reserved[1])
		return -EINVAL;
	return xa_erase(&xef->vms, args->vm_id) ? 0 : -ENOENT;
}

static bool bind_op_is_valid(const struct drm_xe_vm_bind_op *op)
{
	bool maps_nothing = op->flags & (DRM_XE_VM_BIND_FLAG_NULL | VM_BIND_FLAG_CPU_ADDR_MIRROR);

	if (op->op > DRM_XE_VM_BIND_OP_PREFETCH || op->flags & ~VM_BIND_FLAGS)
		return false;
	if (maps_nothing && (op->obj || op->obj_offset || op->op != DRM_XE_VM_BIND_OP_MAP))
		return false;
	if (op->op == DRM_XE_VM_BIND_OP_UNMAP_ALL)
		return op->obj && !op->addr && !op->range && PAGE_ALIGNED(op->obj_offset);
	if (op->op == DRM_XE_VM_BIND_OP_MAP && !maps_nothing ? !op->obj : op->obj)
		return false;
	if (op->prefetch_mem_region_instance && op->op != DRM_XE_VM_BIND_OP_PREFETCH)
		return false;
	return op->range && PAGE_ALIGNED(op->range) && PAGE_ALIGNED(op->addr) && PAGE_ALIGNED(op->obj_offset);
}

static int bind_op_check_object(const struct drm_xe_vm_bind_op *op, struct drm_file *file)
{
	struct drm_gem_object *object;
	int err = 0;

	if (!op->obj)
		return 0;
	object = drm_gem_object_lookup(file, op->obj);
	if (!object)
		return -ENOENT;
	if (op->range > object->size || op->obj_offset > object->size - op->range)
		err = -EINVAL;
	drm_gem_object_put(object);
	return err;
}

static int bind_ops_check(const struct xe_device *xe, const struct drm_xe_vm_bind_op *ops, u32 count,
			  struct drm_file *file)
{
	u64 size = 1ull << (xe->platform.pvc || xe->platform.graphics_version >= 3500 ? 57 : 48);
	int err = 0;

	for (u32 i = 0; i < count; i++)
		if (!bind_op_is_valid(&ops[i]))
			return -EINVAL;
	for (u32 i = 0; i < count; i++)
		if (ops[i].range > size || ops[i].addr > size - ops[i].range)
			return -EINVAL;
	for (u32 i = 0; i < count && !err; i++)
		err = bind_op_check_object(&ops[i], file);
	return err;
}

noinline int xe_vm_bind_ioctl(struct drm_device *dev, void *data, struct drm_file *file)
{
	struct drm_xe_vm_bind *args = data;
	struct xe_file *xef = file->driver_priv;
	struct drm_xe_vm_bind_op *ops = &args->bind;
	int err;

	if (!xa_load(&xef->vms, args->vm_id))
		return -EINVAL;
	if (args->pad || args->pad2 || args->reserved[0] || args->reserved[1] || args->extensions)
		return -EINVAL;
	if (args->num_binds > VM_BINDS_MAX)
		return -ENOBUFS;
	if (args->num_binds > 1) {
		ops = kvmalloc_array(args->num_binds, sizeof(*ops), GFP_KERNEL);
		if (!ops)
			return -ENOBUFS;
		if (copy_from_user(ops, u64_to_user_ptr(args->vector_of_binds), args->num_binds * sizeof(*ops))) {
			err = -EFAULT;
			goto out;
		}
	}
	err = bind_ops_check(to_xe_device(dev), ops, args->num_binds, file);
	/* There are no exec queues, and so no queue for binding, and no sync objects. */
	if (!err && args->exec_queue_id)
		err = -ENOENT;
	if (!err && args->num_syncs)
		err = -EINVAL;
	if (!err && args->num_binds)
		xef->bound = true;
out:
	if (args->num_binds > 1)
		kvfree(ops);
	return err;
}
