/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The double of the xe device: what its files share. Data goes one way: the scenario (text) becomes rows, the player
 * plays rows into the hardware (rings in memory, write pointers, overflow bits), and the stream, which is the driver's
 * half, latches the pointers and copies rows to the user. Names of functions and files are those of drivers/gpu/drm/xe
 * where the real driver has one.
 *
 * Locks, outermost first: xe_device.config, xe_gt.stream_lock, xe_stream.buffer_lock, xe_hardware.lock.
 */
#pragma once

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include "compat.h"
#include "platform.h"
#include "row_layout.h"

#define XE_ERROR_LENGTH 256

/* xe_eu_stall.c, Linux 7.2: per_xecore_buf_size and POLL_PERIOD_MS. */
#define XE_RING_SIZE (512u * 1024)
#define XE_RING_ROWS (XE_RING_SIZE / XE_ROW_SIZE)
#define XE_LATCH_PERIOD_MS 5

/* Pointers into a ring carry one bit more than the offset, so that a full ring differs from an empty one. */
#define XE_POINTER_MASK (2 * XE_RING_SIZE - 1)

struct xe_device;
struct xe_stream;
struct scenario;

/* The registers of one Xe-core: XEHPC_EUSTALL_REPORT (write pointer, overflow bit) and REPORT1 (read pointer). */
struct xe_core_registers {
	u32 write;
	u32 read;
	bool overflow_drop;
};

/* What happened to rows on one GT. produced = written + dropped + unsampled; written = read + discarded + waiting. */
struct xe_row_totals {
	u64 produced;
	u64 dropped;   /* the ring was full */
	u64 unsampled; /* sampling was off */
	u64 read;      /* copied to the user, once */
	u64 discarded; /* lost on ENABLE, close or in a reset */
	u64 stale;     /* copied to the user again after a reset */
	u64 overflows; /* times that an overflow bit went from 0 to 1 */
	u64 forced;    /* of those, by command */
};

/* The EU stall hardware of one GT. */
struct xe_hardware {
	spinlock_t lock;
	bool sampling;       /* XEHPC_EUSTALL_BASE is not 0 */
	bool registers_lost; /* a reset came since sampling was enabled */
	u8 *buffer;          /* of the open stream: a ring for each Xe-core, NULL while no stream is open */
	u32 *slots;          /* which row is in each slot, see hardware.c */
	struct xe_core_registers core[XE_MAX_CORES];
	struct xe_row_totals totals;
};

struct xe_gt {
	struct xe_device *xe;
	struct xe_gt_config config;
	struct mutex stream_lock;
	struct xe_stream *stream;
	bool stuck; /* ENABLE fails */
	struct workqueue_struct *latch_queue;
	struct xe_hardware hardware;
};

enum player_state { PLAYER_STOPPED, PLAYER_PLAYING, PLAYER_PAUSED, PLAYER_FINISHED };

struct player {
	struct mutex lock; /* taken by its work and by commands */
	struct workqueue_struct *queue;
	struct delayed_work work;
	enum player_state state;
	u64 last_tick; /* ktime, nanoseconds */
	u64 time;      /* played so far in this run, nanoseconds */
	u64 busy;      /* played since the device was bound, nanoseconds */
	u64 credit;    /* rows that are due, in billionths, for a rate in rows a second */
	u64 late;      /* rows that a rate asked for and this machine could not play in time: they were left out */
	u32 position;
	u64 loops;
};

/* The control files under /sys/kernel/debug/xe-double. */
struct control {
	struct dentry *folder;
	struct mutex error_lock;
	char error[XE_ERROR_LENGTH];
	atomic_t scenario_writers;
};

/* Jobs of the compute and render engines of all clients, and the time between them in which no job ran, ns. */
struct xe_job_times {
	spinlock_t lock;
	u64 count; /* that ended */
	u64 busy;
	u64 idle;
	u64 changed; /* ktime when the device became busy or idle last, 0 before the first job */
	u32 running;
};

struct xe_device {
	struct drm_device drm;
	struct rw_semaphore config; /* written while a scenario is installed */
	struct platform platform;
	struct xe_gt gt[XE_MAX_GT];
	struct scenario *scenario; /* NULL before the first */
	struct player player;
	struct control control;
	struct xe_job_times jobs;
	atomic_t enabled_streams;
	bool gone; /* unplugged */
};

/* How long jobs of a client kept an engine class busy, ns: running * now is to be added. */
struct xe_engine_time {
	u64 busy;
	u64 running;
};
#define XE_ENGINE_CLASSES (DRM_XE_ENGINE_CLASS_COMPUTE + 1)

struct xe_file {
	struct xarray vms;
	bool bound; /* something was bound to a VM: this client has work on the GPU */
	struct rw_semaphore exec_queues_lock;
	struct xarray exec_queues;
	bool has_queues; /* it ever had one: its work is its jobs */
	spinlock_t engines_lock;
	struct xe_engine_time engines[XE_ENGINE_CLASSES];
};

static inline struct xe_device *to_xe_device(struct drm_device *drm)
{
	return container_of(drm, struct xe_device, drm);
}

/* Is sampling there at all, on this platform and this kernel? ENODEV or EINVAL if not. */
static inline bool xe_kernel_has_eu_stall(const struct platform *platform)
{
	return platform->kernel >= XE_KERNEL(6, 15);
}

/* The GT of that number, NULL if there is none. xe_device_get_gt() takes a u8 and so looks at the low 8 bits only. */
static inline struct xe_gt *xe_device_get_gt(struct xe_device *xe, u8 gt_id)
{
	return gt_id < XE_MAX_GT && xe->gt[gt_id].config.present ? &xe->gt[gt_id] : NULL;
}

/* observation.c, query.c, vm.c, exec.c: the ioctls */
int xe_observation_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int xe_observation_sysctl_register(void);
void xe_observation_sysctl_unregister(void);
bool xe_observation_allowed(void);
int xe_query_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int xe_gem_create_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int xe_vm_create_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int xe_vm_destroy_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int xe_vm_bind_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int xe_exec_queue_create_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int xe_exec_queue_destroy_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
int xe_exec_ioctl(struct drm_device *dev, void *data, struct drm_file *file);
void xe_exec_queues_close(struct xe_file *xef);
/* How long jobs of a client have kept an engine class busy until now, ns. */
u64 xe_engine_busy(struct xe_file *xef, u16 engine_class);

/* player.c */
int player_create(struct xe_device *xe);
void player_destroy(struct xe_device *xe);
void player_start(struct xe_device *xe);
void player_pause(struct xe_device *xe);
/* The player stands still, at the first row, when this returns. */
void player_stop(struct xe_device *xe);
/* The next rows happen before this returns. The player must not be playing. Returns how many happened. */
u32 player_play(struct xe_device *xe, u32 count);

/* control.c */
void control_create(struct xe_device *xe);
void control_remove(struct xe_device *xe);
__printf(2, 3) void control_error(struct xe_device *xe, const char *format, ...);
/* Cuts the device off, as if it was pulled out: later calls get ENODEV. */
void xe_device_unplug(struct xe_device *xe);

/* truth.c */
extern const struct file_operations truth_file_operations;
extern const struct file_operations state_file_operations;
