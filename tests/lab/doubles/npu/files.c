// SPDX-License-Identifier: GPL-2.0-only
/* The files that the real driver has in sysfs and debugfs, and the double's own folder in debugfs. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>
#include <drm/drm_debugfs.h>
#include "play.h"

static notrace struct ivpu_device *device_of(struct device *dev)
{
	return dev_get_drvdata(dev);
}

/* drivers/accel/ivpu/ivpu_sysfs.c */
static ssize_t npu_busy_time_us_show(struct device *dev, struct device_attribute *attribute, char *buffer)
{
	return sysfs_emit(buffer, "%llu\n", double_busy_time_us(device_of(dev)));
}
static DEVICE_ATTR_RO(npu_busy_time_us);

static ssize_t npu_memory_utilization_show(struct device *dev, struct device_attribute *attribute, char *buffer)
{
	return sysfs_emit(buffer, "%lld\n", atomic64_read(&device_of(dev)->bytes));
}
static DEVICE_ATTR_RO(npu_memory_utilization);

static ssize_t sched_mode_show(struct device *dev, struct device_attribute *attribute, char *buffer)
{
	struct double_scenario *scenario = double_scenario_get(device_of(dev));
	bool hardware = scenario->hardware_scheduler;

	double_scenario_put(scenario);
	return sysfs_emit(buffer, "%s\n", hardware ? "HW" : "OS");
}
static DEVICE_ATTR_RO(sched_mode);

/* Shows one of the scenario's frequencies, given by its place there. */
static notrace ssize_t frequency_show(struct device *dev, char *buffer, size_t offset)
{
	struct double_scenario *scenario = double_scenario_get(device_of(dev));
	u64 value = *(const u64 *)((const char *)scenario + offset);

	double_scenario_put(scenario);
	return sysfs_emit(buffer, "%llu\n", value);
}

static notrace ssize_t current_frequency_show(struct device *dev, char *buffer)
{
	if (pm_runtime_suspended(dev))
		return sysfs_emit(buffer, "0\n");
	return frequency_show(dev, buffer, offsetof(struct double_scenario, frequency_mhz));
}

#define FREQUENCY_FILE(file, member)                                                                                   \
	static ssize_t file##_show(struct device *dev, struct device_attribute *attribute, char *buffer)               \
	{                                                                                                              \
		return frequency_show(dev, buffer, offsetof(struct double_scenario, member));                          \
	}                                                                                                              \
	static DEVICE_ATTR_RO(file)

#define CURRENT_FREQUENCY_FILE(file)                                                                                   \
	static ssize_t file##_show(struct device *dev, struct device_attribute *attribute, char *buffer)               \
	{                                                                                                              \
		return current_frequency_show(dev, buffer);                                                            \
	}                                                                                                              \
	static DEVICE_ATTR_RO(file)

FREQUENCY_FILE(npu_max_frequency_mhz, maximum_frequency_mhz);
CURRENT_FREQUENCY_FILE(npu_current_frequency_mhz);
FREQUENCY_FILE(hw_min_freq, minimum_frequency_mhz);
FREQUENCY_FILE(hw_max_freq, maximum_frequency_mhz);
FREQUENCY_FILE(hw_efficient_freq, efficient_frequency_mhz);
CURRENT_FREQUENCY_FILE(current_freq);

static struct attribute *attributes[] = {
	&dev_attr_npu_busy_time_us.attr,      &dev_attr_npu_memory_utilization.attr,    &dev_attr_sched_mode.attr,
	&dev_attr_npu_max_frequency_mhz.attr, &dev_attr_npu_current_frequency_mhz.attr, NULL,
};

static notrace umode_t attribute_visible(struct kobject *kobject, struct attribute *attribute, int index)
{
	struct ivpu_device *vdev = device_of(kobj_to_dev(kobject));

	/* npu_memory_utilization came with 6.15, the frequencies with 6.16. */
	if (vdev && vdev->generation < IN_7_2 && attribute != &dev_attr_npu_busy_time_us.attr &&
	    attribute != &dev_attr_sched_mode.attr)
		return 0;
	return attribute->mode;
}

/* set_min_freq and set_max_freq are for generations of the device after the one that this is. */
static struct attribute *frequency_attributes[] = {
	&dev_attr_hw_min_freq.attr,
	&dev_attr_hw_max_freq.attr,
	&dev_attr_hw_efficient_freq.attr,
	&dev_attr_current_freq.attr,
	NULL,
};

static notrace umode_t frequency_visible(struct kobject *kobject, struct attribute *attribute, int index)
{
	struct ivpu_device *vdev = device_of(kobj_to_dev(kobject));

	return vdev && vdev->generation < IN_7_2 ? 0 : attribute->mode;
}

static const struct attribute_group attribute_group = { .attrs = attributes, .is_visible = attribute_visible };
static const struct attribute_group frequency_group = {
	.name = "freq",
	.attrs = frequency_attributes,
	.is_visible = frequency_visible,
};
const struct attribute_group *double_attribute_groups[] = { &attribute_group, &frequency_group, NULL };

static notrace struct ivpu_device *device_of_file(struct seq_file *file)
{
	struct drm_debugfs_entry *entry = file->private;

	return to_ivpu_device(entry->dev);
}

static int fw_name_show(struct seq_file *file, void *unused)
{
	seq_puts(file, "double\n");
	return 0;
}

static int last_bootmode_show(struct seq_file *file, void *unused)
{
	seq_puts(file, atomic64_read(&device_of_file(file)->counts[COUNT_SUSPENDS]) ? "warmboot\n" : "coldboot\n");
	return 0;
}

static int reset_counter_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%d\n", atomic_read(&device_of_file(file)->reset_counter));
	return 0;
}

static const struct drm_debugfs_info drm_files[] = {
	{ "fw_name", fw_name_show, 0 },
	{ "last_bootmode", last_bootmode_show, 0 },
	{ "reset_counter", reset_counter_show, 0 },
};

notrace int double_files_create(struct ivpu_device *vdev)
{
	drm_debugfs_add_files(&vdev->drm, drm_files, ARRAY_SIZE(drm_files));
	vdev->debugfs = debugfs_create_dir("intel_vpu_double", NULL);
	if (IS_ERR(vdev->debugfs))
		return PTR_ERR(vdev->debugfs);
	double_truth_file(vdev);
	return double_scenario_files(vdev);
}
