// SPDX-License-Identifier: GPL-2.0-only
/* The control files in /sys/kernel/debug/xe-double: scenario, command, error, truth, state. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_print.h>
#include "hardware.h"
#include "scenario.h"
#include "stream.h"

#define COMMAND_MAX 64
/* What a write of a scenario copies at a time. */
#define CHUNK_SIZE PAGE_SIZE

void control_error(struct xe_device *xe, const char *format, ...)
{
	va_list arguments;

	mutex_lock(&xe->control.error_lock);
	va_start(arguments, format);
	vsnprintf(xe->control.error, sizeof(xe->control.error), format, arguments);
	va_end(arguments);
	drm_info(&xe->drm, "xe-double: %s\n", xe->control.error);
	mutex_unlock(&xe->control.error_lock);
}

static int scenario_open(struct inode *inode, struct file *file)
{
	struct xe_device *xe = inode->i_private;
	struct scenario_writer *writer;

	if (atomic_cmpxchg(&xe->control.scenario_writers, 0, 1))
		return -EBUSY;
	writer = kzalloc(sizeof(*writer), GFP_KERNEL);
	if (writer)
		writer->scenario = scenario_create();
	if (!writer || !writer->scenario) {
		kfree(writer);
		atomic_set(&xe->control.scenario_writers, 0);
		return -ENOMEM;
	}
	/* The file may outlive the driver's hold on the device. */
	drm_dev_get(&xe->drm);
	writer->xe = xe;
	file->private_data = writer;
	mutex_lock(&xe->control.error_lock);
	xe->control.error[0] = '\0';
	mutex_unlock(&xe->control.error_lock);
	return nonseekable_open(inode, file);
}

static ssize_t scenario_file_write(struct file *file, const char __user *text, size_t count, loff_t *position)
{
	struct scenario_writer *writer = file->private_data;
	char *chunk = kmalloc(CHUNK_SIZE, GFP_KERNEL);
	size_t done = 0;
	int err = 0;

	if (!chunk)
		return -ENOMEM;
	while (done < count && !err) {
		size_t size = min_t(size_t, count - done, CHUNK_SIZE);

		if (signal_pending(current))
			err = -EINTR;
		else if (copy_from_user(chunk, text + done, size))
			err = -EFAULT;
		else
			err = scenario_write(writer, chunk, size);
		done += size;
	}
	if (err)
		writer->failed = true;
	kfree(chunk);
	return err ? err : count;
}

static int scenario_release(struct inode *inode, struct file *file)
{
	struct scenario_writer *writer = file->private_data;
	struct xe_device *xe = writer->xe;

	scenario_close(writer);
	kfree(writer);
	atomic_set(&xe->control.scenario_writers, 0);
	drm_dev_put(&xe->drm);
	return 0;
}

static const struct file_operations scenario_file_operations = {
	.owner = THIS_MODULE,
	.open = scenario_open,
	.write = scenario_file_write,
	.release = scenario_release,
};

/* reset [GT] */
static int command_reset(struct xe_device *xe, const char *arguments)
{
	unsigned int id;
	char rest;

	if (!*arguments) {
		for (int i = 0; i < XE_MAX_GT; i++)
			hardware_reset(&xe->gt[i]);
		return 0;
	}
	if (sscanf(arguments, "%3u%c", &id, &rest) != 1 || id >= XE_MAX_GT || !xe->gt[id].config.present) {
		control_error(xe, "command reset: '%*pE' is not the number of a GT", (int)strlen(arguments), arguments);
		return -EINVAL;
	}
	hardware_reset(&xe->gt[id]);
	return 0;
}

/* stuck GT, until the next scenario */
static int command_stuck(struct xe_device *xe, const char *arguments)
{
	unsigned int id;
	char rest;

	if (sscanf(arguments, "%3u%c", &id, &rest) != 1 || id >= XE_MAX_GT || !xe->gt[id].config.present) {
		control_error(xe, "command stuck: the number of a GT is wanted");
		return -EINVAL;
	}
	WRITE_ONCE(xe->gt[id].stuck, true);
	return 0;
}

/* overflow GT CORE */
static int command_overflow(struct xe_device *xe, const char *arguments)
{
	unsigned int id, core;
	char rest;

	if (sscanf(arguments, "%3u %3u%c", &id, &core, &rest) == 2 && id < XE_MAX_GT && xe->gt[id].config.present &&
	    !hardware_force_overflow(&xe->gt[id], core))
		return 0;
	control_error(xe, "command overflow: the numbers of a GT and of a Xe-core are wanted");
	return -EINVAL;
}

/* play N: the next N rows, at once */
static int command_play(struct xe_device *xe, const char *arguments)
{
	unsigned int count, played;
	char rest;

	if (sscanf(arguments, "%5u%c", &count, &rest) != 1 || READ_ONCE(xe->gone) || !xe->scenario ||
	    !xe->scenario->row_count) {
		control_error(xe, "command play: a number of rows is wanted, and a scenario with rows");
		return -EINVAL;
	}
	played = player_play(xe, count);
	for (int i = 0; i < XE_MAX_GT; i++)
		xe_stream_latch_now(&xe->gt[i]);
	if (played == count)
		return 0;
	control_error(xe, "command play: %u of %u rows: the others are not due, or there is no room for them", played,
		      count);
	return -EAGAIN;
}

/* late MS: the driver's worker has no time for so long */
static int command_late(struct xe_device *xe, const char *arguments)
{
	unsigned int milliseconds;
	char rest;

	if (sscanf(arguments, "%5u%c", &milliseconds, &rest) != 1) {
		control_error(xe, "command late: a number of milliseconds is wanted");
		return -EINVAL;
	}
	for (int i = 0; i < XE_MAX_GT; i++)
		xe_stream_latch_late(&xe->gt[i], milliseconds);
	return 0;
}

static int command_player(struct xe_device *xe, const char *name)
{
	int err = 0;

	if (!strcmp(name, "stop")) {
		player_stop(xe);
	} else if (!strcmp(name, "pause")) {
		player_pause(xe);
	} else if (READ_ONCE(xe->gone)) {
		control_error(xe, "command start: the device is unplugged");
		err = -ENODEV;
	} else if (!xe->scenario || !xe->scenario->row_count) {
		control_error(xe, "command start: there are no rows; write a scenario first");
		err = -EINVAL;
	} else {
		player_start(xe);
	}
	return err;
}

static int run_command(struct xe_device *xe, char *name)
{
	char *arguments = name + strcspn(name, " ");
	int err;

	if (*arguments)
		*arguments++ = '\0';
	if (!strcmp(name, "unplug") && !*arguments) {
		xe_device_unplug(xe);
		return 0;
	}
	down_read(&xe->config);
	if (!strcmp(name, "reset")) {
		err = command_reset(xe, arguments);
	} else if (!strcmp(name, "stuck")) {
		err = command_stuck(xe, arguments);
	} else if (!strcmp(name, "overflow")) {
		err = command_overflow(xe, arguments);
	} else if (!strcmp(name, "play")) {
		err = command_play(xe, arguments);
	} else if (!strcmp(name, "late")) {
		err = command_late(xe, arguments);
	} else if (!*arguments && (!strcmp(name, "start") || !strcmp(name, "stop") || !strcmp(name, "pause"))) {
		err = command_player(xe, name);
	} else {
		control_error(xe,
			      "command: '%*pE' is none of start, stop, pause, play N, late MS, reset [GT], overflow GT "
			      "CORE, stuck GT, unplug",
			      (int)strlen(name), name);
		err = -EINVAL;
	}
	up_read(&xe->config);
	return err;
}

static ssize_t command_write(struct file *file, const char __user *text, size_t count, loff_t *position)
{
	struct xe_device *xe = file->private_data;
	char command[COMMAND_MAX + 1];
	int err;

	if (count > COMMAND_MAX) {
		control_error(xe, "command: longer than %u characters", COMMAND_MAX);
		return -EINVAL;
	}
	if (copy_from_user(command, text, count))
		return -EFAULT;
	command[count] = '\0';
	err = run_command(xe, strim(command));
	return err ? err : count;
}

static const struct file_operations command_file_operations = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = command_write,
	.llseek = noop_llseek,
};

static ssize_t error_read(struct file *file, char __user *buffer, size_t count, loff_t *position)
{
	struct xe_device *xe = file->private_data;
	char text[XE_ERROR_LENGTH + 1];
	int length;

	mutex_lock(&xe->control.error_lock);
	length = scnprintf(text, sizeof(text), "%s%s", xe->control.error, xe->control.error[0] ? "\n" : "");
	mutex_unlock(&xe->control.error_lock);
	return simple_read_from_buffer(buffer, count, position, text, length);
}

static const struct file_operations error_file_operations = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = error_read,
	.llseek = default_llseek,
};

void control_create(struct xe_device *xe)
{
	struct dentry *folder = debugfs_create_dir("xe-double", NULL);

	xe->control.folder = folder;
	debugfs_create_file("scenario", 0200, folder, xe, &scenario_file_operations);
	debugfs_create_file("command", 0200, folder, xe, &command_file_operations);
	debugfs_create_file("error", 0400, folder, xe, &error_file_operations);
	debugfs_create_file("truth", 0400, folder, xe, &truth_file_operations);
	debugfs_create_file("state", 0400, folder, xe, &state_file_operations);
}

void control_remove(struct xe_device *xe)
{
	debugfs_remove_recursive(xe->control.folder);
}
