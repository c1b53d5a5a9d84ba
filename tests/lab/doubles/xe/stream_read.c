// SPDX-License-Identifier: GPL-2.0-only
/* read() on an EU stall stream (xe_eu_stall.c, Linux 7.2): rows up to the latched write pointers, Xe-core by Xe-core.
 */
#include <linux/uaccess.h>
#include "hardware.h"
#include "stream.h"
#include "trace.h"

/* Copies what fits of a Xe-core's rows to buffer + *total. Nothing is consumed if it fails. */
static int read_core(struct xe_stream *stream, unsigned int core, char __user *buffer, size_t count, size_t *total)
{
	struct xe_core_pointers *pointers = &stream->core[core];
	const u8 *ring = stream->buffer + (size_t)core * XE_RING_SIZE;
	u8 cores_per_group = stream->gt->xe->platform.cores_per_group;
	u32 offset = pointers->read % XE_RING_SIZE;
	size_t size = min_t(size_t, xe_ring_bytes(pointers->read, pointers->write), count - *total);
	size_t until_wrap = min_t(size_t, size, XE_RING_SIZE - offset);

	if (size) {
		if (copy_to_user(buffer + *total, ring + offset, until_wrap) ||
		    copy_to_user(buffer + *total + until_wrap, ring, size - until_wrap))
			return -EFAULT;
		*total += size;
		hardware_set_read_pointer(stream->gt, core, pointers->read, size);
		pointers->read = (pointers->read + size) & XE_POINTER_MASK;
		trace_xe_eu_stall_data_read(core / cores_per_group, core % cores_per_group, pointers->read,
					    pointers->write, size, *total);
	}
	/* Also where there was nothing to read: the bit may have been set after the ring was emptied. */
	if (test_and_clear_bit(core, stream->drop_mask))
		hardware_clear_drop(stream->gt, core);
	return 0;
}

static noinline ssize_t xe_eu_stall_stream_read_locked(struct xe_stream *stream, char __user *buffer, size_t count)
{
	size_t total = 0;
	unsigned int core;
	int err = 0;

	if (stream->reset_detected)
		return -ENODEV;
	if (!bitmap_empty(stream->drop_mask, XE_MAX_CORES)) {
		/* Told once; then the next read clears the bits of the Xe-cores that it comes to. */
		stream->drop_reported = !stream->drop_reported;
		if (stream->drop_reported)
			return -EIO;
	}
	for_each_set_bit(core, stream->cores, XE_MAX_CORES)
	{
		err = read_core(stream, core, buffer, count, &total);
		if (err || total == count)
			break;
	}
	if (total)
		return total;
	return err ? err : -EAGAIN;
}

static ssize_t read_once(struct xe_stream *stream, char __user *buffer, size_t count)
{
	ssize_t ret;

	mutex_lock(&stream->gt->stream_lock);
	mutex_lock(&stream->buffer_lock);
	ret = xe_eu_stall_stream_read_locked(stream, buffer, count);
	mutex_unlock(&stream->buffer_lock);
	mutex_unlock(&stream->gt->stream_lock);
	return ret;
}

/*
 * The real driver leaves pollin set when another thread took the rows between wake-up and read, and goes round and
 * round until the next latch. Clearing it there is the same to the user, and gives the processor back.
 */
static ssize_t read_blocking(struct xe_stream *stream, char __user *buffer, size_t count)
{
	ssize_t ret;

	for (;;) {
		if (wait_event_interruptible(stream->poll_queue, READ_ONCE(stream->pollin)))
			return -EINTR;
		ret = read_once(stream, buffer, count);
		if (ret != -EAGAIN)
			return ret;
		WRITE_ONCE(stream->pollin, false);
	}
}

noinline ssize_t xe_eu_stall_stream_read(struct file *file, char __user *buffer, size_t count, loff_t *position)
{
	struct xe_stream *stream = file->private_data;
	ssize_t ret;

	count = ALIGN_DOWN(count, XE_ROW_SIZE);
	if (!count || !READ_ONCE(stream->enabled))
		return -EINVAL;
	if (file->f_flags & O_NONBLOCK)
		ret = read_once(stream, buffer, count);
	else
		ret = read_blocking(stream, buffer, count);
	/* Also after an error, and also if rows are left: a small buffer has to be filled until EAGAIN. */
	if (!stream->reset_detected)
		WRITE_ONCE(stream->pollin, false);
	return ret;
}
