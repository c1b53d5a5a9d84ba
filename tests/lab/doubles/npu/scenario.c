// SPDX-License-Identifier: GPL-2.0-only
/* debugfs `scenario`: write a text, close, and the device plays it; read: what was wrong with it, or what it is. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "play.h"

#define TEXT_MAX (1 << 20)

struct opened {
	struct ivpu_device *vdev;
	char *text;
	size_t length;
	bool is_new;
};

static char last_error[256] = "none written\n"; /* under scenario_mutex */

static void scenario_release(struct kref *ref)
{
	struct double_scenario *scenario = container_of(ref, struct double_scenario, ref);

	kvfree(scenario->nodes);
	kvfree(scenario->trees);
	kvfree(scenario->events);
	kvfree(scenario);
}

void double_scenario_put(struct double_scenario *scenario)
{
	kref_put(&scenario->ref, scenario_release);
}

struct double_scenario *double_scenario_get(struct ivpu_device *vdev)
{
	struct double_scenario *scenario;
	unsigned long flags;

	spin_lock_irqsave(&vdev->scenario_lock, flags);
	scenario = vdev->scenario;
	kref_get(&scenario->ref);
	spin_unlock_irqrestore(&vdev->scenario_lock, flags);
	return scenario;
}

/* No trees: every entry point is called alone. The values are Lunar Lake's. */
struct double_scenario *double_scenario_empty(void)
{
	struct double_scenario *scenario = kvzalloc(sizeof(*scenario), GFP_KERNEL);

	if (!scenario)
		return NULL;
	kref_init(&scenario->ref);
	scenario->generations = IN_ALL | IN_OTHERS;
	scenario->parameters[DRM_IVPU_PARAM_DEVICE_ID] = 0x643e;
	scenario->parameters[DRM_IVPU_PARAM_DEVICE_REVISION] = 4;
	scenario->parameters[DRM_IVPU_PARAM_PLATFORM_TYPE] = DRM_IVPU_PLATFORM_TYPE_SILICON;
	scenario->parameters[DRM_IVPU_PARAM_CORE_CLOCK_RATE] = 1950000000;
	scenario->parameters[DRM_IVPU_PARAM_NUM_CONTEXTS] = 64;
	scenario->parameters[DRM_IVPU_PARAM_CONTEXT_BASE_ADDRESS] = 0x80000000;
	scenario->parameters[DRM_IVPU_PARAM_TILE_CONFIG] = 0;
	scenario->parameters[DRM_IVPU_PARAM_SKU] = 0;
	scenario->parameters[DRM_IVPU_PARAM_PREEMPT_BUFFER_SIZE] = 2 << 20;
	scenario->autosuspend_ms = 100; /* drivers/accel/ivpu/ivpu_hw.c, timeouts_init() */
	scenario->frequency_mhz = 1400;
	scenario->minimum_frequency_mhz = 700;
	scenario->maximum_frequency_mhz = 1950;
	scenario->efficient_frequency_mhz = 1100;
	scenario->hardware_scheduler = true;
	return scenario;
}

/* Replaces the scenario and begins to count anew. -EBUSY: the device is open, or events are still to come. */
static int scenario_replace(struct ivpu_device *vdev, struct double_scenario *scenario)
{
	struct device *dev = vdev->drm.dev;
	struct double_scenario *old;
	unsigned long flags;

	if (atomic_read(&vdev->opens) || double_event_busy(vdev))
		return -EBUSY;
	spin_lock_irqsave(&vdev->scenario_lock, flags);
	old = vdev->scenario;
	vdev->scenario = scenario;
	spin_unlock_irqrestore(&vdev->scenario_lock, flags);
	double_scenario_put(old);
	/* The device sleeps when a scenario begins, so that its first use wakes it. */
	pm_runtime_set_autosuspend_delay(dev, 0);
	pm_runtime_suspend(dev);
	pm_runtime_set_autosuspend_delay(dev, scenario->autosuspend_ms);
	spin_lock_irqsave(&vdev->scenario_lock, flags);
	memset(scenario->cursors, 0, sizeof(scenario->cursors));
	spin_unlock_irqrestore(&vdev->scenario_lock, flags);
	double_truth_reset(vdev);
	return 0;
}

static int scenario_open(struct inode *inode, struct file *file)
{
	struct opened *opened = kzalloc(sizeof(*opened), GFP_KERNEL);

	if (!opened)
		return -ENOMEM;
	opened->vdev = inode->i_private;
	file->private_data = opened;
	return 0;
}

static ssize_t scenario_write(struct file *file, const char __user *data, size_t size, loff_t *offset)
{
	struct opened *opened = file->private_data;
	struct ivpu_device *vdev = opened->vdev;
	ssize_t result = debugfs_file_get(file->f_path.dentry);

	if (result)
		return result;
	result = size;
	mutex_lock(&vdev->scenario_mutex);
	if (!opened->text)
		opened->text = vzalloc(TEXT_MAX + 1);
	if (!opened->text)
		result = -ENOMEM;
	else if (size > TEXT_MAX - opened->length)
		result = -EFBIG;
	else if (copy_from_user(opened->text + opened->length, data, size))
		result = -EFAULT;
	if (result > 0) {
		opened->length += size;
		opened->is_new = true;
	}
	mutex_unlock(&vdev->scenario_mutex);
	debugfs_file_put(file->f_path.dentry);
	return result;
}

static int scenario_flush(struct file *file, fl_owner_t owner)
{
	struct opened *opened = file->private_data;
	struct ivpu_device *vdev = opened->vdev;
	struct double_scenario *scenario;
	int ret = debugfs_file_get(file->f_path.dentry);

	if (ret)
		return ret;
	mutex_lock(&vdev->scenario_mutex);
	if (opened->is_new) {
		opened->is_new = false;
		opened->text[opened->length] = '\0';
		if (strlen(opened->text) != opened->length) {
			snprintf(last_error, sizeof(last_error), "the text has a zero byte\n");
			ret = -EINVAL;
			goto unlock;
		}
		scenario = double_scenario_parse(vdev, opened->text, last_error, sizeof(last_error));
		if (IS_ERR(scenario)) {
			ret = PTR_ERR(scenario);
			goto unlock;
		}
		ret = scenario_replace(vdev, scenario);
		if (ret) {
			double_scenario_put(scenario);
			snprintf(last_error, sizeof(last_error), "the device is in use\n");
			goto unlock;
		}
		snprintf(last_error, sizeof(last_error), "ok: %u nodes, %u trees, %u events\n", scenario->node_count,
			 scenario->tree_count, scenario->event_count);
	}
unlock:
	mutex_unlock(&vdev->scenario_mutex);
	debugfs_file_put(file->f_path.dentry);
	return ret;
}

static int scenario_close(struct inode *inode, struct file *file)
{
	struct opened *opened = file->private_data;

	vfree(opened->text);
	kfree(opened);
	return 0;
}

static ssize_t scenario_read(struct file *file, char __user *data, size_t size, loff_t *offset)
{
	struct opened *opened = file->private_data;
	ssize_t result = debugfs_file_get(file->f_path.dentry);

	if (result)
		return result;
	mutex_lock(&opened->vdev->scenario_mutex);
	result = simple_read_from_buffer(data, size, offset, last_error, strlen(last_error));
	mutex_unlock(&opened->vdev->scenario_mutex);
	debugfs_file_put(file->f_path.dentry);
	return result;
}

static const struct file_operations scenario_fops = {
	.owner = THIS_MODULE,
	.open = scenario_open,
	.read = scenario_read,
	.write = scenario_write,
	.flush = scenario_flush,
	.release = scenario_close,
};

/* `reset` begins counting anew, `abort` ends every job. */
static ssize_t command_write(struct file *file, const char __user *data, size_t size, loff_t *offset)
{
	struct ivpu_device *vdev = file->private_data;
	char text[16];

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, data, size))
		return -EFAULT;
	text[size] = '\0';
	mutex_lock(&vdev->scenario_mutex);
	if (sysfs_streq(text, "reset")) {
		double_truth_reset(vdev);
	} else if (sysfs_streq(text, "abort")) {
		double_job_abort_all(vdev);
	} else {
		size = -EINVAL;
	}
	mutex_unlock(&vdev->scenario_mutex);
	return size;
}

static const struct file_operations command_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = command_write,
};

int double_scenario_files(struct ivpu_device *vdev)
{
	/* debugfs calls flush() only of a file without its proxy, so the file looks itself whether the device is there.
	 */
	debugfs_create_file_unsafe("scenario", 0600, vdev->debugfs, vdev, &scenario_fops);
	debugfs_create_file("command", 0200, vdev->debugfs, vdev, &command_fops);
	return 0;
}
