// SPDX-License-Identifier: GPL-2.0-only
/*
 * The double of the xe device, as a PCI driver for one QEMU edu device, so that the render node has a PCI device behind
 * it. It calls itself "xe" and answers as drivers/gpu/drm/xe does (Linux 6.15 to 7.2) as far as a profiler can see.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "device.h"
#include "hardware.h"
#include "scenario.h"
#include "stream.h"

static char *device = "0000:00:10.0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "PCI slot of the edu device to take (0000:00:10.0); others are refused");

static int xe_file_open(struct drm_device *dev, struct drm_file *file)
{
	struct xe_file *xef = kzalloc(sizeof(*xef), GFP_KERNEL);

	if (!xef)
		return -ENOMEM;
	xa_init_flags(&xef->vms, XA_FLAGS_ALLOC1);
	xa_init_flags(&xef->exec_queues, XA_FLAGS_ALLOC1);
	init_rwsem(&xef->exec_queues_lock);
	spin_lock_init(&xef->engines_lock);
	file->driver_priv = xef;
	return 0;
}

static void xe_file_close(struct drm_device *dev, struct drm_file *file)
{
	struct xe_file *xef = file->driver_priv;

	xe_exec_queues_close(xef);
	xa_destroy(&xef->vms);
	kfree(xef);
}

/*
 * Keys of xe_drm_client.c. A client that bound something and never had an exec queue is taken to keep the compute
 * engine busy while rows play.
 */
static void xe_show_fdinfo(struct drm_printer *printer, struct drm_file *file)
{
	struct xe_device *xe = to_xe_device(file->minor->dev);
	struct xe_file *xef = file->driver_priv;
	u32 clock = READ_ONCE(xe->platform.reference_clock);
	static const struct {
		const char *name;
		u16 class;
	} engines[] = { { "rcs", DRM_XE_ENGINE_CLASS_RENDER },
			{ "bcs", DRM_XE_ENGINE_CLASS_COPY },
			{ "ccs", DRM_XE_ENGINE_CLASS_COMPUTE } };

	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		u64 busy = xe_engine_busy(xef, engines[i].class);

		if (engines[i].class == DRM_XE_ENGINE_CLASS_COMPUTE && xef->bound && !READ_ONCE(xef->has_queues))
			busy = READ_ONCE(xe->player.busy);
		drm_printf(printer, "drm-cycles-%s:\t%llu\n", engines[i].name,
			   mul_u64_u32_div(busy, clock, NSEC_PER_SEC));
		drm_printf(printer, "drm-total-cycles-%s:\t%llu\n", engines[i].name,
			   mul_u64_u32_div(ktime_get_ns(), clock, NSEC_PER_SEC));
	}
}

/* Other numbers have no function, which drm_ioctl() answers with EINVAL. */
static const struct drm_ioctl_desc xe_ioctls[] = {
	DRM_IOCTL_DEF_DRV(XE_DEVICE_QUERY, xe_query_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_GEM_CREATE, xe_gem_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_VM_CREATE, xe_vm_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_VM_DESTROY, xe_vm_destroy_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_VM_BIND, xe_vm_bind_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_EXEC_QUEUE_CREATE, xe_exec_queue_create_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_EXEC_QUEUE_DESTROY, xe_exec_queue_destroy_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_EXEC, xe_exec_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_OBSERVATION, xe_observation_ioctl, DRM_RENDER_ALLOW),
};

static const struct file_operations xe_driver_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

static const struct drm_driver xe_drm_driver = {
	.driver_features = DRIVER_RENDER | DRIVER_GEM | DRIVER_SYNCOBJ,
	.open = xe_file_open,
	.postclose = xe_file_close,
	.show_fdinfo = xe_show_fdinfo,
	.ioctls = xe_ioctls,
	.num_ioctls = ARRAY_SIZE(xe_ioctls),
	.fops = &xe_driver_fops,
	.name = "xe",
	.desc = "Intel Xe2 Graphics",
	XE_DRIVER_DATE.major = 1,
	.minor = 1,
	.patchlevel = 0,
};

/* With the last reference: after the last stream and the last open node are closed. */
static void xe_device_release(struct drm_device *drm, void *unused)
{
	struct xe_device *xe = to_xe_device(drm);

	player_destroy(xe);
	for (int i = 0; i < XE_MAX_GT; i++) {
		if (xe->gt[i].latch_queue)
			destroy_workqueue(xe->gt[i].latch_queue);
		mutex_destroy(&xe->gt[i].stream_lock);
	}
	scenario_free(xe->scenario);
}

static int xe_device_init(struct xe_device *xe)
{
	init_rwsem(&xe->config);
	spin_lock_init(&xe->jobs.lock);
	mutex_init(&xe->control.error_lock);
	platform_preset(&xe->platform, "bmg");
	for (int i = 0; i < XE_MAX_GT; i++) {
		struct xe_gt *gt = &xe->gt[i];

		gt->xe = xe;
		gt->config = xe->platform.gt[i];
		mutex_init(&gt->stream_lock);
		spin_lock_init(&gt->hardware.lock);
		gt->latch_queue = alloc_ordered_workqueue("xe_eu_stall", 0);
		if (!gt->latch_queue)
			return -ENOMEM;
	}
	return player_create(xe);
}

void xe_device_unplug(struct xe_device *xe)
{
	if (xchg(&xe->gone, true))
		return;
	drm_dev_unplug(&xe->drm);
	player_stop(xe);
}

static int xe_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct xe_device *xe;
	int err;

	if (strcmp(pci_name(pdev), device))
		return -ENODEV;
	xe = devm_drm_dev_alloc(&pdev->dev, &xe_drm_driver, struct xe_device, drm);
	if (IS_ERR(xe))
		return PTR_ERR(xe);
	err = xe_device_init(xe);
	if (!err)
		err = drmm_add_action_or_reset(&xe->drm, xe_device_release, NULL);
	else
		xe_device_release(&xe->drm, NULL);
	if (err)
		return err;
	pci_set_drvdata(pdev, xe);
	err = drm_dev_register(&xe->drm, 0);
	if (err)
		return err;
	control_create(xe);
	return 0;
}

static void xe_pci_remove(struct pci_dev *pdev)
{
	struct xe_device *xe = pci_get_drvdata(pdev);

	control_remove(xe);
	xe_device_unplug(xe);
}

/* QEMU's hw/misc/edu.c. Not in the module's aliases: the double is never loaded by itself. */
static const struct pci_device_id xe_pci_ids[] = { { PCI_DEVICE(0x1234, 0x11e8) }, {} };

static struct pci_driver xe_pci_driver = {
	.name = "xe",
	.id_table = xe_pci_ids,
	.probe = xe_pci_probe,
	.remove = xe_pci_remove,
};

static int __init xe_init(void)
{
	int err = xe_observation_sysctl_register();

	if (err)
		return err;
	err = pci_register_driver(&xe_pci_driver);
	if (err)
		xe_observation_sysctl_unregister();
	return err;
}

static void __exit xe_exit(void)
{
	pci_unregister_driver(&xe_pci_driver);
	xe_observation_sysctl_unregister();
}

module_init(xe_init);
module_exit(xe_exit);

MODULE_DESCRIPTION("Double of the xe device, for tests");
MODULE_LICENSE("GPL");
