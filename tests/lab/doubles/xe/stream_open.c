// SPDX-License-Identifier: GPL-2.0-only
/* STREAM_OPEN of an EU stall stream: properties, in the order of checks of xe_eu_stall.c (Linux 7.2), and the file. */
#include <linux/anon_inodes.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "hardware.h"
#include "stream.h"

/* MAX_USER_EXTENSIONS in xe_eu_stall.c. */
#define EXTENSIONS_MAX 5
#define DEFAULT_RATE_MULTIPLIER 4
#define CYCLES_PER_RATE 251
#define RATE_MULTIPLIER_MAX 7

struct open_properties {
	struct xe_gt *gt;
	int rate_multiplier;
	int wait_num_reports;
};

static int set_property(struct xe_device *xe, u32 property, u64 value, struct open_properties *properties)
{
	switch (property) {
	case DRM_XE_EU_STALL_PROP_GT_ID:
		properties->gt = xe_device_get_gt(xe, value);
		return properties->gt ? 0 : -EINVAL;
	case DRM_XE_EU_STALL_PROP_SAMPLE_RATE:
		if (value < CYCLES_PER_RATE || value / CYCLES_PER_RATE > RATE_MULTIPLIER_MAX)
			return -EINVAL;
		properties->rate_multiplier = value / CYCLES_PER_RATE;
		return 0;
	case DRM_XE_EU_STALL_PROP_WAIT_NUM_REPORTS:
		/* Kept in an int, as in the real driver: bits 32 and up are lost. Checked when the GT is known. */
		properties->wait_num_reports = value;
		return 0;
	default:
		/* Property 0 too: it has been refused since the fix of December 2025; before, it was an oops. */
		return -EINVAL;
	}
}

static int read_properties(struct xe_device *xe, u64 address, struct open_properties *properties)
{
	struct drm_xe_ext_set_property extension;
	int err;

	for (int number = 0; number == 0 || address; number++) {
		if (number >= EXTENSIONS_MAX)
			return -E2BIG;
		/* The head first: a name that is unknown is refused before the rest is read. */
		if (copy_from_user(&extension.base, u64_to_user_ptr(address), sizeof(extension.base)))
			return -EFAULT;
		if (extension.base.pad || extension.base.name != DRM_XE_EU_STALL_EXTENSION_SET_PROPERTY)
			return -EINVAL;
		if (copy_from_user(&extension, u64_to_user_ptr(address), sizeof(extension)))
			return -EFAULT;
		if (extension.pad)
			return -EINVAL;
		err = set_property(xe, extension.property, extension.value, properties);
		if (err)
			return err;
		address = extension.base.next_extension;
	}
	return properties->gt ? 0 : -EINVAL;
}

void xe_stream_free(struct xe_stream *stream)
{
	stream->gt->stream = NULL;
	mutex_destroy(&stream->buffer_lock);
	vfree(stream->buffer);
	vfree(stream->slots);
	kfree(stream);
}

/* One ring for each number up to the highest, used or not: rings are found by the Xe-core's number. */
static int allocate_buffer(struct xe_stream *stream)
{
	size_t rings = find_last_bit(stream->cores, XE_MAX_CORES) + 1;

	stream->buffer = vzalloc(rings * XE_RING_SIZE);
	stream->slots = vzalloc(rings * XE_RING_ROWS * sizeof(*stream->slots));
	return stream->buffer && stream->slots ? 0 : -ENOMEM;
}

static int open_locked(struct open_properties *properties)
{
	struct xe_gt *gt = properties->gt;
	struct xe_stream *stream;
	int err;

	if (gt->stream)
		return -EBUSY;
	stream = kzalloc(sizeof(*stream), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	gt->stream = stream;
	stream->gt = gt;
	stream->sampling_rate_multiplier = properties->rate_multiplier;
	stream->wait_num_reports = properties->wait_num_reports;
	stream->owner = task_tgid_nr(current);
	get_task_comm(stream->owner_name, current);
	init_waitqueue_head(&stream->poll_queue);
	mutex_init(&stream->buffer_lock);
	INIT_DELAYED_WORK(&stream->latch, eu_stall_data_buf_poll_work_fn);
	gt_config_cores(&gt->config, stream->cores);

	/* A media GT has no Xe-cores, so no number of rows is right for it. Negative numbers are large ones. */
	err = -EINVAL;
	if (!stream->wait_num_reports ||
	    stream->wait_num_reports > bitmap_weight(stream->cores, XE_MAX_CORES) * XE_RING_ROWS)
		goto free;
	err = allocate_buffer(stream);
	if (err)
		goto free;
	hardware_attach(gt, stream->buffer, stream->slots);
	/* Neither O_CLOEXEC nor O_NONBLOCK. */
	err = anon_inode_getfd("[xe_eu_stall]", &xe_eu_stall_file_operations, stream, 0);
	if (err < 0)
		goto detach;
	drm_dev_get(&gt->xe->drm);
	return err;

detach:
	hardware_detach(gt);
free:
	xe_stream_free(stream);
	return err;
}

noinline int xe_eu_stall_stream_open(struct drm_device *dev, u64 data, struct drm_file *file)
{
	struct open_properties properties = { .rate_multiplier = DEFAULT_RATE_MULTIPLIER, .wait_num_reports = 1 };
	struct xe_device *xe = to_xe_device(dev);
	int ret;

	down_read(&xe->config);
	if (!platform_row_layout(&xe->platform))
		ret = -ENODEV;
	else if (!xe_observation_allowed())
		ret = -EACCES;
	else
		ret = read_properties(xe, data, &properties);
	if (!ret) {
		mutex_lock(&properties.gt->stream_lock);
		ret = open_locked(&properties);
		mutex_unlock(&properties.gt->stream_lock);
	}
	up_read(&xe->config);
	return ret;
}
