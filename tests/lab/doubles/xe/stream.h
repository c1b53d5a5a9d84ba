/* SPDX-License-Identifier: GPL-2.0-only */
/* The EU stall stream: the driver's half, behind the file descriptor that OBSERVATION returns. */
#pragma once

#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include "device.h"

/* The pointers that the driver keeps of a Xe-core: latched write pointer, own read pointer. */
struct xe_core_pointers {
	u32 write;
	u32 read;
};

struct xe_stream {
	struct xe_gt *gt;
	bool pollin;
	bool enabled;
	bool reset_detected;
	bool drop_reported;
	u32 wait_num_reports;
	u32 sampling_rate_multiplier;
	pid_t owner;
	char owner_name[TASK_COMM_LEN];
	wait_queue_head_t poll_queue;
	struct delayed_work latch;
	struct mutex buffer_lock; /* pointers and drop_mask */
	struct xe_core_pointers core[XE_MAX_CORES];
	DECLARE_BITMAP(cores, XE_MAX_CORES);
	DECLARE_BITMAP(drop_mask, XE_MAX_CORES);
	u8 *buffer;
	u32 *slots;
};

extern const struct file_operations xe_eu_stall_file_operations;

/* stream_open.c */
int xe_eu_stall_stream_open(struct drm_device *dev, u64 data, struct drm_file *file);
/* Frees a stream that no file has any more. With gt->stream_lock held. */
void xe_stream_free(struct xe_stream *stream);

/* stream.c */
void eu_stall_data_buf_poll_work_fn(struct work_struct *work);
/* At once, besides the time at which it is due. */
void xe_stream_latch_now(struct xe_gt *gt);
/* The next latch is late by this, as on a host without time for the driver's worker. */
void xe_stream_latch_late(struct xe_gt *gt, unsigned int milliseconds);

/* stream_read.c */
ssize_t xe_eu_stall_stream_read(struct file *file, char __user *buffer, size_t count, loff_t *position);

/*
 * Bytes between two pointers. When they are equal after a reset the ring looks full or empty, not as it is: the
 * formula, which the real driver has too, takes pointers for consistent.
 */
static inline u32 xe_ring_bytes(u32 read, u32 write)
{
	u32 read_offset = read % XE_RING_SIZE, write_offset = write % XE_RING_SIZE;

	if (read == write)
		return 0;
	return write_offset > read_offset ? write_offset - read_offset : XE_RING_SIZE - read_offset + write_offset;
}
