// SPDX-License-Identifier: GPL-2.0-only
/* The EU stall stream's file: enable, disable, poll, close, and the latch of the write pointers every 5 ms. */
#include <linux/module.h>
#include "hardware.h"
#include "stream.h"

/* Kernels after 7.0 notice that a reset cleared the registers; earlier ones go on with the pointers they kept. */
static bool notices_reset(const struct xe_device *xe)
{
	return xe->platform.kernel >= XE_KERNEL(7, 1);
}

/* Takes over the write pointers and overflow bits. Returns whether poll() is to be woken. */
static bool latch_pointers(struct xe_stream *stream)
{
	struct xe_gt *gt = stream->gt;
	bool enough = false, dropped;
	unsigned int core;
	u64 bytes = 0;

	mutex_lock(&stream->buffer_lock);
	for_each_set_bit(core, stream->cores, XE_MAX_CORES)
	{
		stream->core[core].write = hardware_write_pointer(gt, core, &dropped);
		bytes += xe_ring_bytes(stream->core[core].read, stream->core[core].write);
		if (dropped)
			set_bit(core, stream->drop_mask);
	}
	enough = bytes / XE_ROW_SIZE >= stream->wait_num_reports;
	if (notices_reset(gt->xe)) {
		if (!READ_ONCE(gt->hardware.sampling))
			stream->reset_detected = true;
		WRITE_ONCE(stream->pollin, enough || stream->reset_detected);
	} else if (enough) {
		WRITE_ONCE(stream->pollin, true);
	}
	mutex_unlock(&stream->buffer_lock);
	return stream->pollin;
}

static void queue_latch(struct xe_stream *stream)
{
	queue_delayed_work(stream->gt->latch_queue, &stream->latch, msecs_to_jiffies(XE_LATCH_PERIOD_MS));
}

void eu_stall_data_buf_poll_work_fn(struct work_struct *work)
{
	struct xe_stream *stream = container_of(to_delayed_work(work), struct xe_stream, latch);

	if (latch_pointers(stream))
		wake_up(&stream->poll_queue);
	if (!stream->reset_detected)
		queue_latch(stream);
}

void xe_stream_latch_now(struct xe_gt *gt)
{
	mutex_lock(&gt->stream_lock);
	if (gt->stream && gt->stream->enabled && latch_pointers(gt->stream))
		wake_up(&gt->stream->poll_queue);
	mutex_unlock(&gt->stream_lock);
}

void xe_stream_latch_late(struct xe_gt *gt, unsigned int milliseconds)
{
	mutex_lock(&gt->stream_lock);
	if (gt->stream && gt->stream->enabled)
		mod_delayed_work(gt->latch_queue, &gt->stream->latch, msecs_to_jiffies(milliseconds));
	mutex_unlock(&gt->stream_lock);
}

/* Does not touch pollin: what it was before DISABLE it is until the next latch or read. */
static int enable_locked(struct xe_stream *stream)
{
	u32 pointers[XE_MAX_CORES];

	if (stream->enabled)
		return 0;
	/* The real driver's: the GT does not wake up. */
	if (READ_ONCE(stream->gt->stuck))
		return -ETIMEDOUT;
	mutex_lock(&stream->buffer_lock);
	hardware_enable(stream->gt, pointers);
	for (unsigned int core = 0; core < XE_MAX_CORES; core++)
		stream->core[core] = (struct xe_core_pointers){ .write = pointers[core], .read = pointers[core] };
	stream->reset_detected = false;
	stream->drop_reported = false;
	bitmap_zero(stream->drop_mask, XE_MAX_CORES);
	mutex_unlock(&stream->buffer_lock);
	WRITE_ONCE(stream->enabled, true);
	atomic_inc(&stream->gt->xe->enabled_streams);
	queue_latch(stream);
	return 0;
}

static int disable_locked(struct xe_stream *stream)
{
	if (!stream->enabled)
		return 0;
	WRITE_ONCE(stream->enabled, false);
	atomic_dec(&stream->gt->xe->enabled_streams);
	/* First: a latch of hardware that does not sample takes that for a reset. It does not need stream_lock. */
	cancel_delayed_work_sync(&stream->latch);
	hardware_disable(stream->gt);
	return 0;
}

static noinline long xe_eu_stall_stream_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct xe_stream *stream = file->private_data;
	struct xe_gt *gt = stream->gt;
	long ret;

	mutex_lock(&gt->stream_lock);
	if (command == DRM_XE_OBSERVATION_IOCTL_ENABLE)
		ret = enable_locked(stream);
	else if (command == DRM_XE_OBSERVATION_IOCTL_DISABLE)
		ret = disable_locked(stream);
	else
		ret = -EINVAL;
	mutex_unlock(&gt->stream_lock);
	return ret;
}

static noinline __poll_t xe_eu_stall_stream_poll(struct file *file, poll_table *wait)
{
	struct xe_stream *stream = file->private_data;
	__poll_t events = 0;

	mutex_lock(&stream->gt->stream_lock);
	poll_wait(file, &stream->poll_queue, wait);
	if (READ_ONCE(stream->pollin))
		events = EPOLLIN;
	mutex_unlock(&stream->gt->stream_lock);
	return events;
}

static noinline int xe_eu_stall_stream_close(struct inode *inode, struct file *file)
{
	struct xe_stream *stream = file->private_data;
	struct xe_gt *gt = stream->gt;
	struct drm_device *drm = &gt->xe->drm;

	mutex_lock(&gt->stream_lock);
	disable_locked(stream);
	hardware_detach(gt);
	xe_stream_free(stream);
	mutex_unlock(&gt->stream_lock);
	drm_dev_put(drm);
	return 0;
}

/* None of them asks whether the device is still there, as in the real driver: a stream of one that is gone is silent.
 */
const struct file_operations xe_eu_stall_file_operations = {
	.owner = THIS_MODULE,
	.llseek = noop_llseek,
	.release = xe_eu_stall_stream_close,
	.poll = xe_eu_stall_stream_poll,
	.read = xe_eu_stall_stream_read,
	.unlocked_ioctl = xe_eu_stall_stream_ioctl,
	.compat_ioctl = xe_eu_stall_stream_ioctl,
};
