// SPDX-License-Identifier: GPL-2.0-only
/* The double of the Intel NPU: a PCI driver for one of QEMU's edu devices that is to everybody else intel_vpu. */
#include <linux/debugfs.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include "driver.h"
#include "play.h"

static char *device = "0000:00:11.0";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "PCI address of the edu device to bind to");

static char *generation = LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0) ? "6.13" : "7.2";
module_param(generation, charp, 0444);
MODULE_PARM_DESC(generation,
		 "Linux release whose ioctls, files and tracepoints there are: 6.12 (no tracepoints), 6.13 or 7.2");

/* One that was unbound stays until its last file is closed; so there may be several. */
static LIST_HEAD(devices);
static DEFINE_SPINLOCK(devices_lock);

static const struct file_operations accel_fops = {
	.owner = THIS_MODULE,
	DRM_ACCEL_FOPS,
};

/* Its count of ioctls depends on the generation. */
static struct drm_driver drm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_COMPUTE_ACCEL,
	.open = ivpu_open,
	.postclose = ivpu_postclose,
	.ioctls = double_ioctls,
	.num_ioctls = DOUBLE_IOCTL_NUMBERS,
	.fops = &accel_fops,
	.name = "intel_vpu",
	.desc = "Double of the Driver for Intel NPU (Neural Processing Unit)",
	NPU_DRIVER_DATE.major = 1,
	.minor = 0,
};

bool double_is_device(const struct ivpu_device *vdev)
{
	struct ivpu_device *one;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&devices_lock, flags);
	list_for_each_entry(one, &devices, link) found |= one == vdev;
	spin_unlock_irqrestore(&devices_lock, flags);
	return found;
}

static int generation_of(const char *text)
{
	if (sysfs_streq(text, "6.12"))
		return IN_6_12;
	if (sysfs_streq(text, "6.13"))
		return IN_6_13;
	if (sysfs_streq(text, "7.2"))
		return IN_7_2;
	return 0;
}

static int hardware_init(struct ivpu_device *vdev, struct pci_dev *pdev)
{
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	vdev->registers = pcim_iomap(pdev, 0, 0);
	if (!vdev->registers)
		return -ENOMEM;
	pci_set_master(pdev);
	ret = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (ret < 0)
		return dev_err_probe(&pdev->dev, ret, "no message-signaled interrupt; is this an edu device?\n");
	vdev->irq = pci_irq_vector(pdev, 0);
	ret = request_threaded_irq(vdev->irq, ivpu_hw_irq_handler, double_irq_thread, 0, "intel_vpu", vdev);
	if (ret)
		pci_free_irq_vectors(pdev);
	return ret;
}

static void hardware_fini(struct ivpu_device *vdev, struct pci_dev *pdev)
{
	free_irq(vdev->irq, vdev);
	pci_free_irq_vectors(pdev);
}

/* With the last reference: closing a file still plays the scenario, after the device was unbound too. */
static void device_release(struct drm_device *drm, void *unused)
{
	struct ivpu_device *vdev = to_ivpu_device(drm);

	spin_lock_irq(&devices_lock);
	list_del(&vdev->link);
	spin_unlock_irq(&devices_lock);
	if (vdev->scenario)
		double_scenario_put(vdev->scenario);
	double_truth_free(vdev);
	xa_destroy(&vdev->contexts);
}

static int device_init(struct ivpu_device *vdev)
{
	int ret;

	vdev->generation = generation_of(generation);
	xa_init_flags(&vdev->contexts, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	spin_lock_init(&vdev->job_lock);
	INIT_LIST_HEAD(&vdev->jobs);
	INIT_LIST_HEAD(&vdev->jobs_to_free);
	INIT_WORK(&vdev->free_jobs, double_job_free_work);
	init_waitqueue_head(&vdev->job_wait);
	spin_lock_init(&vdev->scenario_lock);
	mutex_init(&vdev->scenario_mutex);
	double_events_init(vdev);
	spin_lock_irq(&devices_lock);
	list_add(&vdev->link, &devices);
	spin_unlock_irq(&devices_lock);
	ret = drmm_add_action_or_reset(&vdev->drm, device_release, NULL);
	if (ret)
		return ret;
	vdev->scenario = double_scenario_empty();
	if (!vdev->scenario)
		return -ENOMEM;
	vdev->vpu_address = vdev->scenario->parameters[DRM_IVPU_PARAM_CONTEXT_BASE_ADDRESS];
	return double_truth_create(vdev);
}

int double_probe(struct pci_dev *pdev)
{
	struct ivpu_device *vdev;
	int ret;

	if (strcmp(pci_name(pdev), device))
		return -ENODEV;
	vdev = devm_drm_dev_alloc(&pdev->dev, &drm_driver, struct ivpu_device, drm);
	if (IS_ERR(vdev))
		return PTR_ERR(vdev);
	pci_set_drvdata(pdev, vdev);
	ret = device_init(vdev);
	if (ret)
		return ret;
	ret = hardware_init(vdev, pdev);
	if (ret)
		return ret;
	ret = double_files_create(vdev);
	if (ret)
		goto free_hardware;
	pm_runtime_use_autosuspend(&pdev->dev);
	pm_runtime_set_autosuspend_delay(&pdev->dev, vdev->scenario->autosuspend_ms);
	ret = drm_dev_register(&vdev->drm, 0);
	if (ret)
		goto remove_files;
	pm_runtime_allow(&pdev->dev);
	pm_runtime_mark_last_busy(&pdev->dev);
	pm_runtime_put_autosuspend(&pdev->dev);
	return 0;

remove_files:
	debugfs_remove_recursive(vdev->debugfs);
free_hardware:
	hardware_fini(vdev, pdev);
	return ret;
}

void double_remove(struct pci_dev *pdev)
{
	struct ivpu_device *vdev = pci_get_drvdata(pdev);

	debugfs_remove_recursive(vdev->debugfs);
	drm_dev_unplug(&vdev->drm);
	double_events_stop(vdev);
	/* double_job_submit() takes none any more. */
	while (double_job_finish(vdev, 0, DRM_IVPU_JOB_STATUS_ABORTED))
		;
	flush_work(&vdev->free_jobs);
	pm_runtime_get_sync(&pdev->dev);
	pm_runtime_forbid(&pdev->dev);
	pm_runtime_dont_use_autosuspend(&pdev->dev);
	hardware_fini(vdev, pdev);
}

static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) }, /* QEMU's edu */
	{},
};

static const struct dev_pm_ops pm_ops = { RUNTIME_PM_OPS(ivpu_pm_runtime_suspend_cb, ivpu_pm_runtime_resume_cb, NULL) };

static struct pci_driver pci_driver = {
	.name = "intel_vpu",
	.id_table = ids,
	.probe = ivpu_probe,
	.remove = ivpu_remove,
	.dev_groups = double_attribute_groups,
	.driver = { .pm = &pm_ops },
};

static int __init double_init(void)
{
	int ret, number = generation_of(generation);

	if (!number) {
		pr_err("intel_vpu: generation=%s: not 6.12, 6.13 or 7.2\n", generation);
		return -EINVAL;
	}
	if (number < IN_7_2)
		drm_driver.num_ioctls = DRM_IVPU_METRIC_STREAMER_GET_INFO + 1;
	if (number == IN_6_12) {
		ret = double_tracepoints_remove();
		if (ret)
			return ret;
	}
	return pci_register_driver(&pci_driver);
}
module_init(double_init);

static void __exit double_exit(void)
{
	pci_unregister_driver(&pci_driver);
}
module_exit(double_exit);

MODULE_DESCRIPTION("Double of the Intel NPU for tests");
MODULE_LICENSE("GPL");
